import TransferModel

/// The places of one task's `urls`, and how far it has come with them. A round tries each place once, and
/// `retry.attempts` counts rounds.
struct MirrorRound: Sendable {
    /// A failure at one place.
    struct Failure: Sendable {
        let mirror: Int
        let error: TransferError
        var status: Int?
        /// Whether the same request to the place may succeed later.
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

    /// Origins of `urls`, in the order of the job file; `nil` for a place that needs no connection.
    let origins: [OriginID?]
    /// Number of the place where the task waits, runs or ran last.
    var current = 0
    /// Failures of this round in the order in which they came, after the final ones of earlier rounds.
    private(set) var failures: [Failure] = []
    private var kept = 0
    private var isTried: [Bool]
    private var isMet: [Bool]
    /// Whether the task must stay at its place: that holds what may be sent only once.
    var mustStay = false

    init(_ origins: [OriginID?]) {
        self.origins = origins
        isTried = Array(repeating: false, count: origins.count)
        isMet = isTried
    }

    var origin: OriginID? { origins[current] }
    /// Whether no place of the round has failed yet.
    var isFresh: Bool { failures.count == kept }
    var isOver: Bool { failures.count >= origins.count }
    /// Whether only the current place of the round is left.
    var isLastLeft: Bool { failures.count + 1 >= origins.count }
    /// Whether the round is over and no network led to any of its places.
    var foundNoRoute: Bool { isOver && failures[kept...].allSatisfy(\.foundNoRoute) }
    /// Whether another round may do better than this one did.
    var canHeal: Bool { failures.contains { $0.canHeal } }

    /// The places that the round has still to try, as written.
    var untried: some Sequence<Int> { origins.indices.lazy.filter { !isTried[$0] && (!mustStay || $0 == current) } }

    /// The failure that the task fails with: the last failure that could have healed, because waiting or another day
    /// may help there; when none could, the first, because that place was preferred.
    var decisiveFailure: Failure? { failures.last { $0.canHeal } ?? failures.first }
    /// A place with a wrong file, told beside `decisiveFailure`: there waiting does not help.
    var wrongFile: Failure? { decisiveFailure?.isForGood == true ? nil : failures.first(where: \.isForGood) }

    /// Returns when the first of the places that may succeed later can be asked again.
    func opensAt(_ now: Instant) -> Instant {
        failures.lazy.filter(\.canHeal).map { $0.quietUntil ?? now }.min() ?? now
    }

    /// The place that stands best of those that the round has still to try, the first as written of several.
    func best(by standing: (OriginID?) -> MirrorStanding) -> Int {
        untried.min { standing(origins[$0]) < standing(origins[$1]) } ?? current
    }

    /// Takes in a failed attempt at the current place. Returns the error as it is reported with the attempt.
    mutating func failed(
        _ attempt: FailedAttempt, _ policy: RetryPolicy, _ deadline: RetryDeadline, waitsForNetwork: Bool
    ) -> TransferError {
        var verdict = attempt.verdict
        // Another place may have the right file: only the last is asked past the caches.
        if !isLastLeft { verdict.mayBeOfACache = false }
        let tooLong = attempt.errorOfLongWait(policy, deadline)
        var error = tooLong ?? attempt.error
        let foundNoRoute = attempt.loss == .noRoute
        let canHeal = foundNoRoute ? waitsForNetwork : tooLong == nil && policy.canHeal(attempt.error, verdict)
        placeFailed(
            Failure(
                mirror: current, error: error.asRefusal, status: verdict.status, canHeal: canHeal,
                quietUntil: attempt.retryAfter.map { deadline.now + $0 }, foundNoRoute: foundNoRoute))
        if tooLong != nil, !isOver { error.message += ": the next of `urls` is tried" }
        return error
    }

    /// The error of a task that is given up after the round; `decisive` says what it failed by.
    func finalError(_ decisive: Failure, _ deadline: RetryDeadline) -> TransferError {
        var error = decisive.error
        let (tried, count) = (failures.count, origins.count)
        error.message += tried == count ? "; all \(count) `urls` failed" : "; \(tried) of \(count) `urls` tried"
        if let wrong = wrongFile { error.message += ", one of them with a wrong file: \(wrong.error.message)" }
        return canHeal ? deadline.explained(error) : error
    }

    /// An attempt at a place failed.
    mutating func placeFailed(_ failure: Failure) {
        isTried[failure.mirror] = true
        failures.append(failure)
    }

    mutating func beginAnew() {
        failures.removeAll { !$0.isForGood }
        isTried = Array(repeating: false, count: origins.count)
        for failure in failures { isTried[failure.mirror] = true }
        kept = failures.count
    }

    /// Notes that the task begins at the current place. Returns whether it comes to that host for the first time.
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
    /// The host wants quiet until then. Of several, the one that is open again first is asked first.
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
