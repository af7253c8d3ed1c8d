/// What one connection is owed, bounded whatever it does: a frame under way, answers that are written only as they are
/// taken, and the last word of each session it follows. Progress is told to those who have taken all else.
package struct OutputQueue {
    private var unsent: ArraySlice<UInt8> = []
    private var answers: ArraySlice<AnswerParts> = []
    private var owed: [String: ServiceNews] = [:]

    package init() {}

    package var isEmpty: Bool { unsent.isEmpty && answers.isEmpty && owed.isEmpty }
    package var waitingAnswers: Int { answers.count }

    /// Before anything else is said.
    package mutating func say(_ frame: [UInt8]) { unsent += frame }

    /// Nothing else will be said: behind what is written already, in place of what is not.
    package mutating func finish(_ frame: [UInt8]) {
        unsent += frame
        (answers, owed) = ([], [:])
    }

    package mutating func answer(_ parts: AnswerParts) { answers.append(parts) }

    /// `frame` is of the news, and the same for all who follow. It goes at once, or the news later.
    package mutating func tell(_ identifier: String, _ news: ServiceNews, _ frame: [UInt8]) {
        if isEmpty { unsent = frame[...] } else { owed[identifier] = news }
    }

    /// Dropped for whoever is behind.
    package mutating func tellIfIdle(_ frame: [UInt8]) { if isEmpty { unsent = frame[...] } }

    /// What is to be sent next; empty when nothing is owed.
    package mutating func next() -> ArraySlice<UInt8> {
        while unsent.isEmpty {
            if let first = answers.indices.first {
                if let frame = answers[first].next() { unsent = frame[...] } else { answers.removeFirst() }
            } else if let (_, news) = owed.popFirst() {
                unsent = news.frame[...]
            } else {
                // Nothing is held for one who is owed nothing.
                answers = []
                break
            }
        }
        return unsent
    }

    package mutating func sent(_ count: Int) { unsent = count == unsent.count ? [] : unsent.dropFirst(count) }
}
