package import JobRunner
import TextFormats

/// The answer to a request.
package enum ServiceAnswer: Hashable, Sendable {
    /// `ring` or `stop` was received.
    case done
    case status([SessionStatus])
    /// Following has begun. The number of the run's last event as far as this process knows it; 0 when it does not know
    /// the session.
    case following(UInt64)
    /// The ids of the tasks whose state the request changed.
    case changed([String])
    case refused(String)

    package init(_ reply: ControlReply) {
        switch reply {
        case .changed(let ids): self = .changed(ids)
        // `status` is a request of its own; as a control it changes nothing.
        case .status: self = .changed([])
        case .refused(let reason): self = .refused(reason)
        }
    }
}

/// An answer that is being sent: each frame is encoded only when the connection has room for it, so that even the
/// longest answer costs no more memory than the values in it.
package struct AnswerParts {
    private let number: UInt32
    private let answer: ServiceAnswer
    /// What was sent already: runs, and elements of the list under way.
    private var runs = 0
    private var elements = 0
    private var isOver = false

    /// Bytes of a frame that list elements may fill before the frame ends. The rest up to `maximumFrame` is for one
    /// more element and a run's head.
    private static let room = 24 << 10

    package init(_ number: UInt32, _ answer: ServiceAnswer) {
        self.number = number
        self.answer = answer
    }

    /// Returns the next frame, or `nil` when all were returned.
    package mutating func next() -> [UInt8]? {
        if isOver { return nil }
        isOver = true
        let number = Int64(number)
        switch answer {
        case .done: return Frame.write("done") { $0.member("id", number) }
        case .following(let sequence):
            return Frame.write("following") {
                $0.member("id", number)
                $0.member("sequence", sequence)
            }
        case .refused(let reason): return Self.refused(number, reason)
        case .changed(let ids): return changed(ids)
        case .status(let all): return status(all)
        }
    }

    /// Returns a refusal; without a number it refuses the whole conversation.
    static func refused(_ number: Int64?, _ reason: String) -> [UInt8] {
        Frame.write("refused") {
            $0.member("id", number)
            $0.member("reason", MessageText.bounded(reason))
        }
    }

    private mutating func changed(_ ids: [String]) -> [UInt8] {
        Frame.write("changed") { writer in
            writer.member("id", Int64(number))
            writer.key("tasks")
            list(ids, &writer) { $1.string(MessageText.bounded($0)) }
            writer.member("more", !isOver)
        }
    }

    private mutating func status(_ all: [SessionStatus]) -> [UInt8] {
        Frame.write("status") { writer in
            writer.member("id", Int64(number))
            if runs < all.count {
                all[runs].append(to: &writer)
                writer.key("tasks")
                list(all[runs].run.tasks, &writer) { SessionStatus.append($0, to: &$1) }
                if isOver {
                    (runs, elements) = (runs + 1, 0)
                    isOver = runs == all.count
                }
            }
            writer.member("more", !isOver)
        }
    }

    /// Writes as many elements as fit; `isOver` stays false when some did not.
    private mutating func list<Element>(
        _ all: [Element], _ writer: inout JSONWriter, _ write: (Element, inout JSONWriter) -> Void
    ) {
        let start = writer.bytes.count
        writer.beginArray()
        while elements < all.count, writer.bytes.count - start < Self.room {
            write(all[elements], &writer)
            elements += 1
        }
        writer.endArray()
        isOver = elements == all.count
    }
}

/// Bounds texts whose length others decide.
enum MessageText {
    /// In bytes; when escaped, one byte may take six.
    private static let longest = 1024

    /// Returns the text, cut if it is longer than any file name may be, so that it always fits into a frame.
    static func bounded(_ text: String) -> String {
        guard text.utf8.count > longest else { return text }
        return String(decoding: text.utf8.prefix(longest), as: UTF8.self) + "…"
    }
}
