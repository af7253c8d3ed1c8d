package import TransferModel

/// The parameters of a network that exists only in a simulation. Times count from the beginning of the run.
package struct WorldModel: Sendable {
    /// A span of simulated time, from `from` up to but not including `to`.
    package struct Interval: Hashable, Sendable {
        /// First moment of the interval.
        package var from: TimeSpan
        /// First moment after the interval.
        package var to: TimeSpan
        package init(from: TimeSpan, to: TimeSpan) {
            self.from = from
            self.to = to
        }
        /// The whole of the run.
        package static let always = Interval(from: .zero, to: .forever)
        /// Whether `time` lies in the interval.
        package func contains(_ time: TimeSpan) -> Bool { from <= time && time < to }
    }

    /// The faults of a host: each count is the number of requests in a thousand that it hits. Together at most a
    /// thousand.
    package struct Faults: Hashable, Sendable {
        /// Answered 500.
        package var serverErrors = 0
        /// Answered 404.
        package var missing = 0
        /// Answered 429.
        package var tooMany = 0
        /// Answered 503.
        package var unavailable = 0
        /// The connection ends within the body.
        package var cuts = 0
        /// No response comes: the client gives up after `patience`.
        package var silences = 0
        /// The connection is accepted, and closed instead of an answer.
        package var hangUps = 0
        /// Tasks in a thousand whose every request to this host is hung up on.
        package var badPaths = 0
        /// Redirected to a host drawn at random.
        package var redirects = 0
        /// Answered with other statuses.
        package var statuses: [Status] = []
        /// Answered over HTTP/2 with a body whose end nothing proves: it is fetched again on a connection of its own.
        package var doubts = 0
        /// `Retry-After` of responses 429 and 503; `nil` sends none.
        package var retryAfter: TimeSpan?
        package init() {}
    }

    /// How many requests in a thousand a host answers with a status.
    package struct Status: Hashable, Sendable {
        /// The status.
        package var status: Int
        /// Requests in a thousand.
        package var share: Int
        package init(_ status: Int, share: Int) { (self.status, self.share) = (status, share) }
    }

    /// A limit on requests per window, counted from the beginning of the run; requests beyond it are answered 429.
    package struct Quota: Hashable, Sendable {
        /// Requests allowed in each window.
        package var limit: Int
        /// Length of a window.
        package var window: TimeSpan
        /// Whether responses say in `RateLimit` how many requests are left.
        package var isTold: Bool
        /// Whether responses state the limit and the window too; only with `isTold`.
        package var tellsPolicy: Bool
        package init(limit: Int, window: TimeSpan, isTold: Bool, tellsPolicy: Bool) {
            self.limit = limit
            self.window = window
            self.isTold = isTold
            self.tellsPolicy = tellsPolicy
        }
    }

    /// One host of the modelled network.
    package struct Host: Sendable {
        /// Time from a request to the head of its response, before a random addition.
        package var latency = TimeSpan.milliseconds(20)
        /// Largest random addition to the latency, as a share of it.
        package var spread = 0.25
        /// Time to make a connection, for a request that finds none free.
        package var connectTime = TimeSpan.zero
        /// Bytes per second, shared evenly by the host's transfers; `nil` moves any body in no time, unless
        /// `connectionBandwidth` says otherwise.
        package var bandwidth: Int64?
        /// Most bytes per second of one transfer; `nil` for no such limit.
        package var connectionBandwidth: Int64?
        /// Requests at a time that the host takes; one more is answered 503. `nil` for no limit.
        package var mostRequests: Int?
        /// The protocol that the host's connections use.
        package var version = HTTPProtocol.http1
        /// When connections to the host are refused.
        package var refusals: [Interval] = []
        /// When the host answers 503, with the `retryAfter` of its faults.
        package var overloads: [Interval] = []
        /// When none of the client's networks has a route to the host.
        package var detours: [Interval] = []
        /// How often its requests go wrong.
        package var faults = Faults()
        /// The limit on requests that the host enforces; `nil` for none.
        package var quota: Quota?
        /// From so many requests at a time on each further one lengthens the latency by `crowding` of it; `nil` for never.
        package var crowdedFrom: Int?
        /// The share of the latency by which a request beyond `crowdedFrom` lengthens it.
        package var crowding = 1.0
        package init() {}
    }

    /// The lengths of bodies in bytes.
    package enum Sizes: Sendable {
        /// One size for all tasks.
        case fixed(Int64)
        /// A size for each task, by its index.
        case listed([Int64])
        /// Drawn evenly from the two bounds and all between, by the seed.
        case between(Int64, Int64)
    }

    /// The hosts, by the raw value of their `OriginID`.
    package var hosts: [Host] = []
    /// When the client has no network: requests and bodies under way are cut at its beginning, and nothing can be
    /// reached.
    package var outages: [Interval] = []
    /// When the client moves from one network to another: what is under way ends, and its host is not to blame.
    package var handovers: [TimeSpan] = []
    /// The lengths of the tasks' bodies.
    package var sizes = Sizes.fixed(10_000)
    /// Time of an attempt's local work after the last byte.
    package var deliveryTime = TimeSpan.zero
    /// How long it takes to publish a group.
    package var publishTime = TimeSpan.milliseconds(5)
    /// Groups in a thousand whose publishing fails.
    package var publishFailures = 0
    /// How long the client waits for a host that does not respond.
    package var patience = TimeSpan.seconds(60)
    /// How long a cancelled transfer takes to end.
    package var cancelTime = TimeSpan.zero
    /// Redirects of one attempt at most, its repetition of a doubted body counted in.
    package var mostHops = 4
    /// Most segments of one body at a time; the seed draws each body's number up to that.
    package var segments = 1
    /// Smallest segment in bytes; a body with less than twice as many left is not divided.
    package var leastSegment: Int64 = 1 << 20
    /// Tasks in a thousand that send their body before they are answered.
    package var uploads = 0
    /// Tasks that send their body before they are answered, beside those of `uploads`.
    package var uploadTasks: Set<Int> = []
    /// Tasks in a thousand whose body cannot be resumed once it was cut.
    package var wholes = 0
    /// Bytes that move between two reports of a transfer's progress.
    package var reportEvery: Int64 = 1 << 20
    /// Bytes that a transfer reads at once, even beyond its credit.
    package var readAtOnce: Int64 = 0
    /// Seed of all random choices. They are drawn per task, so that the order of events changes none of them.
    package var seed: UInt64 = 1
    package init() {}
}

