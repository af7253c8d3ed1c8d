internal import Glibc
package import TransferModel

/// What a scripted server does for one request: steps, in order. If they end without closing, the connection stays open
/// for the next request, unless the request asked to close it.
package struct Script: Sendable, ExpressibleByArrayLiteral {
    /// One step of a script.
    package enum Step: Sendable {
        /// Sends exact bytes. Several in a row are several segments: the server never waits to join them.
        case bytes([UInt8])
        /// Sends `count` bytes of a pattern that costs no memory: byte n is `Script.pattern(n)`.
        case pattern(count: Int)
        /// Waits, unless the server stops.
        case wait(TimeSpan)
        /// Waits until the test calls `open(gate:)`; an open gate stays open.
        case gate(String)
        /// Reads the request's body here instead of before the first step.
        case readBody
        /// Reads this many bytes of a body with a length and keeps them: the part that a server has of an interrupted
        /// upload.
        case readPart(Int)
        /// Reads the whole body without keeping it: its length goes to the request's `drained`.
        case drainBody
        /// Leaves the body in the socket: the response precedes it.
        case ignoreBody
        /// Ends the connection in order: close_notify when there is TLS, then FIN.
        case close
        /// Sends FIN without close_notify: with TLS the response is truncated, without it this is `close`.
        case cut
        /// RST, as when a process dies: what is still in the buffers is lost.
        case reset
        /// Acts as a tunnel: bytes go to and fro between the client and this port until one of them ends.
        case relay(to: UInt16)
        /// Sends nothing more and keeps the connection until the client leaves or the server stops.
        case stall

        /// Sends a text as UTF-8.
        package static func send(_ text: String) -> Step { .bytes(Array(text.utf8)) }
        /// Sends exact bytes.
        package static func send(_ bytes: [UInt8]) -> Step { .bytes(bytes) }
    }

    /// The steps, in order.
    package var steps: [Step]

    package init(_ steps: [Step]) { self.steps = steps }
    package init(arrayLiteral elements: Step...) { steps = elements }

    /// The steps of `left`, then those of `right`.
    package static func + (left: Script, right: Script) -> Script { Script(left.steps + right.steps) }

    var readsBodyItself: Bool {
        steps.contains {
            switch $0 {
            case .readBody, .readPart, .drainBody, .ignoreBody: true
            default: false
            }
        }
    }

    /// Returns the byte at `offset` of a `.pattern`: differs between neighbours, blocks and large offsets.
    package static func pattern(_ offset: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: offset &* 31 &+ (offset >> 8) &* 7 &+ (offset >> 16))
    }

    /// Returns `count` bytes of the pattern from `start`, for comparing.
    package static func patternBytes(_ count: Int, from start: Int = 0) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            for index in 0..<count { buffer[index] = pattern(start + index) }
            filled = count
        }
    }
}

/// Ordinary answers.
extension Script {
    /// One header line; neither part is checked or changed.
    package typealias Header = (name: String, value: String)

    /// A response with `Content-Length`, except where the status forbids one. No other header is added.
    package static func respond(
        _ status: Int, headers: [Header] = [], body: [UInt8] = [], close: Bool = false
    ) -> Script {
        var lines = headers
        if status >= 200, status != 204, status != 304 { lines.append(("Content-Length", "\(body.count)")) }
        if close { lines.append(("Connection", "close")) }
        return Script([.bytes(head(status, lines) + body)] + (close ? [.close] : []))
    }

    /// Answers with a body that is given as text.
    package static func respond(
        _ status: Int, headers: [Header] = [], body: String, close: Bool = false
    ) -> Script {
        respond(status, headers: headers, body: Array(body.utf8), close: close)
    }

    /// A response whose body is `count` bytes of the pattern.
    package static func respond(_ status: Int, headers: [Header] = [], patternOf count: Int) -> Script {
        [.bytes(head(status, headers + [("Content-Length", "\(count)")])), .pattern(count: count)]
    }

    /// Headers only, as for HEAD: the length is announced, the body is not sent.
    package static func headOnly(_ status: Int, headers: [Header] = [], length: Int) -> Script {
        [.bytes(head(status, headers + [("Content-Length", "\(length)")]))]
    }

    /// A chunked response, one chunk for each piece, sent separately.
    package static func chunked(
        _ status: Int, headers: [Header] = [], _ pieces: [[UInt8]], trailers: [Header] = []
    ) -> Script {
        var steps: [Step] = [.bytes(head(status, headers + [("Transfer-Encoding", "chunked")]))]
        for piece in pieces { steps.append(.bytes(chunk(piece))) }
        let end = "0\r\n" + trailers.map { "\($0.name): \($0.value)\r\n" }.joined() + "\r\n"
        return Script(steps + [.send(end)])
    }

    /// One chunk with its size line, for scripts that go wrong afterwards.
    package static func chunk(_ bytes: [UInt8]) -> [UInt8] {
        Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + [0x0D, 0x0A]
    }

    /// A response that ends with the connection.
    package static func untilClose(_ status: Int, headers: [Header] = [], body: [UInt8]) -> Script {
        [.bytes(head(status, headers + [("Connection", "close")]) + body), .close]
    }

    /// A redirect without a body.
    package static func redirect(_ status: Int, to location: String, headers: [Header] = []) -> Script {
        respond(status, headers: [("Location", location)] + headers)
    }

    /// The status line and the header lines as given, up to and with the empty line.
    package static func head(_ status: Int, _ headers: [Header]) -> [UInt8] {
        let lines = headers.map { "\($0.name): \($0.value)\r\n" }.joined()
        return Array("HTTP/1.1 \(status) \(reason(status))\r\n\(lines)\r\n".utf8)
    }

    private static func reason(_ status: Int) -> String {
        switch status {
        case 100: "Continue"
        case 200: "OK"
        case 201: "Created"
        case 204: "No Content"
        case 206: "Partial Content"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 304: "Not Modified"
        case 401: "Unauthorized"
        case 404: "Not Found"
        case 416: "Range Not Satisfiable"
        case 429: "Too Many Requests"
        case 500: "Internal Server Error"
        case 503: "Service Unavailable"
        default: "Status \(status)"
        }
    }
}
