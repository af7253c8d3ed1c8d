import TransferModel

/// Tracks what is left of `maximumBytes`, and the attempts that its end must not stop.
struct ByteBudget: Sendable {
    /// Number of answers too long for the rest of the budget after which the rest is taken to be too small to go on.
    static let mostAnswersTooLong = 8

    private let most: Int64?
    private var moved: Int64 = 0
    private var answersTooLong = 0
    /// Running attempts that sent all of a body and wait for its answer: all that counts of them has moved.
    private var sentBodies: Set<TaskIndex> = []

    /// `nil` sets no limit.
    init(_ most: Int64?) { self.most = most }

    /// Whether nothing may move any more.
    var isSpent: Bool { most.map { moved >= $0 } ?? false }

    /// Puts back what earlier processes of the run moved.
    mutating func restore(_ bytes: Int64) { moved = bytes }

    /// Counts bytes that moved. Returns whether the budget is spent.
    mutating func spend(_ bytes: Int64) -> Bool {
        guard most != nil else { return false }
        moved += bytes
        return isSpent
    }

    /// The head of an answer told that its body does not fit. That cost a request, and what other answers bring is
    /// unknown. Returns `true` once, when there were so many of these that asking on is not worth it.
    mutating func answerWasTooLong() -> Bool {
        answersTooLong += 1
        return answersTooLong == Self.mostAnswersTooLong
    }

    mutating func sentBody(_ task: TaskIndex) { sentBodies.insert(task) }

    /// The attempt's request is over, with or without an answer.
    mutating func requestEnded(_ task: TaskIndex) { if !sentBodies.isEmpty { sentBodies.remove(task) } }

    func awaitsAnswerToBody(_ task: TaskIndex) -> Bool { sentBodies.contains(task) }
}
