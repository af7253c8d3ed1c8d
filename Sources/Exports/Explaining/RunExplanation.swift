internal import Reporting
internal import TransferModel

/// Explains from a report where the time of a run went, what held it back and what to change, with figures.
package struct RunExplanation {
    /// The parts of a task that the explanation reads.
    package static let parts: ReportParts = [.transactions, .waits]

    struct Wait {
        var tasks = 0
        var time = TimeSpan.zero
        var longest = TimeSpan.zero

        mutating func add(_ duration: TimeSpan) {
            tasks += 1
            time += duration
            longest = max(longest, duration)
        }
    }

    let head: ReportHead
    private(set) var hosts: HostTallies
    private(set) var phases = RequestPhases.InlineLengths()
    private(set) var waits: [WaitReason: Wait] = [:]
    /// Verified files that waited for the other files of their groups.
    private(set) var staged = Wait()
    private(set) var requests = 0
    private(set) var reused = 0
    /// The durations of all tasks, added up: waits, attempts and the time between attempts.
    private(set) var taskTime = TimeSpan.zero
    /// Attempts that failed, and the time they took.
    private(set) var failedAttempts = Wait()
    /// Number of failed attempts by the name of their error.
    private(set) var errors: [String: Int] = [:]
    private(set) var last: (id: String, end: WallTime)?
    private var causes: FailureCauses
    private var number = 0
    private var flight = RequestConcurrency()

    package init(_ head: ReportHead) {
        self.head = head
        causes = FailureCauses(head.hooks)
        hosts = HostTallies(RunWindow(head), countsCourse: false)
    }

    /// Adds one task of the report to the sums.
    package mutating func add(_ task: ReportedTask) {
        hosts.add(task)
        causes.add(task, number: number)
        number += 1
        taskTime += task.duration ?? .zero
        let stagedTime = task.stagedTime
        if stagedTime > .zero { staged.add(stagedTime) }
        for wait in task.waits {
            let time = wait.reason == .dependency ? wait.duration - stagedTime : wait.duration
            if time > .zero || wait.duration == .zero { waits[wait.reason, default: Wait()].add(time) }
        }
        if let end = task.finishedAt, !task.attempts.isEmpty, end > last?.end ?? WallTime(nanoseconds: .min) {
            last = (task.id, end)
        }
        for attempt in task.attempts { add(attempt) }
    }

    private mutating func add(_ attempt: ReportedAttempt) {
        if let error = attempt.error {
            failedAttempts.tasks += 1
            failedAttempts.time += attempt.duration
            errors[error.name, default: 0] += 1
        }
        attempt.eachRequest { request, phases in
            requests += 1
            if request.isReusedConnection { reused += 1 }
            for phase in RequestPhases.Phase.allCases { self.phases[phase] += phases.lengths[phase] }
            flight.add(phases)
        }
    }

    /// Returns the whole text, one element for each line; the caller wraps the lines.
    package func lines() -> [String] {
        let course = flight.measured()
        var lines = [title, ""]
        lines += Self.section("Where the time went", timeLines(course))
        lines += Self.section("Hosts", hostLines)
        lines += Self.section("What did not succeed", causeLines)
        let advice = RunAdvice(self, course).lines
        lines += Self.section(
            "What to change", advice.isEmpty ? ["Nothing stands out: no limit and no host held the run back."] : advice)
        lines.append("`transfer-run explain REPORT ID` tells the same of one task.")
        return lines
    }

    private static func section(_ title: String, _ lines: [String]) -> [String] {
        lines.isEmpty ? [] : [title] + lines.map { "  " + $0 } + [""]
    }

    var duration: TimeSpan { TimeSpan(nanoseconds: RunWindow(head).length) }

    /// Sum of all phases of all requests.
    var requestTime: TimeSpan {
        TimeSpan(nanoseconds: RequestPhases.Phase.allCases.reduce(0) { $0 + phases[$1] })
    }

    private var title: String {
        let name = SafeText.line(head.job.name)
        return "\(name): \(PageSummary(head).sentence) It took \(HumanText.duration(duration))."
    }

    private func timeLines(_ course: RequestConcurrency.Measures) -> [String] {
        guard requests > 0 else { return ["No request was sent."] }
        var lines = [
            "\(PageText.count(requests, "request")) took \(HumanText.duration(requestTime)) together, "
                + "\(Self.tenths(requestTime.seconds / max(duration.seconds, 1e-9))) at a time on average and "
                + "\(PageText.grouped(course.most)) at most:"
        ]
        let shown = RequestPhases.Phase.allCases
            .map { (phase: $0, share: Self.percent(phases[$0], of: requestTime.nanoseconds)) }
            .filter { $0.share > 0 }.sorted { ($1.share, $0.phase.rawValue) < ($0.share, $1.phase.rawValue) }
        lines += shown.map { phase, share in
            let time = HumanText.duration(TimeSpan(nanoseconds: phases[phase]))
            return "  \(TextLayout.leftPadded("\(share) %", to: 5))  \(Self.words(phase)), \(time)"
        }
        var told = waits.map { (words: Explanation.words($0.key), wait: $0.value) }
        told.append((ReportedTask.stagedWords, staged))
        told = told.filter { $0.wait.time > .zero }.sorted { ($1.wait.time, $0.words) < ($0.wait.time, $1.words) }
        if !told.isEmpty {
            let all = told.reduce(TimeSpan.zero) { $0 + $1.wait.time }
            lines.append("Tasks waited \(HumanText.duration(all)) together:")
            lines += told.map { words, wait in
                let mean = TimeSpan(nanoseconds: wait.time.nanoseconds / Int64(wait.tasks))
                let each = wait.tasks > 1 ? ", \(HumanText.duration(mean)) on average" : ""
                return "  \(HumanText.duration(wait.time)) for \(words) "
                    + "(\(PageText.count(wait.tasks, "task"))\(each))"
            }
        }
        return lines
    }

    private var hostLines: [String] {
        let all = hosts.hosts.enumerated().filter { $0.element.requests > 0 }
            .sorted { ($1.element.requests, $0.offset) < ($0.element.requests, $1.offset) }
        let lines = all.prefix(Self.mostHosts).map { _, host in
            var words = ["\(SafeText.line(host.origin)): \(PageText.count(host.requests, "request"))"]
            words.append("over \(PageText.count(host.connections, "new connection"))")
            if host.received > 0 { words.append("\(HumanText.size(host.received)) received") }
            if host.sent > 0 { words.append("\(HumanText.size(host.sent)) sent") }
            if let quantiles = host.quantiles() {
                let (half, most) = (quantiles.half, quantiles.most)
                words.append(
                    "half within \(PageText.duration(seconds: half)), 95 % within \(PageText.duration(seconds: most))")
            }
            if host.failed > 0 { words.append("\(PageText.count(host.failed, "task")) failed") }
            return words.joined(separator: ", ")
        }
        let more = all.count - lines.count
        return more > 0 ? lines + ["and \(PageText.count(more, "host")) more"] : lines
    }

    private var causeLines: [String] {
        let all = causes.list()
        let lines = all.prefix(Self.mostCauses).map { cause in
            let ids = cause.tasks.prefix(3).map { SafeText.line($0.id) }.joined(separator: ", ")
            let more = cause.count - min(3, cause.tasks.count)
            let who = more > 0 ? "\(ids) and \(PageText.grouped(more)) more" : ids
            let followers = cause.affected - cause.count
            let rest = followers > 0 ? "; because of it \(PageText.grouped(followers)) more did not end well" : ""
            let why = SafeText.line(cause.message)
            let help = cause.help.isEmpty ? "" : " " + SafeText.line(cause.help)
            let stop = rest.isEmpty && why.last.map { ".!?".contains($0) } == true ? "" : "."
            return (who.isEmpty ? "" : "\(who): ") + "\(why)\(rest)\(stop)\(help)"
        }
        let more = all.count - lines.count
        return more > 0 ? lines + ["and \(PageText.count(more, "cause")) more"] : lines
    }

    private static let mostHosts = 10
    private static let mostCauses = 10

    static func words(_ phase: RequestPhases.Phase) -> String {
        switch phase {
        case .queued: "waiting for a connection"
        case .lookup: "looking up names"
        case .connect: "connecting"
        case .tls: "TLS handshakes"
        case .send: "sending"
        case .wait: "waiting for the first byte"
        case .receive: "receiving"
        }
    }

    static func percent(_ part: Int64, of whole: Int64) -> Int {
        whole > 0 ? Int((Double(part) / Double(whole) * 100).rounded()) : 0
    }

    static func tenths(_ value: Double) -> String {
        let tenths = Int((min(value, 1e12) * 10).rounded())
        return "\(PageText.grouped(tenths / 10)).\(tenths % 10)"
    }
}

/// How many requests were under way at each moment.
struct RequestConcurrency {
    struct Measures {
        var most = 0
        /// Time after the last moment with two or more requests under way in which one was.
        var tail = TimeSpan.zero
    }

    private var changes: [(time: Int64, change: Int)] = []

    mutating func add(_ request: RequestPhases) {
        guard request.end > request.start else { return }
        changes.append((request.start, 1))
        changes.append((request.end, -1))
    }

    func measured() -> Measures {
        var measures = Measures()
        // Since the last moment with several requests: the time with one, and when the one began.
        var (count, isShared, alone, since) = (0, false, Int64(0), Int64(0))
        let sorted = changes.sorted { ($0.time, $0.change) < ($1.time, $1.change) }
        for change in sorted {
            if count == 1, isShared { alone += change.time - since }
            count += change.change
            if count > 1 { (isShared, alone) = (true, 0) }
            since = change.time
            measures.most = max(measures.most, count)
        }
        measures.tail = TimeSpan(nanoseconds: alone)
        return measures
    }
}
