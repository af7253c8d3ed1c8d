internal import CLibcurl
import Glibc
import TransferModel

/// The sockets of a pool, and which of them carried a request already: libcurl takes an idle connection for a good one
/// even when unrequested bytes wait on it, and would read them as the next answer.
@safe final class PoolSockets {
    /// A connection as libcurl identifies it before it sends a request on it.
    struct Connection: Hashable {
        let remote: String
        let remotePort: Int32
        let localPort: Int32
    }
    /// Sockets not used by any request yet, with the transfer that they were opened for.
    private var fresh: [Int32: ObjectIdentifier] = [:]
    private var used: [Connection: Int32] = [:]
    private var connections: [Int32: Connection] = [:]
    /// Transfers that use a socket now: in HTTP/2 many at once, in HTTP/1.1 one.
    private var users: [Int32: Set<ObjectIdentifier>] = [:]
    /// Host of each socket: connections of other pools count for its limit too.
    private var hosts: [Int32: Substring] = [:]
    /// Network interface of each socket that may leave the machine.
    private var interfaces: [Int32: UInt32] = [:]
    /// Control connections to FTP servers.
    private var commanding: Set<Int32> = []
    /// Sockets that were cut because their network was lost or is no longer allowed, with its interface.
    private var lost: [Int32: UInt32] = [:]

    var userPointer: UnsafeMutableRawPointer { unsafe Unmanaged.passUnretained(self).toOpaque() }

    func opened(_ socket: Int32, for slot: TransferSlot, over interface: UInt32? = nil) {
        fresh[socket] = ObjectIdentifier(slot)
        if let interface { interfaces[socket] = interface }
    }

    func closed(_ socket: Int32) {
        fresh[socket] = nil
        if let connection = connections.removeValue(forKey: socket) { used[connection] = nil }
        if !users.isEmpty { users[socket] = nil }
        if !hosts.isEmpty { hosts[socket] = nil }
        if !interfaces.isEmpty { interfaces[socket] = nil }
        if !lost.isEmpty { lost[socket] = nil }
        if !commanding.isEmpty { commanding.remove(socket) }
    }

    func commands(over socket: Int32) { commanding.insert(socket) }

    /// Stops reading from FTP servers. libcurl says goodbye to each and would wait up to two minutes for the reply.
    func stopListening() {
        for socket in commanding { shutdown(socket, Int32(SHUT_RD)) }
    }

    /// Marks the connection that was opened for the transfer alone as used. Returns its socket; `nil` where it is in
    /// use already.
    func useOwn(of slot: TransferSlot) -> (socket: Int32, wasUsed: Bool)? {
        guard let socket = opened(for: slot).first else { return nil }
        fresh[socket] = nil
        return (socket, false)
    }

    /// Marks a connection as used. Returns its socket, and whether it carried a request before.
    func use(_ connection: Connection) -> (socket: Int32, wasUsed: Bool)? {
        if let socket = used[connection] { return (socket, true) }
        guard let socket = fresh.keys.first(where: { Self.localPort(of: $0) == connection.localPort }) else {
            return nil
        }
        fresh[socket] = nil
        used[connection] = socket
        connections[socket] = connection
        return (socket, false)
    }

    /// Sockets over which the transfer has sent no request yet.
    func opened(for slot: TransferSlot) -> [Int32] {
        fresh.filter { $0.value == ObjectIdentifier(slot) }.map(\.key)
    }

    // MARK: Who uses them

    func began(_ socket: Int32, _ slot: TransferSlot) { users[socket, default: []].insert(ObjectIdentifier(slot)) }
    func left(_ socket: Int32, _ slot: TransferSlot) {
        if !users.isEmpty { users[socket]?.remove(ObjectIdentifier(slot)) }
    }

    /// Whether another transfer's answer comes over the socket.
    func isOthers(_ socket: Int32, than slot: TransferSlot) -> Bool {
        users[socket]?.contains { $0 != ObjectIdentifier(slot) } ?? false
    }

    // MARK: Beside another pool's

    func opened(_ socket: Int32, to host: Substring) { hosts[socket] = host }
    func count(to host: Substring) -> Int { hosts.count { $0.value == host } }

    /// Ends an idle connection to `host`; returns `false` when there is none.
    func endIdle(to host: Substring) -> Bool {
        let idle = hosts.first { socket, place in
            place == host && connections[socket] != nil && users[socket]?.isEmpty ?? true
        }
        guard let socket = idle?.key else { return false }
        hosts[socket] = nil
        shutdown(socket, Int32(SHUT_RDWR))
        return true
    }

    /// Ends all idle connections. libcurl closes them, and gives their descriptors back, when it next looks for one.
    func endIdle() {
        for socket in connections.keys where users[socket]?.isEmpty ?? true { shutdown(socket, Int32(SHUT_RDWR)) }
    }

    // MARK: Networks

    var hasLost: Bool { !lost.isEmpty }
    /// The interface of a socket that was cut, else `nil`.
    func lost(_ socket: Int32) -> UInt32? { lost[socket] }
    func interface(of socket: Int32) -> UInt32? { interfaces.isEmpty ? nil : interfaces[socket] }

    /// Cuts every connection that may not continue.
    func cut(unless mayGoOn: (_ interface: UInt32, _ local: NetworkAddress?) -> Bool) {
        for (socket, interface) in interfaces
        where lost[socket] == nil && !mayGoOn(interface, SocketPath.localAddress(of: socket)) {
            SocketPath.cut(socket)
            lost[socket] = interface
        }
    }

    enum Sight {
        case nothing, bytes, end
    }

    /// Checks whether bytes or the end of the stream can be read.
    static func peek(at socket: Int32) -> Sight {
        var byte: UInt8 = 0
        let count = unsafe recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        if count > 0 { return .bytes }
        return count == 0 || (errno != EAGAIN && errno != EINTR) ? .end : .nothing
    }

    /// Whether bytes or the end of the stream can be read.
    static func isReadable(_ socket: Int32) -> Bool { peek(at: socket) != .nothing }

    private static func localPort(of socket: Int32) -> Int32? {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let code = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(socket, $0, &length)
            }
        }
        guard code == 0 else { return nil }
        // The port is at the same offset for IPv4 and IPv6.
        return unsafe withUnsafeBytes(of: &address) { bytes in
            Int32(unsafe bytes.load(fromByteOffset: 2, as: UInt16.self).bigEndian)
        }
    }
}

@available(*, unavailable)
extension PoolSockets: Sendable {}