extension WorldModel {
    func isOut(at time: TimeSpan) -> Bool { outages.contains { $0.contains(time) } }

    func isUpload(_ task: Int) -> Bool { isOne(of: uploads, task, 3_000_000) || uploadTasks.contains(task) }
    /// Whether the host says that it keeps the bytes of the task's upload: true for half of the tasks.
    func keepsUpload(_ task: Int) -> Bool { isOne(of: 500, task, 6_000_000) }
    func isWhole(_ task: Int) -> Bool { isOne(of: wholes, task, 4_000_000) }
    func isBadPath(_ task: Int, at host: Host) -> Bool { isOne(of: host.faults.badPaths, task, 5_000_000) }

    private func isOne(of share: Int, _ task: Int, _ what: Int) -> Bool {
        guard share > 0 else { return false }
        var chance = Chance(seed: seed, task, 0, what)
        return chance.below(1000) < UInt64(share)
    }

    func segments(of task: Int) -> Int {
        guard segments > 1 else { return 1 }
        var chance = Chance(seed: seed, task, 0, 2_000_000)
        return 1 + Int(chance.below(UInt64(segments)))
    }

    func size(of task: Int) -> Int64 {
        switch sizes {
        case .fixed(let size): return size
        case .listed(let sizes): return sizes[task]
        case .between(let least, let most):
            var chance = Chance(seed: seed, task, 0, 0)
            return least + Int64(chance.below(UInt64(max(0, most - least) + 1)))
        }
    }
}

/// Random numbers of one request: they follow from the seed, the task, the attempt and the hop alone.
struct Chance {
    private var state: UInt64

    init(seed: UInt64, _ task: Int, _ attempt: Int, _ hop: Int) {
        state = seed ^ UInt64(truncatingIfNeeded: task) &* 0xD134_2543_DE82_EF95
        state = state &+ UInt64(truncatingIfNeeded: attempt) &* 0x2545_F491_4F6C_DD1D
        state = state &+ UInt64(truncatingIfNeeded: hop) &* 0x9E37_79B9_7F4A_7C15
        _ = next()
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to `bound` - 1; 0 if `bound` is 0.
    mutating func below(_ bound: UInt64) -> UInt64 { bound == 0 ? 0 : next().multipliedFullWidth(by: bound).high }
}
