import Testing
import TransferModel

/// An operator's rules as values: what they refuse, and what they make of a job's limits.
@Suite struct PolicyTests {
    private let place = "p.yaml:2"

    private func rule<Value>(_ value: Value) -> Policy.Rule<Value> { Policy.Rule(value, place: place) }

    private func patterns(_ texts: [String]) throws -> [HostPattern] { try texts.map { try #require(HostPattern($0)) } }

    private func job() -> Job { Job(name: "j", file: "j.yaml", baseDirectory: "/") }

    @Test(
        arguments: [
            ([], [], "a.test", 443, nil), (["a.test"], [], "a.test", 443, nil),
            (["a.test"], [], "b.test", 443, "hosts.allow"),
            (["*.a.test"], [], "b.a.test", 443, nil), (["*.a.test"], [], "a.test", 443, "hosts.allow"),
            ([], ["a.test"], "a.test", 443, "hosts.deny"), ([], ["a.test"], "a.test.", 443, "hosts.deny"),
            ([], ["a.test"], "b.test", 443, nil), (["a.test"], ["a.test"], "a.test", 443, "hosts.deny"),
            (["*"], ["*.a.test"], "b.a.test", 80, "hosts.deny"), (["a.test:443"], [], "a.test", 8443, "hosts.allow"),
            (["a.test:443"], [], "a.test", 443, nil), (["[::1]"], [], "[::1]", 80, nil),
            ([], ["[::1]"], "[::1]", 80, "hosts.deny"),
        ] as [([String], [String], String, UInt16, String?)])
    func host_isDecidedByDenyThenByAllow(
        _ allow: [String], _ deny: [String], _ host: String, _ port: UInt16, _ refusing: String?
    )
        throws
    {
        var rules = HostRules()
        if !allow.isEmpty { rules.allow = rule(try patterns(allow)) }
        rules.deny = try patterns(deny).map { rule($0) }
        let refusal = rules.refusal(ofHost: host, port: port)
        #expect(refusal?.rule == refusing && refusal?.place == (refusing == nil ? nil : place))
    }

    @Test func refusals_nameTheRuleAndWhatItSays() throws {
        var rules = HostRules()
        rules.allow = rule(try patterns(["a", "b", "c", "d", "e", "f"]))
        #expect(
            rules.refusal(ofHost: "x.test", port: 80)?.message
                == "x.test: the policy p.yaml:2 allows no host but `a`, `b`, `c`, `d` and 2 more")
        rules.deny = [rule(try #require(HostPattern("*.x.test")))]
        #expect(
            rules.refusal(ofHost: "y.x.test", port: 80)?.message == "y.x.test: the policy p.yaml:2 denies `*.x.test`")
        // Nothing at all is allowed by an empty list.
        var none = HostRules()
        none.allow = rule([])
        #expect(none.refusal(ofHost: "x.test", port: 80)?.rule == "hosts.allow")
    }

    // MARK: Limits

    private func limited(_ change: (inout Policy.Limits) -> Void, _ limits: (inout RunLimits) -> Void = { _ in }) -> Job
    {
        var policy = Policy()
        change(&policy.limits)
        var job = job()
        job.policy = policy
        limits(&job.limits)
        job.holdLimits()
        let once = job.limits
        #expect(job.holdLimits().isEmpty && job.limits == once, "once more is the same")
        return job
    }

    @Test func looserLimits_areLowered_andStricterOnesStay() {
        let free = limited {
            $0.time = rule(.seconds(60))
            $0.bytes = rule(1_000)
            $0.maximumConcurrentTasks = rule(8)
            $0.bandwidth = rule(500)
        }
        #expect(free.limits.timeout == .seconds(60) && free.limits.maximumBytes == 1_000)
        #expect(free.limits.maximumConcurrentTasks == 8 && free.limits.bandwidth == .steady(500))
        let strict = limited {
            $0.time = rule(.seconds(60))
            $0.bytes = rule(1_000)
            $0.maximumConcurrentTasks = rule(8)
            $0.bandwidth = rule(500)
        } _: {
            ($0.timeout, $0.maximumBytes) = (.seconds(5), 10)
            ($0.maximumConcurrentTasks, $0.bandwidth) = (2, .steady(100))
        }
        #expect(strict.limits.timeout == .seconds(5) && strict.limits.maximumBytes == 10)
        #expect(strict.limits.maximumConcurrentTasks == 2 && strict.limits.bandwidth == .steady(100))
        // The job's own bound is told as the job's.
        #expect(strict.timeIsOver == .runTimedOut && strict.byteRule == nil)
        #expect(free.byteRule == rule(1_000) && free.timeIsOver != .runTimedOut)
    }

    /// Outside its hours a job's bandwidth is no bound: the policy's is.
    @Test func bandwidthByHours_isBoundAtAllHours() {
        let night = TimeWindow(from: 60, to: 300)
        let job = limited {
            $0.bandwidth = rule(500)
        } _: {
            $0.bandwidth = .byTimeOfDay([.init(window: night, rate: 9_000), .init(window: night, rate: 100)])
        }
        guard case .byTimeOfDay(let hours)? = job.limits.bandwidth else {
            Issue.record("the hours are gone")
            return
        }
        #expect(hours.map(\.rate) == [500, 100, 500, 500])
        #expect(hours.map(\.window.from) == [60, 60, 0, 720] && hours.map(\.window.to) == [300, 300, 720, 0])
    }

    /// Of rates for a host the lowest counts, with its own burst: one that is a little lower must not bring a great one.
    @Test func ratesAndConnections_holdForEveryHost() throws {
        let own = RunLimits.HostLimit(
            pattern: try #require(HostPattern("a.test")), maximumConnections: 2,
            requestsPerSecond: RequestRate(perSecond: 4.9, burst: 100_000))
        let job = limited {
            $0.maximumConnectionsPerHost = rule(4)
            $0.requestsPerSecond = rule(RequestRate(perSecond: 5, burst: 2))
        } _: {
            $0.hosts = [own]
        }
        #expect(job.limits.hosts.map(\.pattern.description) == ["a.test", "*"])
        #expect(job.limits.hosts.map { $0.requestsPerSecond?.burst } == [2, 2])
        #expect(job.limits.hosts.map(\.maximumConnections) == [2, 4])
    }

    @Test func whatEndsARun_namesTheRule() {
        let job = limited {
            $0.time = rule(.seconds(60))
            $0.bytes = rule(2_048)
            $0.tasks = rule(3)
        }
        #expect(
            job.timeIsOver.message == "the run's `limits.timeout`, which the policy p.yaml:2 bounds to 1 m, is over")
        #expect(job.timeIsOver.isByRunTimeout && job.timeIsOver.name == .timedOut)
        let after = job.timeIsOver.following(TransferError(.cannotConnectToHost, "nobody is there"), times: 2)
        #expect(after.isByRunTimeout)
        #expect(
            after.message
                == "nobody is there twice; then `limits.timeout`, which the policy p.yaml:2 bounds to 1 m, was over")
        #expect(TransferError.runTimedOut.isByRunTimeout)
        #expect(!TransferError(.timedOut, "the task's `timeoutForResource` (1 s) is over").isByRunTimeout)
        let spent = TransferError.bytesAreSpent(rule(2_048))
        #expect(spent.message == "the run moved all the bytes that the policy p.yaml:2 lets it move: 2.0 KiB")
        for error in [job.timeIsOver, spent] { #expect(error.whatHelps(.download).contains("who wrote the policy")) }
        let budget = ByteBudget(most: 2_048, by: rule(2_048))
        #expect(budget.refusal(.never, of: "the body", length: 9_999)?.message.contains("the policy p.yaml:2") == true)
    }

    @Test func tasks_areCountedWithThoseThatTemplatesMake() {
        var job = limited { $0.tasks = rule(2) }
        #expect(job.refusal(ofAdding: 2) == nil)
        #expect(job.refusal(ofAdding: 3)?.message == "the run has 3 tasks, and the policy p.yaml:2 allows 2")
        #expect(job.refusal(ofAdding: 3)?.name == .expansionFailed)
        job.policy = nil
        #expect(job.refusal(ofAdding: 1_000) == nil)
    }

    @Test func sessions_speakNoLowerTLS_andAreUnderTheAddresses() {
        var policy = Policy()
        policy.minimumTLS = rule(.v1_3)
        policy.addresses.deny = [.init(.all(.private), place: "p.yaml:3")]
        var (low, high) = (SessionConfiguration(name: "low"), SessionConfiguration(name: "high"))
        high.tls.minimum = .v1_3
        let notes = low.hold(to: policy)
        #expect(notes.map(\.what) == ["`tls.minimum` of the session `low`: 1.3"] && notes.map(\.place) == [place])
        #expect(high.hold(to: policy).isEmpty && low.tls.minimum == .v1_3)
        let address = NetworkAddress(literal: "10.0.0.1")
        let error = address.flatMap { low.addressRules.first?.objection(to: $0)?.error(at: "a.test") }
        #expect(
            error?.message == "a.test is at 10.0.0.1, a private address: the policy refuses `private` in p.yaml:3")
        #expect(error?.whatHelps(.data).contains("who wrote the policy") == true)
    }
}
