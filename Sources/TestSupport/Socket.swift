internal import CTestShims
internal import Glibc
internal import TransferModel

/// The few socket calls that the server and the raw client share.
enum Socket {
    static func make(_ family: Int32 = AF_INET) throws -> Int32 {
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SystemFailure("socket") }
        return descriptor
    }

    static func loopback(_ port: UInt16) -> sockaddr_in { address("127.0.0.1", port) }

    private static func address(_ text: String, _ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        inet_aton(text, &address.sin_addr)
        return address
    }

    /// A listening socket and the port it got; `::1` is the only IPv6 address, and port 0 any free one.
    static func listen(at host: String = "127.0.0.1", port: UInt16 = 0) throws -> (descriptor: Int32, port: UInt16) {
        if host == "::1" {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_addr = in6addr_loopback
            address.sin6_port = port.bigEndian
            let descriptor = try listen(&address, AF_INET6)
            return (descriptor, UInt16(bigEndian: address.sin6_port))
        }
        var address = address(host, port)
        let descriptor = try listen(&address, AF_INET)
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    /// A listening Unix socket.
    static func listen(atPath path: String) throws -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        precondition(path.utf8.count < MemoryLayout.size(ofValue: address.sun_path), "too long: \(path)")
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return try listen(&address, AF_UNIX)
    }

    /// Listens, and leaves in `address` what the socket is bound to.
    private static func listen<Address>(_ address: inout Address, _ family: Int32) throws -> Int32 {
        let descriptor = try make(family)
        var length = socklen_t(MemoryLayout<Address>.size)
        let bound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && Glibc.listen(descriptor, 1024) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard bound else {
            let failure = SystemFailure("listen")
            close(descriptor)
            throw failure
        }
        return descriptor
    }

    /// The other end of a connection.
    struct Peer: Sendable {
        let address: String
        let port: UInt16
    }

    /// The next connection and its client; `nil` when the listener was shut down.
    static func accept(_ listener: Int32) -> (descriptor: Int32, peer: Peer)? {
        var address = sockaddr_storage()
        while true {
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let descriptor = withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { tr_test_accept(listener, $0, &length) }
            }
            if descriptor < 0, errno == EINTR || errno == ECONNABORTED { continue }
            guard descriptor >= 0 else { return nil }
            return (descriptor, peer(descriptor, address))
        }
    }

    private static func peer(_ descriptor: Int32, _ address: sockaddr_storage) -> Peer {
        guard Int32(address.ss_family) != AF_UNIX else { return Peer(address: "", port: 0) }
        setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, Int32(1))
        return withUnsafeBytes(of: address) { bytes in
            let port = UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
            if Int32(address.ss_family) == AF_INET6 { return Peer(address: "::1", port: port) }
            let host = bytes.loadUnaligned(fromByteOffset: 4, as: in_addr.self)
            return Peer(address: String(cString: inet_ntoa(host)), port: port)
        }
    }

    static func connect(to port: UInt16) throws -> Int32 {
        let descriptor = try make()
        var address = loopback(port)
        let code = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else {
            let failure = SystemFailure("connect to \(port)")
            close(descriptor)
            throw failure
        }
        setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, Int32(1))
        return descriptor
    }

    static func setOption<Value: BitwiseCopyable>(_ descriptor: Int32, _ level: Int32, _ name: Int32, _ value: Value) {
        var value = value
        setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Value>.size))
    }

    /// False when the other side is gone.
    static func send(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Bool {
        var done = 0
        while done < bytes.count {
            let count = Glibc.send(
                descriptor, bytes.baseAddress! + done, bytes.count - done, Int32(MSG_NOSIGNAL))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            done += count
        }
        return true
    }

    /// Bytes read; 0 at the end, negative when the connection broke.
    static func receive(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count < 0, errno == EINTR { continue }
            return count
        }
    }

    /// Whether the other side has closed or reset, seen without reading.
    static func hasLeft(_ descriptor: Int32) -> Bool {
        let readHangUp: Int16 = 0x2000  // POLLRDHUP, which needs _GNU_SOURCE
        var entry = pollfd(fd: descriptor, events: readHangUp, revents: 0)
        return poll(&entry, 1, 0) > 0 && entry.revents & (readHangUp | Int16(POLLHUP) | Int16(POLLERR)) != 0
    }

    /// Ends the connection with RST instead of FIN.
    static func reset(_ descriptor: Int32) {
        setOption(descriptor, SOL_SOCKET, SO_LINGER, linger(l_onoff: 1, l_linger: 0))
        close(descriptor)
    }

    static func finishWriting(_ descriptor: Int32) { shutdown(descriptor, Int32(SHUT_WR)) }
    static func shutDown(_ descriptor: Int32) { shutdown(descriptor, Int32(SHUT_RDWR)) }
    static func closeDescriptor(_ descriptor: Int32) { close(descriptor) }
}
