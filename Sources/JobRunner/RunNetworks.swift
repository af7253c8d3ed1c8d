import NetworkConditions
import TransferEngine
package import TransferModel

/// Networks given by the user or the operator.
package struct NetworkSettings: Sendable {
    /// `--network`: replaces what the system reports; `nil` without the option.
    package var dictated: [NetworkInterface]?
    /// The operator's description of this machine's interfaces.
    package var map = NetworkMap()
    /// Whether NetworkManager and UPower are asked where it matters to the job.
    package var asksServices = true
    package init() {}
}

/// A run's view of the machine's networks: watched as long as the run lasts, and not at all when all its requests stay
/// on the machine.
struct RunNetworks {
    /// Origins that are reached without a network.
    private(set) var localOrigins: Set<OriginID>
    private let watch: NetworkWatch?
    private let dictated: [NetworkInterface]?
    /// Why networks are not seen, where no task depends on them.
    let problem: String?

    /// The current state, which the engine keeps up to date.
    private let state: NetworkState

    /// Sets the first state of the networks.
    init(
        _ settings: NetworkSettings, _ state: NetworkState, _ job: Job, _ origins: OriginTable, _ engine: Engine
    ) throws(TransferError) {
        self.state = state
        localOrigins = Self.localOrigins(job, origins, engine)
        dictated = settings.dictated
        let wishes = Wishes(job)
        let leavesMachine = localOrigins.count < origins.origins.count
        guard dictated == nil ? wishes.areSome || leavesMachine : wishes.mindsPower else {
            if let dictated {
                state.open(Self.dictate(dictated, PowerState(source: .unknown)), routes: nil)
            }
            (watch, problem) = (nil, nil)
            return
        }
        do throws(NetworkProblem) {
            let watch = try NetworkWatch(
                map: settings.map, asksServices: settings.asksServices && wishes.mindsCost,
                watchesPower: wishes.mindsPower)
            if let dictated {
                state.open(Self.dictate(dictated, watch.first.power), routes: nil)
            } else {
                let routes = try RouteTable()
                state.open(watch.first, routes: routes)
                localOrigins.formUnion(Self.containers(origins, watch.first, routes))
            }
            (self.watch, problem) = (watch, nil)
        } catch {
            guard !wishes.areSome else {
                throw TransferError(
                    .unknown, "the job says what networks it may use, and which there are cannot be found out: \(error)"
                )
            }
            (watch, problem) = (nil, "\(error)")
        }
    }

    /// The networks and the power as they are now; `nil` where they are not watched.
    var conditions: Conditions? { state.conditions }

    /// Starts to report changes, from another thread.
    func startReports(_ tell: @escaping @Sendable (RunInput) -> Void) throws(TransferError) {
        let dictated = dictated
        do throws(NetworkProblem) {
            try watch?.start(
                onChange: { seen in
                    tell(.command(.conditions(dictated.map { Self.dictate($0, seen.power) } ?? seen)))
                }, onWake: { tell(.woke) })
        } catch {
            throw TransferError(.unknown, "\(error)")
        }
    }

    /// Stops the reports; none comes after it returns.
    func stopReports() { watch?.stop() }

    /// The dictated networks with the system's power state.
    private static func dictate(_ networks: [NetworkInterface], _ power: PowerState) -> Conditions {
        Conditions(networks: networks, power: power, isDictated: true)
    }

    // MARK: What leaves the machine

    /// Origins with addresses of this machine and of containers on it, which are reached without any network.
    private static func containers(
        _ origins: OriginTable, _ conditions: Conditions, _ routes: RouteTable
    ) -> [OriginID] {
        origins.origins.indices.lazy.filter { place in
            guard let address = LocalNames.literal(origins.origins[place].host),
                let link = routes.interface(to: address, over: nil)
            else { return false }
            return conditions[link]?.networkClass == NetworkClass.none
        }.map { OriginID(raw: UInt32($0)) }
    }

    private static func localOrigins(_ job: Job, _ origins: OriginTable, _ engine: Engine) -> Set<OriginID> {
        var hops = FirstHops(origins, engine)
        for index in job.tasks.indices {
            let session = job.tasks[index].session
            if case .url(let url) = job.tasks[index].location { hops.add(url, session) }
            for mirror in job.tasks[index].options.values.mirrors { if let url = mirror.url { hops.add(url, session) } }
        }
        return hops.local
    }

    /// Decides for each origin whether its requests go first to this machine.
    private struct FirstHops {
        private(set) var local: Set<OriginID> = []
        private var away: Set<OriginID> = []
        private var names: LocalNames?
        private var last: (url: ResourceURL, session: SessionIndex)?
        private let engine: Engine
        private var origins: OriginTable

        init(_ origins: OriginTable, _ engine: Engine) {
            self.origins = origins
            self.engine = engine
        }

        /// Notes a URL's first hop. An origin that one session reaches through a local proxy and another directly
        /// counts as away.
        mutating func add(_ url: ResourceURL, _ session: SessionIndex) {
            if let last, last.session == session, last.url.hasSameOrigin(as: url) { return }
            last = (url, session)
            let origin = origins.id(of: url)
            let names = names ?? LocalNames.ofThisMachine()
            self.names = names
            if engine.connections.firstHop(of: url, session).map({ names.contains($0) }) ?? true, !away.contains(origin)
            {
                local.insert(origin)
            } else {
                local.remove(origin)
                away.insert(origin)
            }
        }
    }

    /// What the tasks of a job demand of networks.
    private struct Wishes {
        /// Whether any task has a demand: then the networks must be known.
        private(set) var areSome = false
        /// Whether the cost of a network matters.
        private(set) var mindsCost = false
        private(set) var mindsPower = false

        init(_ job: Job) {
            for session in job.sessions where session.discretionary == true {
                (areSome, mindsCost, mindsPower) = (true, true, true)
            }
            var last: TaskOptions?
            for index in job.tasks.indices where job.tasks[index].options.kin !== last {
                let options = job.tasks[index].options
                last = options.kin
                let policies = options.values.policies
                if !policies.networkTerms.allowAll || policies.waitsForConnectivity { areSome = true }
                if !policies.allowsExpensiveNetworkAccess { mindsCost = true }
            }
        }
    }
}
