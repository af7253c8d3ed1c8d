package import TransferModel

/// One request as it arrived.
package struct ReceivedRequest: Sendable {
    package var method = ""
    /// As sent: a path with its query, or a whole URL for a proxy, or `host:port` for CONNECT.
    package var target = ""
    package var version = ""
    /// The lines after the request line, in order, as sent, without their line ends.
    package var headerLines: [String] = []
    /// All bytes from the method to the empty line.
    package var head: [UInt8]
    /// The body without chunked framing: what had come when the client stopped, if it did.
    package var body: [UInt8] = []
    /// The length of a body that was not kept.
    package var drained = 0
    /// How many bytes of the answer, its head with it, the socket has taken so far.
    package var sent = 0
    /// The sizes of the chunks, in order; empty for a body with a length.
    package var chunks: [Int] = []
    /// Whether the body's end was seen, or there is none. False until it has been read.
    package var isComplete = false
    package var clientAddress: String
    package var clientPort: UInt16
    /// Connections are counted from 1 in the order they were accepted.
    package var connection: Int
    /// From 1.
    package var numberOnConnection: Int
    /// How often this route was asked, from 1.
    package var number = 0
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
    package var bodyText: String { String(decoding: body, as: UTF8.self) }

    /// The first value under `name`, letter case ignored.
    package func header(_ name: String) -> String? { headers(name).first }

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
    /// Whether the client said that this is the last request of its connection.
    var endsConnection: Bool {
        let word = header("Connection")?.lowercased()
        return word == "close" || (version == "HTTP/1.0" && word != "keep-alive")
    }
}
