package import TransferModel

/// How a message says where its body ends. Unlike libcurl, which takes the last of several lengths and reads `+5` as 5,
/// this rejects both.
package enum BodyFraming: Hashable, Sendable {
    /// No body: the answer to a HEAD, a 204 or a 304.
    case none
    /// `Content-Length` in bytes.
    case length(Int64)
    /// Chunked in HTTP/1.1: the last chunk ends the body. A length announced beside it (servers must not) does not
    /// decide where the body ends, but a length that differs from the body's is an error.
    case chunked(announced: Int64?)
    /// Only the end of the connection, or of the HTTP/2 stream, ends the body.
    case untilClose

    /// Returns the framing once the body's length is known from elsewhere; `nil` when that length contradicts this
    /// framing.
    package func holding(_ length: Int64) -> BodyFraming? {
        switch self {
        case .none: nil
        case .length(let told): told == length ? self : nil
        case .chunked(let told): told ?? length == length ? .chunked(announced: length) : nil
        case .untilClose: .length(length)
        }
    }

    /// Returns the framing that a response's headers announce (RFC 9112, section 6.3); throws when they are
    /// contradictory or unreadable.
    package static func of(
        _ headers: HeaderBlock, status: Int, method: String, version: HTTPProtocol
    ) throws(TransferError) -> BodyFraming {
        // After a 101 the connection carries another protocol, whose end this program cannot find.
        guard status != 101 else {
            throw TransferError(
                .badServerResponse,
                "the server answered 101: it goes over to another protocol, and nobody asked for that")
        }
        try checkNames(headers)
        let length = try contentLength(headers)
        if method == "HEAD" || status == 204 || status == 304 { return .none }
        let codings = transferCodings(headers)
        guard !codings.isEmpty else { return length.map { .length($0) } ?? .untilClose }
        guard version == .http1, codings == ["chunked"] else {
            throw TransferError(
                .badServerResponse,
                "the server sent a `Transfer-Encoding` of \(ForeignText.quoted(codings.joined(separator: ", ")))")
        }
        return .chunked(announced: length)
    }

    /// Throws when a blank stands before the colon of a header that frames the body. To libcurl `Content-Length : 5` is
    /// another header, so it reads to the end of the connection; to others it is this one (RFC 9112, section 5.1).
    private static func checkNames(_ headers: HeaderBlock) throws(TransferError) {
        for line in headers.lines {
            let last = headers.bytes[Int(line.nameEnd) - 1]
            guard last == UInt8(ascii: " ") || last == UInt8(ascii: "\t") else { continue }
            let name = String(headers.name(line).utf8.trimmed()).lowercased()
            guard name == "content-length" || name == "transfer-encoding" else { continue }
            throw TransferError(.badServerResponse, "the server sent a blank between `\(name)` and its colon")
        }
    }

    /// Transfer codings in lower case; without `identity`, which old servers send and which changes nothing.
    private static func transferCodings(_ headers: HeaderBlock) -> [String] {
        var codings: [String] = []
        for line in headers.lines where headers.isNamed(line, "transfer-encoding") {
            for part in headers.value(line).utf8.split(separator: UInt8(ascii: ",")) {
                let coding = String(part.trimmed()).lowercased()
                if !coding.isEmpty, coding != "identity" { codings.append(coding) }
            }
        }
        return codings
    }

    /// The announced length in bytes, `nil` without one; throws when two lengths differ.
    private static func contentLength(_ headers: HeaderBlock) throws(TransferError) -> Int64? {
        var found: Int64?
        for line in headers.lines where headers.isNamed(line, "content-length") {
            let value = headers.valueBytes(line)
            for part in value.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
                let length = try number(part)
                if let found, found != length {
                    throw TransferError(
                        .badServerResponse, "the server announced two lengths: \(found) and \(length) bytes")
                }
                found = length
            }
        }
        return found
    }

    private static func number(_ text: ArraySlice<UInt8>) throws(TransferError) -> Int64 {
        let digits = text.withoutBlanks
        var length: Int64 = 0
        var isOne = !digits.isEmpty
        for byte in digits where isOne {
            let (tens, isTooLong) = length.multipliedReportingOverflow(by: 10)
            let (sum, isTooLarge) = tens.addingReportingOverflow(Int64(byte) - 0x30)
            isOne = (0x30...0x39).contains(byte) && !isTooLong && !isTooLarge
            length = sum
        }
        guard isOne else {
            let told = ForeignText.quoted(String(Array(digits)))
            throw TransferError(.badServerResponse, "the server announced \(told) as the length")
        }
        return length
    }
}

/// What is known at a body's end, by which ``Completeness`` judges whether the body is whole.
package struct BodyEnd: Hashable, Sendable {
    /// Bytes of the body that arrived.
    package var received: Int64
    /// Protocol version of the response.
    package var version: HTTPProtocol
    /// Whether the connection uses TLS.
    package var isSecure: Bool
    /// Whether the TLS connection was closed in order; asked only where the close is what ends the body.
    package var sawCloseNotify: Bool

    package init(received: Int64, version: HTTPProtocol, isSecure: Bool, sawCloseNotify: Bool) {
        self.received = received
        self.version = version
        self.isSecure = isSecure
        self.sawCloseNotify = sawCloseNotify
    }
}

/// Whether a body that libcurl calls complete is whole.
package enum Completeness: Hashable, Sendable {
    /// The framing, or TLS's closing message, proves that the whole body arrived.
    case whole
    /// Nothing proves the end, and nothing speaks against it.
    case unverified
    /// A shared HTTP/2 stream without a length: libcurl may report a stream that was cut as whole, so the body must be
    /// fetched again on a connection of its own.
    case unprovenStream
    /// Bytes are missing, or more arrived than were announced.
    case cut(TransferError)

    /// Returns whether the body is whole by its framing and by what is known at its end.
    package static func judge(_ framing: BodyFraming, _ end: BodyEnd) -> Completeness {
        switch framing {
        case .none: return .whole
        case .chunked(let announced):
            guard let announced, announced != end.received else { return .whole }
            return .cut(
                TransferError(
                    .badServerResponse,
                    "the server announced \(announced) bytes and sent \(end.received) in chunks"))
        case .length(let announced):
            if end.received == announced { return .whole }
            if end.received > announced {
                return .cut(
                    TransferError(
                        .badServerResponse, "\(announced) bytes were announced, and \(end.received) came"))
            }
            return .cut(
                TransferError(
                    .networkConnectionLost,
                    "the body ended after \(end.received) of \(announced) bytes"))
        case .untilClose: return judgeClose(end)
        }
    }

    private static func judgeClose(_ end: BodyEnd) -> Completeness {
        if end.version == .http2 { return .unprovenStream }
        guard end.isSecure else { return .unverified }
        // A body whose end only TLS proves is proved by close_notify.
        if end.sawCloseNotify { return .whole }
        return .cut(
            TransferError(
                .networkConnectionLost,
                "the TLS connection was cut after \(end.received) bytes without a closing message"))
    }
}
