import TransferModel

/// One attempt under way in the world.
struct Flight {
    enum Phase: UInt8 {
        /// A request is on its way.
        case asking
        /// The body moves.
        case moving
        /// The body stands until there is credit.
        case starved
        case awaitingGrant
        /// Its own part is here; the streams beside it still move.
        case gathering
        /// Only local work is left.
        case delivering
        /// Cancelled; soon gone.
        case leaving
    }

    /// What becomes of a request, decided when it is sent.
    enum Fate {
        case answer(status: Int, retryAfter: TimeSpan?)
        /// The connection ends after so many bytes.
        case cut(after: Int64)
        case redirect(to: OriginID)
        /// Whole, as far as one can tell on a connection shared with others.
        case doubted
        case silence
        /// The connection ends without an answer.
        case hangUp
    }

    let task: TaskIndex
    let attempt: Int
    var phase = Phase.asking
    /// `nil` for what needs no connection.
    var origin: OriginID?
    /// Whether it holds a slot there.
    var holdsSlot = true
    var fate = Fate.answer(status: 200, retryAfter: nil)
    var hop = 0
    /// On a connection of its own.
    var isAlone = false
    /// The whole body, and what of it is here.
    var size: Int64
    var received: Int64
    /// The part that moves now, and what the host's clock showed when it began.
    var segment: Int64 = 0
    var segmentStart = 0.0
    /// `nil` when no limit on bandwidth concerns it.
    var credit: Int64?
    var status: Int?
    /// Its body is sent before it is answered.
    var isUpload = false
    /// What is cut of its body moved in vain.
    var isWhole = false

    // Of a body that comes in segments.
    /// The flight that this one brings a part of.
    var parent: Int?
    /// The flights that bring parts of this one, and how many have been in all.
    var branches: [Int] = []
    var branchCount = 0
    /// How many at one time would be of use.
    var branchesWanted = 0
    /// Its answer began.
    var isAnswered = false
}
