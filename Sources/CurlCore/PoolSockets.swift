import Glibc

/// The sockets of a pool, and which of them carried a request already: libcurl takes an idle connection for a good one
/// even when bytes lie on it that nobody asked for, and would read them as the next answer.
@safe final class PoolSockets {
    /// As libcurl tells one before it sends a request on it.
    struct Connection: Hashable {
        let remote: String
        let remotePort: Int32
        let localPort: Int32
    }
    /// Not yet used by any request.
    private var fresh: Set<Int32> = []
    private var used: [Connection: Int32] = [:]
    private var connections: [Int32: Connection] = [:]

    var userPointer: UnsafeMutableRawPointer { unsafe Unmanaged.passUnretained(self).toOpaque() }

    func opened(_ socket: Int32) { fresh.insert(socket) }

    func closed(_ socket: Int32) {
        fresh.remove(socket)
        if let connection = connections.removeValue(forKey: socket) { used[connection] = nil }
    }

    /// Its socket, if it carried a request before; from now on it did.
    func usedBefore(_ connection: Connection) -> Int32? {
        if let socket = used[connection] { return socket }
        guard let socket = fresh.first(where: { Self.localPort(of: $0) == connection.localPort }) else { return nil }
        fresh.remove(socket)
        used[connection] = socket
        connections[socket] = connection
        return nil
    }

    /// Bytes have come, or the end of the stream.
    static func isReadable(_ socket: Int32) -> Bool {
        var byte: UInt8 = 0
        let count = unsafe recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        return count >= 0 || (errno != EAGAIN && errno != EINTR)
    }

    private static func localPort(of socket: Int32) -> Int32? {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let code = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(socket, $0, &length)
            }
        }
        guard code == 0 else { return nil }
        // The port stands at the same place for IPv4 and IPv6.
        return unsafe withUnsafeBytes(of: &address) { bytes in
            Int32(unsafe bytes.load(fromByteOffset: 2, as: UInt16.self).bigEndian)
        }
    }
}

@available(*, unavailable)
extension PoolSockets: Sendable {}
