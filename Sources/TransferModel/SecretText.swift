/// A text that records which of its spans are secret, and which are captured from another task and not known yet.
///
/// Interpolated text keeps this type up to the request: where a header's value came from decides whether a redirect
/// removes it.
package struct SecretText: Hashable, Sendable, ExpressibleByStringLiteral {
    /// How a value that is not known yet is escaped when it is filled in.
    package enum Escaping: Hashable, Sendable {
        /// Not at all: in texts that are no URL, at a URL's beginning, and where the job says `raw:`.
        case none
        /// For the part of the URL in which it stands, so that it cannot become another part.
        case url
    }

    /// One span of the text.
    package enum Piece: Hashable, Sendable {
        case literal(String)
        /// `value` is already escaped for its place; `hosts` are the only ones that it may be sent to, `nil` for any.
        case secret(name: String, value: String, hosts: [HostPattern]?)
        /// A value that `task` captures, or its end, known once that task has ended; with `RunEnds.run` one of the run.
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

    /// The spans of the text, in order.
    package var pieces: [Piece] {
        switch storage {
        case .plain(let text): [.literal(text)]
        case .pieces(let pieces): pieces
        }
    }

    /// The text; `nil` when a span is secret or not known yet.
    package var plain: String? {
        if case .plain(let text) = storage { text } else { nil }
    }

    /// The text as it goes into a request. A capture that was not filled in yet adds nothing: fill it first.
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

    /// The text for people, with `***` for each secret.
    package var redacted: String {
        switch storage {
        case .plain(let text): return text
        case .pieces(let pieces):
            return pieces.reduce(into: "") { text, piece in
                switch piece {
                case .literal(let literal): text += literal
                case .secret: text += "***"
                case .capture(let task, let name, _): text += "${\(LateReference.name(task, name))}"
                }
            }
        }
    }

    /// Whether a span of it is secret.
    package var isSecret: Bool {
        guard case .pieces(let pieces) = storage else { return false }
        return pieces.contains { if case .secret = $0 { true } else { false } }
    }

    /// Names of the secrets in it.
    package var secretNames: [String] {
        guard case .pieces(let pieces) = storage else { return [] }
        return pieces.compactMap { if case .secret(let name, _, _) = $0 { name } else { nil } }
    }

    /// Whether a captured value is still missing in it.
    package var awaitsCapture: Bool {
        guard case .pieces(let pieces) = storage else { return false }
        return pieces.contains { if case .capture = $0 { true } else { false } }
    }

    /// Whether what is missing in it is known at the run's end: its outcome, its failures, its first error.
    package var awaitsRunEndsAlone: Bool {
        awaitsCapture
            && pieces.allSatisfy {
                guard case .capture(let task, let name, _) = $0 else { return true }
                return task == RunEnds.run && RunEnds.RunName(rawValue: name) != nil
            }
    }

    /// Name of the first secret that is bound to no hosts; `nil` without one.
    package var unboundSecret: String? {
        guard case .pieces(let pieces) = storage else { return nil }
        for case .secret(let name, _, nil) in pieces { return name }
        return nil
    }

    /// Returns the name of `origin` for messages that a secret may not be sent there.
    package func barredPlace(_ origin: Origin) -> String {
        guard case .pieces(let pieces) = storage else { return origin.host }
        return origin.place(
            outside: pieces.flatMap { piece -> [HostPattern] in
                guard case .secret(_, _, let hosts?) = piece else { return [] }
                return hosts
            })
    }

    /// Returns the name of the first secret that must not be sent to `origin`, or `nil` if all may be.
    package func secretBarred(from origin: @autoclosure () -> Origin) -> String? {
        guard case .pieces(let pieces) = storage else { return nil }
        let origin = origin()
        for case .secret(let name, _, let hosts?) in pieces where !hosts.contains(where: { $0.matches(origin) }) {
            return name
        }
        return nil
    }
}

/// Compares by bytes: texts that differ for a server differ here.
extension SecretText {
    /// Decides whether all spans have the same bytes.
    package static func == (left: SecretText, right: SecretText) -> Bool {
        if let plain = left.plain, let other = right.plain { return plain.isExactly(other) }
        return left.pieces == right.pieces
    }
}

extension SecretText.Piece {
    /// Decides whether both spans are of one kind and have the same bytes.
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
    /// Decides whether name, value and hosts are the same, byte by byte.
    package static func == (left: KnownSecret, right: KnownSecret) -> Bool {
        left.name.isExactly(right.name) && left.value.isExactly(right.value) && left.hosts == right.hosts
    }
}

/// Interpolated, printed, dumped or shown by a failing test, the text shows its redacted form alone.
extension SecretText: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The redacted text.
    package var description: String { redacted }
    /// The redacted text.
    package var debugDescription: String { redacted }
    /// A mirror without children, so that `dump` shows no secret.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// A secret's value under its name, which a redactor looks for.
package struct KnownSecret: Hashable, Sendable {
    /// The secret's name in the job.
    package let name: String
    /// The secret itself.
    package let value: String
    /// The only hosts that it may be sent to; `nil` for any.
    package let hosts: [HostPattern]?

    package init(name: String, value: String, hosts: [HostPattern]? = nil) {
        self.name = name
        self.value = value
        self.hosts = hosts
    }
}
