internal import Glibc

/// A SOCKS4 proxy, with names (4a) or without, that leads everything to one port of 127.0.0.1 and remembers what it was
/// asked for. `stop()` must be called.
package final class SOCKS4Server: Sendable {
    package struct Request: Hashable, Sendable {
        package let port: UInt16
        /// Dotted; `0.0.0.x` in front of a name.
        package let address: String
        package let user: String
        package let name: String?
    }

    package let port: UInt16
    private let listener: Int32
    private let thread: TestThread
    private let seen = Monitor<[Request]>([])

    /// `reply` is 90 to let them through; 91 and above refuse.
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

    package var requests: [Request] { seen.with { $0 } }

    /// When no client is left.
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

    /// Up to a zero.
    private static func readText(_ wire: Wire) -> String? {
        var bytes: [UInt8] = []
        while let byte = read(1, wire)?.first {
            if byte == 0 { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(byte)
        }
        return nil
    }
}
