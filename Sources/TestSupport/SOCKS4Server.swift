internal import Glibc

/// A SOCKS4 proxy, with names (4a) or without, that forwards every connection to one port of 127.0.0.1 and remembers
/// the requests. `stop()` must be called.
package final class SOCKS4Server: Sendable {
    /// One CONNECT request of a client.
    package struct Request: Hashable, Sendable {
        /// Port that the client asked for.
        package let port: UInt16
        /// IPv4 address that the client asked for, dotted; `0.0.0.x` if it gave a name.
        package let address: String
        /// User id of the request.
        package let user: String
        /// Host name that the client asked for (4a); `nil` if it gave an address.
        package let name: String?
    }

    /// Port of 127.0.0.1 that the proxy listens on.
    package let port: UInt16
    private let listener: Int32
    private let thread: TestThread
    private let seen = Monitor<[Request]>([])

    /// Starts the proxy. `reply` 90 accepts clients; 91 and above refuse them.
    package init(leadingTo target: UInt16, reply: UInt8 = 90) throws {
        (listener, port) = try Socket.listen()
        let (listener, seen) = (listener, seen)
        thread = try TestThread {
            var carriers: [TestThread] = []
            while let (descriptor, _) = Socket.accept(listener) {
                let carrier = try? TestThread { Self.serve(descriptor, target, reply, seen) }
                if let carrier { carriers.append(carrier) } else { Socket.closeDescriptor(descriptor) }
            }
            for carrier in carriers { carrier.join() }
        }
    }

    /// Requests so far, in the order in which they were read.
    package var requests: [Request] { seen.with { $0 } }

    /// Closes the listener and waits for all connections. Call it when no client is left.
    package func stop() {
        Socket.shutDown(listener)
        thread.join()
        Socket.closeDescriptor(listener)
    }

    private static func serve(_ descriptor: Int32, _ target: UInt16, _ reply: UInt8, _ seen: Monitor<[Request]>) {
        defer { Socket.closeDescriptor(descriptor) }
        let wire = Wire(descriptor)
        guard let head = read(8, wire), head[0] == 4, head[1] == 1, let user = readText(wire) else { return }
        let address = head[4..<8].map { String($0) }.joined(separator: ".")
        let hasName = head[4..<7].allSatisfy { $0 == 0 } && head[7] != 0
        let name = hasName ? readText(wire) : nil
        let port = UInt16(head[2]) << 8 | UInt16(head[3])
        seen.with { $0.append(Request(port: port, address: address, user: user, name: name)) }
        guard wire.send([0, reply, 0, 0, 0, 0, 0, 0]), reply == 90 else { return }
        wire.relay(to: target)
    }

    private static func read(_ count: Int, _ wire: Wire) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let more = wire.readSome(count - bytes.count)
            if more.isEmpty { return nil }
            bytes += more
        }
        return bytes
    }

    /// Reads a text up to its terminating zero.
    private static func readText(_ wire: Wire) -> String? {
        var bytes: [UInt8] = []
        while let byte = read(1, wire)?.first {
            if byte == 0 { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(byte)
        }
        return nil
    }
}
