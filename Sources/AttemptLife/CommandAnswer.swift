import HTTPRules
package import TransferModel

/// Reads what the command of a custom scheme writes as a CGI program's response (RFC 3875): header lines, an empty
/// line, the body. The result is an HTTP response, so that one set of rules judges it.
package struct CommandAnswer: Sendable {
    /// Status and headers that the command wrote.
    package struct Head: Hashable, Sendable {
        /// The status of the `Status:` line; 200 without one.
        package var status: Int
        /// The other header lines.
        package var headers: HeaderBlock
    }

    /// The bytes before the body.
    private var bytes: [UInt8] = []
    private var lineStart = 0
    /// Whether the empty line that ends the headers came.
    package private(set) var isComplete = false

    /// The most bytes of headers.
    package static let longestHead = 64 << 10

    package init() {}

    /// Whether anything was written at all.
    package var hasBegun: Bool { isComplete || !bytes.isEmpty }

    /// Takes the next bytes. Returns the head once the headers end; the first `taken` bytes belong to them.
    package mutating func take(
        _ piece: some Collection<UInt8>
    ) throws(TransferError) -> (head: Head?, taken: Int) {
        var taken = 0
        for byte in piece {
            taken += 1
            bytes.append(byte)
            if byte == UInt8(ascii: "\n") {
                let line = Self.withoutBreak(bytes[lineStart...])
                if line.isEmpty {
                    isComplete = true
                    return (try head(), taken)
                }
                try check(line)
                lineStart = bytes.count
            }
            if bytes.count > Self.longestHead {
                throw TransferError(
                    .commandFailed, "the command's headers do not end within \(Self.longestHead) bytes")
            }
        }
        return (nil, taken)
    }

    /// Why output that ends within the headers is no response; `nil` when they are complete.
    package var problemAtEnd: TransferError? {
        if isComplete { return nil }
        return TransferError(
            .commandFailed,
            bytes.isEmpty
                ? "the command ended well and gave no answer, not even the empty line after its headers"
                : "the command's answer has no empty line after its headers")
    }

    private static func withoutBreak(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var line = line
        if line.last == UInt8(ascii: "\n") { line.removeLast() }
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        return line
    }

    /// Throws for a line without a name, which may be part of a body that came without an empty line before it.
    private func check(_ line: ArraySlice<UInt8>) throws(TransferError) {
        if let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
            line[..<colon].allSatisfy(Self.isNameByte)
        {
            guard line[colon...].contains(where: { $0 == 0 || $0 == UInt8(ascii: "\r") }) else { return }
            throw TransferError(.commandFailed, "a header of the command's answer holds CR or NUL")
        }
        let shown = ForeignText.quoted(String(decoding: line, as: UTF8.self))
        throw TransferError(.commandFailed, "the command's answer has \(shown) where a header line should be")
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }

    private mutating func head() throws(TransferError) -> Head {
        defer { bytes = [] }
        let all = HeaderBlock(raw: bytes)
        if all.first("transfer-encoding") != nil {
            throw TransferError(
                .commandFailed, "a command's body is sent as it is: `Transfer-Encoding` has no place in its answer")
        }
        var kept: [(String, String)] = []
        var status: Int?
        for line in all.lines {
            guard all.isNamed(line, "status") else {
                kept.append((String(all.name(line)), String(all.value(line))))
                continue
            }
            if status != nil { throw TransferError(.commandFailed, "the command's answer has two `Status` lines") }
            status = try Self.status(String(all.value(line)))
        }
        return Head(status: status ?? 200, headers: HeaderBlock(kept))
    }

    /// Reads `404` or `404 Not Found`.
    private static func status(_ text: String) throws(TransferError) -> Int {
        let digits = text.prefix { $0 != " " }
        guard digits.utf8.count == 3, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let status = Int(digits),
            (200...599).contains(status)
        else {
            throw TransferError(
                .commandFailed, "the command's `Status` is \(ForeignText.quoted(text)), no number from 200 to 599")
        }
        return status
    }

    /// Whether what follows the headers is a body.
    package static func hasBody(status: Int, method: String) -> Bool {
        method != "HEAD" && status != 204 && status != 304
    }
}

/// How a command ended that was asked for an answer.
package enum CommandEnd: Hashable, Sendable {
    /// All that it wrote is the whole answer.
    case whole
    /// The command does not answer for this request: the next command is run.
    case passes
    case failed(TransferError)

    /// Exit status of a command that does not answer for this request, and says so before it writes anything.
    package static let pass: Int32 = 64

    /// `status` is `nil` for a command that a signal ended; `lastWords` is the last that it wrote on its standard
    /// error.
    package static func of(
        status: Int32?, signal: Int32, _ answer: CommandAnswer, command: String, lastWords: String?
    ) -> CommandEnd {
        if status == 0 {
            return answer.problemAtEnd.map { .failed($0) } ?? .whole
        }
        if status == pass, !answer.hasBegun { return .passes }
        let what =
            status == pass
            ? "passed (status 64) after it had begun to answer"
            : status.map { "ended with status \($0)" } ?? "was ended by signal \(signal)"
        let words = lastWords.map { ": \($0)" } ?? ""
        return .failed(TransferError(.commandFailed, "the command `\(command)` \(what)\(words)"))
    }
}

/// The last that a program wrote on its standard error, as one line of an error's text.
package enum LastErrorLine {
    private static let longest = 400

    /// Returns the line; `nil` where there is none. `text` is redacted already, so that no secret is cut in two. Its
    /// beginning may be missing.
    package static func of(_ text: String) -> String? {
        let lines = text.split(whereSeparator: \.isNewline).map { line in
            String(line.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : Character($0) })
        }
        guard let last = lines.last(where: { line in line.contains { $0 != " " } }) else { return nil }
        return last.utf8.count <= longest ? last : "…" + String(last.suffix(longest / 2))
    }
}
