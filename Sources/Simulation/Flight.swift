import TransferModel

/// One attempt under way in the simulated world, or one of the further requests that bring segments of its body.
struct Flight {
    enum Phase: UInt8 {
        /// A request is on its way.
        case asking
        /// The body moves.
        case moving
        /// The body waits for bandwidth credit.
        case starved
        case awaitingGrant
        /// The flight's own part of the body is complete; its branches still move.
        case gathering
        /// Only local work is left.
        case delivering
        /// Cancelled; ends when its `gone` entry is due.
        case leaving
    }

    /// The outcome of a request, decided when it is sent.
    enum Fate {
        case answer(status: Int, retryAfter: TimeSpan?)
        /// The connection ends after this number of bytes.
        case cut(after: Int64)
        case redirect(to: OriginID)
        /// The body arrives, but nothing proves that it is whole: its connection is shared with other streams.
        case doubted
        case silence
        /// The connection ends without a response.
        case hangUp
    }

    let task: TaskIndex
    let attempt: Int
    var phase = Phase.asking
    /// The origin of the current request; `nil` for a task that needs no connection.
    var origin: OriginID?
    /// Whether the flight holds a slot at `origin`.
    var holdsSlot = true
    var fate = Fate.answer(status: 200, retryAfter: nil)
    var hop = 0
    /// Whether the current request has a connection of its own.
    var isAlone = false
    /// Whether the host had more requests than it takes when the current one was sent.
    var isTooMany = false
    /// Length in bytes of the whole body (of a branch: of its segment), and how many of them have arrived.
    var size: Int64
    var received: Int64
    /// How many of them were there before the attempt.
    var resumedFrom: Int64 = 0
    /// Length in bytes of the part that moves now, and the reading of the host's byte clock when that part began.
    var segment: Int64 = 0
    var segmentStart = 0.0
    /// Bytes that may still move; `nil` if no bandwidth limit applies.
    var credit: Int64?
    var status: Int?
    /// Whether the request's body is sent before the response comes.
    var isUpload = false
    /// Whether an interrupted body starts over at 0: no part of it can be resumed.
    var isWhole = false

    // Only for a body that comes in segments:
    /// The place of the flight whose body this one brings a segment of; `nil` for an attempt's own flight.
    var parent: Int?
    /// The places of the flights that bring segments of this one's body now, and how many there have been in all.
    var branches: [Int] = []
    var branchCount = 0
    /// How many branches the flight last said it could use at one time.
    var branchesWanted = 0
    /// Whether the response to a branch's request has begun.
    var isAnswered = false
}
