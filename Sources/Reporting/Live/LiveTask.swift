internal import TransferModel

/// One task as a row of the live part, from its first attempt to its end.
package struct LiveTask {
    /// Why a task is not running.
    struct Pause {
        var reason: WaitReason
        /// Condition that networks or power would have to meet.
        var lacks: String?
        /// Time when the pause is over, if known.
        var until: WallTime?
        /// Message of the error that ended the previous attempt.
        var failure: String?
        /// Time when the last attempt begins at the latest, if one is set.
        var givesUpAt: WallTime?
    }

    let beganAt: WallTime
    private(set) var isRunning = true
    private(set) var pause: Pause?
    /// Bytes of the body that were there before this attempt.
    private(set) var resumedFrom: Int64 = 0
    /// Bytes of the body so far, resumed ones included.
    private(set) var bytes: Int64 = 0
    private(set) var expected: Int64?
    /// Bytes that moved in attempts before this one.
    private var movedBefore: Int64 = 0
    private(set) var meter = RateMeter()
    private var failure: String?

    init(beganAt: WallTime, expected: Int64?) {
        self.beganAt = beganAt
        self.expected = expected.map { Self.bounded($0) }
    }

    var moved: Int64 { movedBefore + max(0, bytes - resumedFrom) }

    /// Shares of the body that have arrived in total and before this attempt; `nil` where the length is unknown.
    package var share: (done: Double, resumed: Double)? {
        guard let expected, expected > 0 else { return nil }
        let done = min(1, Double(bytes) / Double(expected))
        return (done, min(done, Double(resumedFrom) / Double(expected)))
    }

    /// Bytes still to come; `nil` where the length is unknown.
    var left: Int64? { expected.map { max(0, $0 - bytes) } }

    mutating func begin(_ time: WallTime) {
        movedBefore = moved
        (isRunning, pause, failure) = (true, nil, nil)
        (resumedFrom, bytes) = (0, 0)
        meter.begin(at: 0, time)
    }

    /// Takes the length of the rest of the body from the answer.
    mutating func learn(length: Int64) {
        if expected == nil { expected = Self.bounded(resumedFrom + Self.bounded(length)) }
    }

    /// Limits a length to 1 PiB, so that sums do not overflow.
    static func bounded(_ bytes: Int64) -> Int64 { max(0, min(bytes, 1 << 50)) }

    mutating func resume(_ progress: Event.Progress, _ time: WallTime) {
        resumedFrom = Self.bounded(progress.bytes)
        bytes = resumedFrom
        if let all = progress.expected { expected = Self.bounded(all) }
        meter.begin(at: bytes, time)
    }

    mutating func advance(_ progress: Event.Progress, _ time: WallTime) {
        bytes = max(resumedFrom, Self.bounded(progress.bytes))
        if let all = progress.expected { expected = Self.bounded(all) }
        meter.advance(to: bytes, time)
    }

    mutating func end(_ record: AttemptRecord, _ time: WallTime) {
        isRunning = false
        failure = record.error.map { $0.message }
        pause = record.backoff.map {
            Pause(reason: .backoff, lacks: nil, until: time + $0, failure: failure, givesUpAt: record.retriesUntil)
        }
    }

    mutating func wait(_ reason: WaitReason, _ lacks: String?) {
        // The pause that the attempt's end announced says until when.
        if let known = pause, known.until != nil, reason == .backoff || reason == .retryAfter {
            pause?.reason = reason
            return
        }
        pause = Pause(reason: reason, lacks: lacks, until: nil, failure: failure)
    }
}
