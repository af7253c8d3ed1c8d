/// Text that remembers which of its spans are secret, and which are still to come from another task.
///
/// Interpolated text stays one of these up to the request: where a header's value came from decides what a
/// redirect takes off it.
package struct SecretText: Hashable, Sendable, ExpressibleByStringLiteral {
    /// How a value that is not known yet is written into the place where it stands.
    package enum Escaping: Hashable, Sendable {
        /// As it is: in texts that are no URL, at a URL's beginning, and where the job says `raw:`.
        case none
        /// For the part of the URL in which it comes to stand, so that it cannot become another one.
        case url
    }

    /// One span.
    package enum Piece: Hashable, Sendable {
        case literal(String)
        /// `value` is already escaped for its place; `hosts` are the only ones it may be sent to.
        case secret(name: String, value: String, hosts: [HostPattern]?)
        /// Something that `task` captures, known once that task has succeeded.
        case capture(task: String, name: String, escaping: Escaping)
    }

    private enum Storage: Hashable, Sendable {
        case plain(String)
        case pieces([Piece])
    }
    private let storage: Storage

    package init(_ plain: String) { storage = .plain(plain) }
    package init(stringLiteral value: String) { storage = .plain(value) }

    package init(pieces: [Piece]) {
        if pieces.isEmpty {
            storage = .plain("")
        } else if pieces.count == 1, case .literal(let text) = pieces[0] {
            storage = .plain(text)
        } else {
            storage = .pieces(pieces)
        }
    }

    package var pieces: [Piece] {
        switch storage {
        case .plain(let text): [.literal(text)]
        case .pieces(let pieces): pieces
        }
    }

    /// The text when nothing in it is secret or still to come.
    package var plain: String? {
        if case .plain(let text) = storage { text } else { nil }
    }

    /// The text as it goes into a request. A capture that was not filled in stands as nothing: fill it first.
    package var revealed: String {
        switch storage {
        case .plain(let text): return text
        case .pieces(let pieces):
            return pieces.reduce(into: "") { text, piece in
                switch piece {
                case .literal(let literal): text += literal
                case .secret(_, let value, _): text += value
                case .capture: break
                }
            }
        }
    }

    /// The text as a person may see it: `***` for what is secret.
    package var redacted: String {
        switch storage {
        case .plain(let text): return text
        case .pieces(let pieces):
            return pieces.reduce(into: "") { text, piece in
                switch piece {
                case .literal(let literal): text += literal
                case .secret: text += "***"
                case .capture(let task, let name, _): text += "${tasks.\(task).\(name)}"
                }
            }
        }
    }

    package var isSecret: Bool {
        guard case .pieces(let pieces) = storage else { return false }
        return pieces.contains { if case .secret = $0 { true } else { false } }
    }

    /// Whether a value of another task is still missing in it.
    package var awaitsCapture: Bool {
        guard case .pieces(let pieces) = storage else { return false }
        return pieces.contains { if case .capture = $0 { true } else { false } }
    }

    /// How `origin` is named where a secret in it is barred from there.
    package func barredPlace(_ origin: Origin) -> String {
        guard case .pieces(let pieces) = storage else { return origin.host }
        return origin.place(
            outside: pieces.flatMap { piece -> [HostPattern] in
                guard case .secret(_, _, let hosts?) = piece else { return [] }
                return hosts
            })
    }

    /// The first secret in it that must not go to `origin`.
    package func secretBarred(from origin: @autoclosure () -> Origin) -> String? {
        guard case .pieces(let pieces) = storage else { return nil }
        let origin = origin()
        for case .secret(let name, _, let hosts?) in pieces where !hosts.contains(where: { $0.matches(origin) }) {
            return name
        }
        return nil
    }
}

/// By bytes: what is another text for a server is another one here.
extension SecretText {
    package static func == (left: SecretText, right: SecretText) -> Bool {
        if let plain = left.plain, let other = right.plain { return plain.isExactly(other) }
        return left.pieces == right.pieces
    }
}

extension SecretText.Piece {
    package static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.literal(let text), .literal(let other)): text.isExactly(other)
        case (.secret(let name, let value, let hosts), .secret(let otherName, let otherValue, let otherHosts)):
            name.isExactly(otherName) && value.isExactly(otherValue) && hosts == otherHosts
        case (.capture(let task, let name, let escaping), .capture(let otherTask, let otherName, let otherEscaping)):
            task.isExactly(otherTask) && name.isExactly(otherName) && escaping == otherEscaping
        default: false
        }
    }
}

extension KnownSecret {
    package static func == (left: KnownSecret, right: KnownSecret) -> Bool {
        left.name.isExactly(right.name) && left.value.isExactly(right.value) && left.hosts == right.hosts
    }
}

/// Interpolated, printed, dumped or shown by a failing test, it says no more than a person may see.
extension SecretText: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { redacted }
    package var debugDescription: String { redacted }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// A secret's value under its name: what the redactor looks for.
package struct KnownSecret: Hashable, Sendable {
    package let name: String
    package let value: String
    /// The only hosts it may be sent to.
    package let hosts: [HostPattern]?

    package init(name: String, value: String, hosts: [HostPattern]? = nil) {
        self.name = name
        self.value = value
        self.hosts = hosts
    }
}
