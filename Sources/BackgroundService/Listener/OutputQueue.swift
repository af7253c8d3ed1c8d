/// The output of one connection, bounded whatever the other side does: a frame under way, answers that are encoded only
/// as they are sent, and the latest news of each followed session. Progress goes only to connections that have taken
/// everything else.
package struct OutputQueue {
    private var unsent: ArraySlice<UInt8> = []
    private var answers: ArraySlice<AnswerParts> = []
    private var owed: [String: ServiceNews] = [:]

    package init() {}

    /// Whether nothing is left to send.
    package var isEmpty: Bool { unsent.isEmpty && answers.isEmpty && owed.isEmpty }
    /// The number of answers that were not sent completely.
    package var waitingAnswers: Int { answers.count }

    /// Appends a frame that precedes every answer and news.
    package mutating func say(_ frame: [UInt8]) { unsent += frame }

    /// Appends the last frame: it follows what is encoded already and replaces the rest.
    package mutating func end(with frame: [UInt8]) {
        unsent += frame
        (answers, owed) = ([], [:])
    }

    /// Appends an answer, which is encoded as it is sent.
    package mutating func answer(_ parts: AnswerParts) { answers.append(parts) }

    /// Appends news of a session; `frame` is its encoding, shared by all followers. It is sent at once if the queue is
    /// empty, else the session's latest news is encoded later.
    package mutating func tell(_ identifier: String, _ news: ServiceNews, _ frame: [UInt8]) {
        if isEmpty { unsent = frame[...] } else { owed[identifier] = news }
    }

    /// Appends a frame if the queue is empty; drops it if the other side is behind.
    package mutating func tellIfIdle(_ frame: [UInt8]) { if isEmpty { unsent = frame[...] } }

    /// Returns the bytes to be sent next; empty when nothing is left.
    package mutating func next() -> ArraySlice<UInt8> {
        while unsent.isEmpty {
            if let first = answers.indices.first {
                if let frame = answers[first].next() { unsent = frame[...] } else { answers.removeFirst() }
            } else if let (_, news) = owed.popFirst() {
                unsent = news.frame[...]
            } else {
                // Release the storage: an idle connection holds no memory.
                answers = []
                break
            }
        }
        return unsent
    }

    /// Removes the first `count` bytes of what `next()` returned: they were sent.
    package mutating func sent(_ count: Int) { unsent = count == unsent.count ? [] : unsent.dropFirst(count) }
}
