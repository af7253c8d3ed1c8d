package import TransferModel

/// Collects the header lines of one response, as libcurl hands them over one by one, into a `ResponseHead`.
///
/// libcurl has checked each line by itself. What it leaves open is checked here: lines that are folded where that
/// changes the meaning of the body's end, and how long the trailer is.
package struct ResponseHeadParser {
    /// What a line was.
    package enum Line: Equatable, Sendable {
        /// A status line. The lines before it belong to a response that is over.
        case status
        /// A header line of the response.
        case field
        /// A header line that came after the body. It is counted and dropped.
        case trailer
        /// The empty line that ends a head or a trailer.
        case end
        /// A line that no response may have; `problem` says why.
        case violation
    }

    /// Why a response is refused.
    package enum Problem: Equatable, Sendable {
        /// The first header line continues a line that does not exist.
        case beginsFolded
        /// `Transfer-Encoding` or `Content-Length` stands on two lines. libcurl reads the first of them alone, the
        /// rules of HTTP both: the two would find different ends of the body.
        case foldedFraming
        /// More than `longestTrailer` bytes of headers came after the body.
        case endlessTrailer

        var message: String {
            switch self {
            case .beginsFolded: "the headers of the answer begin with a continuation line"
            case .foldedFraming: "the server broke how its body ends over two lines"
            case .endlessTrailer: "more than \(ResponseHeadParser.longestTrailer) bytes of headers came after the body"
            }
        }
    }

    /// libcurl bounds the length of a line, and keeps every line of a trailer.
    package static let longestTrailer = 300 << 10

    /// The status of the last status line; 0 where that has none.
    package private(set) var status = 0
    /// The protocol of the last status line.
    package private(set) var version = HTTPProtocol.http1
    /// Whether the head of the final response is whole: what comes now is its body or its trailer.
    package private(set) var isComplete = false
    /// Why the response is refused, from the first violation on.
    package private(set) var problem: Problem?
    private var bytes: [UInt8] = []
    /// Where in `bytes` the last line begins that continues no other.
    private var lastLine = 0
    private var trailerBytes = 0

    package init() {}

    /// Bytes of the header lines so far.
    package var size: Int { bytes.count }
    /// The header lines so far, of a head that is not taken yet.
    package var headers: HeaderBlock { HeaderBlock(raw: bytes) }

    /// Reads one line with its end. `line` is not empty.
    package mutating func read(_ line: UnsafeRawBufferPointer) -> Line {
        if unsafe line.starts(with: [0x48, 0x54, 0x54, 0x50, 0x2F]) {  // HTTP/
            unsafe readStatusLine(line)
            return .status
        }
        if unsafe line[0] == 0x0D || line[0] == 0x0A { return .end }
        if !isComplete {
            unsafe add(line)
        } else {
            trailerBytes += line.count
            if trailerBytes > Self.longestTrailer { problem = .endlessTrailer }
        }
        if problem != nil { return .violation }
        return isComplete ? .trailer : .field
    }

    /// Completes the head and returns it. Every line that follows belongs to the trailer, until a status line comes.
    package mutating func completeHead() -> ResponseHead {
        isComplete = true
        let head = ResponseHead(status: status, version: version, headers: headers)
        bytes = []
        return head
    }

    /// Marks the head as whole where a response has none: that of a file on an ftp server.
    package mutating func completeWithoutHead() { isComplete = true }

    private mutating func readStatusLine(_ line: UnsafeRawBufferPointer) {
        bytes.removeAll(keepingCapacity: true)
        bytes.reserveCapacity(384)
        (lastLine, isComplete, status) = (0, false, 0)
        version = unsafe line.count > 5 && line[5] == 0x32 ? .http2 : .http1
        guard let space = unsafe line.firstIndex(of: 0x20) else { return }
        for place in space + 1..<min(space + 4, line.count) {
            let byte = unsafe line[place]
            guard (0x30...0x39).contains(byte) else {
                status = 0
                return
            }
            status = status * 10 + Int(byte - 0x30)
        }
    }

    private mutating func add(_ line: UnsafeRawBufferPointer) {
        let isFolded = unsafe line[0] == 0x20 || line[0] == 0x09
        if !isFolded {
            lastLine = bytes.count
        } else if bytes.isEmpty {
            problem = .beginsFolded
        } else {
            let name = bytes.dropFirst(lastLine).prefix { $0 != 0x3A }
            let lower = String(decoding: name, as: UTF8.self).lowercased()
            if lower == "transfer-encoding" || lower == "content-length" { problem = .foldedFraming }
        }
        unsafe bytes.append(contentsOf: line)
    }
}
