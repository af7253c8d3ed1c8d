package import TransferModel

/// How a message says where its body ends. libcurl takes the last of several lengths, and `+5` for 5; we do not.
package enum BodyFraming: Hashable, Sendable {
    /// There is none: a HEAD, 204 or 304.
    case none
    case length(Int64)
    /// Chunked in HTTP/1.1: the last chunk ends it. A length that was announced beside it (servers must not) has no
    /// say over where the body ends, but one that turns out to be another than the body's is a lie.
    case chunked(announced: Int64?)
    /// Only the end of the connection, or of the HTTP/2 stream, ends it.
    case untilClose

    /// The same of a body whose length is known from elsewhere; `nil` when that contradicts it.
    package func holding(_ length: Int64) -> BodyFraming? {
        switch self {
        case .none: nil
        case .length(let told): told == length ? self : nil
        case .chunked(let told): told ?? length == length ? .chunked(announced: length) : nil
        case .untilClose: .length(length)
        }
    }

    /// Reads it off a response's headers (RFC 9112, section 6.3).
    package static func of(
        _ headers: HeaderBlock, status: Int, method: String, version: HTTPProtocol
    ) throws(TransferError) -> BodyFraming {
        // What follows it is no HTTP any more, and nobody knows where that ends.
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

    /// `Content-Length : 5` is another header to libcurl, which then reads to the end of the connection, and this one to
    /// others (RFC 9112, section 5.1).
    private static func checkNames(_ headers: HeaderBlock) throws(TransferError) {
        for line in headers.lines {
            let last = headers.bytes[Int(line.nameEnd) - 1]
            guard last == UInt8(ascii: " ") || last == UInt8(ascii: "\t") else { continue }
            let name = String(headers.name(line).utf8.trimmed()).lowercased()
            guard name == "content-length" || name == "transfer-encoding" else { continue }
            throw TransferError(.badServerResponse, "the server sent a blank between `\(name)` and its colon")
        }
    }

    /// In lower case; without `identity`, which old servers send and which says nothing.
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

/// What is known at a body's end, from which its wholeness is judged.
package struct BodyEnd: Hashable, Sendable {
    package var received: Int64
    package var version: HTTPProtocol
    package var isSecure: Bool
    /// The TLS connection was closed in order; asked only where the close is what ends the body.
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
    case whole
    /// Nothing proves the end, and nothing speaks against it.
    case unverified
    /// A shared HTTP/2 stream without a length: libcurl may report one that was cut as whole, so it must be fetched
    /// again on a connection of its own.
    case unprovenStream
    case cut(TransferError)

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
