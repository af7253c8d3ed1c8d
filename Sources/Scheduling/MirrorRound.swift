import TransferModel

/// The places of one task's `urls`, and how far it has come with them. A round tries each place once, and
/// `retry.attempts` counts rounds.
struct MirrorRound: Sendable {
    /// What became of the round at one place.
    struct Failure: Sendable {
        let mirror: Int
        let error: TransferError
        var status: Int?
        /// The same request there may do better later.
        let canHeal: Bool
        /// The place asked to be left alone until then.
        var quietUntil: Instant?
        /// No permitted network leads there.
        var foundNoRoute = false
        /// The file there was fetched whole and is not the wanted one: it is not fetched again. Where only a part was
        /// fetched, the rest of an earlier one may have been wrong.
        var isForGood: Bool {
            !canHeal && [.checksumMismatch, .lockMismatch, .cannotDecodeRawData].contains(error.name)
        }
    }

    /// As written; `nil` for a place that needs no connection.
    let origins: [OriginID?]
    /// Where the task waits, runs or ran last.
    var current = 0
    /// Of this round, in the order in which they came, after those for good of the rounds before.
    private(set) var failures: [Failure] = []
    private var kept = 0
    private var isTried: [Bool]
    private var isMet: [Bool]
    /// The place that it ran at last holds what may be sent only once.
    var mustStay = false

    init(_ origins: [OriginID?]) {
        self.origins = origins
        isTried = Array(repeating: false, count: origins.count)
        isMet = isTried
    }

    var origin: OriginID? { origins[current] }
    /// Nothing of the round counts yet.
    var isFresh: Bool { failures.count == kept }
    var isOver: Bool { failures.count >= origins.count }
    /// Of the round's places only the present one is left.
    var isLastLeft: Bool { failures.count + 1 >= origins.count }
    /// No place could be asked.
    var foundNoRoute: Bool { isOver && failures[kept...].allSatisfy(\.foundNoRoute) }
    /// Whether another round may do better than this one did.
    var canHeal: Bool { failures.contains { $0.canHeal } }

    /// The places that the round has still to try, as written.
    var untried: some Sequence<Int> { origins.indices.lazy.filter { !isTried[$0] && (!mustStay || $0 == current) } }

    /// What the task fails with: the last failure that could have healed, because waiting or another day may help
    /// there; when none could, the first, because that place was preferred.
    var telling: Failure? { failures.last { $0.canHeal } ?? failures.first }
    /// Beside that: waiting helps nothing where a file is wrong.
    var wrongFile: Failure? { telling?.isForGood == true ? nil : failures.first(where: \.isForGood) }

    /// When the first of the places that may heal can be asked again.
    func opensAt(_ now: Instant) -> Instant {
        failures.lazy.filter(\.canHeal).map { $0.quietUntil ?? now }.min() ?? now
    }

    mutating func note(_ failure: Failure) {
        isTried[failure.mirror] = true
        failures.append(failure)
    }

    mutating func beginAnew() {
        failures.removeAll { !$0.isForGood }
        isTried = Array(repeating: false, count: origins.count)
        for failure in failures { isTried[failure.mirror] = true }
        kept = failures.count
    }

    /// Whether the task comes to this host for the first time.
    mutating func meet() -> Bool {
        let isKnown = origins.indices.contains { isMet[$0] && origins[$0] == origin }
        isMet[current] = true
        return !isKnown
    }
}

/// How a host stands as a place to fetch from: the lesser is asked first.
struct MirrorStanding: Comparable, Sendable {
    private enum Rank: UInt8 { case well, failedLately, quiet, outOfReach }
    private let rank: Rank
    private let opensAt: Instant

    private init(_ rank: Rank, _ opensAt: Instant = Instant(nanoseconds: 0)) {
        self.rank = rank
        self.opensAt = opensAt
    }

    static let well = MirrorStanding(.well)
    static let failedLately = MirrorStanding(.failedLately)
    /// No network leads there that the task may use now.
    static let outOfReach = MirrorStanding(.outOfReach)
    /// Of several that want quiet, the one that is open again first.
    static func quiet(until opensAt: Instant) -> MirrorStanding { MirrorStanding(.quiet, opensAt) }

    static func < (left: MirrorStanding, right: MirrorStanding) -> Bool {
        (left.rank.rawValue, left.opensAt) < (right.rank.rawValue, right.opensAt)
    }
}

extension ErrorName {
    /// The trouble is this machine's or the job's: no other place helps against it. What cannot be read is the body's
    /// file, unless the place itself is a file.
    func isNoFault(of place: OriginID?) -> Bool {
        switch self {
        case .cancelled, .runCancelled, .dependencyFailed, .destinationExists, .nameTaken, .secretBarred,
            .cannotSign, .notEnoughDiskSpace,
            .groupChanged, .groupNotPublished, .cannotCreateFile, .cannotCloseFile, .cannotWriteToFile,
            .cannotWriteOutput,
            .cannotRemoveFile, .cannotMoveFile, .requestBodyStreamExhausted, .dataNotAllowed,
            .backgroundSessionInUseByAnotherProcess, .backgroundSessionWasDisconnected, .taskCrashedRunner:
            true
        case .fileDoesNotExist, .fileIsDirectory, .noPermissionsToReadFile, .cannotOpenFile: place != nil
        default: false
        }
    }
}
