package import TransferModel

/// A network that does not exist: what a simulated run meets. Times count from the beginning of the run.
package struct WorldModel: Sendable {
    package struct Interval: Hashable, Sendable {
        package var from: TimeSpan
        package var to: TimeSpan
        package init(from: TimeSpan, to: TimeSpan) {
            self.from = from
            self.to = to
        }
        package static let always = Interval(from: .zero, to: .forever)
        package func contains(_ time: TimeSpan) -> Bool { from <= time && time < to }
    }

    /// What a host answers amiss, each in so many of a thousand requests. Together at most a thousand.
    package struct Faults: Hashable, Sendable {
        /// 500.
        package var serverErrors = 0
        /// 404.
        package var missing = 0
        /// 429.
        package var tooMany = 0
        /// 503.
        package var unavailable = 0
        /// The connection ends in mid-body.
        package var cuts = 0
        /// Nothing comes back until the client has waited for `patience`.
        package var silences = 0
        /// The connection is taken, and ended instead of an answer.
        package var hangUps = 0
        /// The same, whenever these tasks ask: so many of a thousand.
        package var badPaths = 0
        /// On to another host.
        package var redirects = 0
        /// A body over HTTP/2 whose end nothing proves: it is fetched again on a connection of its own.
        package var doubts = 0
        /// Sent with 429 and 503.
        package var retryAfter: TimeSpan?
        package init() {}
    }

    /// So many requests in each window from the beginning of the run; what is more is answered 429.
    package struct Quota: Hashable, Sendable {
        package var limit: Int
        package var window: TimeSpan
        /// It tells in `RateLimit` how much is left.
        package var isTold: Bool
        /// It tells its policy too.
        package var tellsPolicy: Bool
        package init(limit: Int, window: TimeSpan, isTold: Bool, tellsPolicy: Bool) {
            self.limit = limit
            self.window = window
            self.isTold = isTold
            self.tellsPolicy = tellsPolicy
        }
    }

    package struct Host: Sendable {
        /// From the request to the head of the answer.
        package var latency = TimeSpan.milliseconds(20)
        /// Bytes a second, shared evenly by the transfers there; `nil` is more than anybody can take.
        package var bandwidth: Int64?
        package var version = HTTPProtocol.http1
        /// When nobody listens there.
        package var refusals: [Interval] = []
        /// When it answers 503, with the `retryAfter` of its faults.
        package var overloads: [Interval] = []
        /// When none of the networks that there are leads there.
        package var detours: [Interval] = []
        package var faults = Faults()
        package var quota: Quota?
        package init() {}
    }

    /// How long bodies are.
    package enum Sizes: Sendable {
        case fixed(Int64)
        /// By task.
        case listed([Int64])
        /// Evenly between the two, by the seed.
        case between(Int64, Int64)
    }

    package var hosts: [Host] = []
    /// When the client has no network: what is under way is cut, nothing can be reached.
    package var outages: [Interval] = []
    /// When the client goes from one network to another: what is under way ends, and its host is not to blame.
    package var handovers: [TimeSpan] = []
    package var sizes = Sizes.fixed(10_000)
    /// Local work after the last byte.
    package var deliveryTime = TimeSpan.zero
    /// How long it takes to put a group in place, and in how many of a thousand groups it fails.
    package var publishTime = TimeSpan.milliseconds(5)
    package var publishFailures = 0
    /// How long a client waits for a host that says nothing.
    package var patience = TimeSpan.seconds(60)
    /// How long it takes to end a transfer that is to end.
    package var cancelTime = TimeSpan.zero
    package var mostHops = 4
    /// Bodies come in up to so many segments at once, by the seed; below twice `leastSegment` in one.
    package var segments = 1
    package var leastSegment: Int64 = 1 << 20
    /// Tasks that send their body before they are answered, and tasks whose body cannot go on where it is cut: so many
    /// of a thousand.
    package var uploads = 0
    package var wholes = 0
    /// Bytes that move between two reports of a transfer's progress.
    package var reportEvery: Int64 = 1 << 20
    /// What a transfer reads at once, even beyond its credit.
    package var readAtOnce: Int64 = 0
    /// Everything that is left to chance follows from it, task by task: the order of events changes nothing.
    package var seed: UInt64 = 1
    package init() {}
}

extension WorldModel {
    func isOut(at time: TimeSpan) -> Bool { outages.contains { $0.contains(time) } }

    func isUpload(_ task: Int) -> Bool { isOne(of: uploads, task, 3_000_000) }
    /// Its host says that it keeps what comes of the body: half of them.
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

    /// 0 when `bound` is 0.
    mutating func below(_ bound: UInt64) -> UInt64 { bound == 0 ? 0 : next().multipliedFullWidth(by: bound).high }
}
