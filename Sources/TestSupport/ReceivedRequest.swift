package import TransferModel

/// One request as it arrived at a scripted server.
package struct ReceivedRequest: Sendable {
    /// Method of the request line; empty if that does not have three words.
    package var method = ""
    /// Target as sent: a path with its query, a whole URL for a proxy, or `host:port` for CONNECT.
    package var target = ""
    /// Version of the request line, such as `HTTP/1.1`.
    package var version = ""
    /// The lines after the request line, in order, as sent, without their line ends.
    package var headerLines: [String] = []
    /// All bytes from the method to the empty line.
    package var head: [UInt8]
    /// The body without chunked framing, as far as it was read and kept.
    package var body: [UInt8] = []
    /// Bytes of the body that were read and not kept.
    package var drained = 0
    /// Bytes of the response, including its head, that the socket has taken so far.
    package var sent = 0
    /// Sizes of the chunks, in order; empty for a body with a length.
    package var chunks: [Int] = []
    /// Whether the body was read to its end, which is true for a request without one. False until then.
    package var isComplete = false
    /// IPv4 address of the client's end of the connection.
    package var clientAddress: String
    /// Port of the client's end of the connection.
    package var clientPort: UInt16
    /// Number of the connection, from 1 in the order of acceptance.
    package var connection: Int
    /// Number of the request on its connection, from 1.
    package var numberOnConnection: Int
    /// Number of the request at its route, from 1.
    package var number = 0
    /// When the head was complete, on the monotonic clock.
    package var arrival: Instant

    init(head: [UInt8], client: Socket.Peer, connection: Int, numberOnConnection: Int, arrival: Instant) {
        self.head = head
        (clientAddress, clientPort) = (client.address, client.port)
        self.connection = connection
        self.numberOnConnection = numberOnConnection
        self.arrival = arrival
        var lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: false)
        let words = lines.removeFirst().split(separator: " ", omittingEmptySubsequences: false).map { String($0) }
        if words.count == 3 { (method, target, version) = (words[0], words[1], words[2]) }
        headerLines = lines.dropLast(2).map { String($0) }
    }

    /// The target without its query.
    package var path: String { String(target.prefix { $0 != "?" }) }
    /// The body as UTF-8.
    package var bodyText: String { String(decoding: body, as: UTF8.self) }

    /// Returns the first value of a header, or `nil`; letter case is ignored.
    package func header(_ name: String) -> String? { headers(name).first }

    /// Returns all values of a header, in order, without surrounding blanks; letter case is ignored.
    package func headers(_ name: String) -> [String] {
        let prefix = name.lowercased() + ":"
        return headerLines.filter { $0.lowercased().hasPrefix(prefix) }.map { line in
            var value = line.utf8.dropFirst(prefix.utf8.count)
            while let byte = value.first, byte == 0x20 || byte == 0x09 { value = value.dropFirst() }
            while let byte = value.last, byte == 0x20 || byte == 0x09 { value = value.dropLast() }
            return String(Substring(value))
        }
    }

    var contentLength: Int? { header("Content-Length").flatMap { Int($0) } }
    var isChunked: Bool { header("Transfer-Encoding")?.lowercased() == "chunked" }
    var expectsContinue: Bool { header("Expect")?.lowercased() == "100-continue" }
    /// Whether the client announced that this is the last request of its connection.
    var endsConnection: Bool {
        let word = header("Connection")?.lowercased()
        return word == "close" || (version == "HTTP/1.0" && word != "keep-alive")
    }
}
