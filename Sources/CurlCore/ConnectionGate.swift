internal import CLibcurl
import Glibc
import SystemIO
package import TransferModel

/// Decides whether connections are allowed. A pool asks it before it opens a socket, whatever led to the address, and
/// about open connections when networks change.
package protocol ConnectionGate: AnyObject {
    func judge(_ address: NetworkAddress) -> ConnectionRule.Answer
    /// Whether a connection over the interface, from this address of the machine's, may go on.
    func allows(_ interface: UInt32, from address: NetworkAddress?) -> Bool
}

extension TransferSlot {
    /// Opens a socket for the address, if the pool's gate allows it; -1 for none.
    func makeSocket(_ family: Int32, _ kind: Int32, _ number: Int32, to address: NetworkAddress?) -> Int32 {
        guard pool?.path.takes(family) != false, !refuses(family, address) else { return -1 }
        var over: UInt32?
        var device: UInt32?
        if let gate = pool?.gate, let address {
            switch gate.judge(address) {
            case .connect(let interface): over = interface
            case .bind(let interface): (over, device) = (interface, interface)
            case .refuse(let shortage):
                state.sockets.refusal = shortage
                return -1
            }
        }
        let made = socket(family, kind | Int32(SOCK_CLOEXEC.rawValue), number)
        guard made >= 0 else {
            state.sockets.error = errno
            return -1
        }
        guard DescriptorLimit.allowsTransfer(made) else {
            state.sockets.error = EMFILE
            close(made)
            return -1
        }
        if let device, !SocketBinding.bind(made, to: device) {
            state.sockets.error = errno
            close(made)
            return -1
        }
        pool?.sockets.opened(made, for: self, over: over)
        if ftp == nil { pool?.opened(made, to: urlOrigin) }
        if over != nil { state.sockets.opened.append(made) }
        if state.sockets.openedAt == nil { state.sockets.openedAt = loop.clock() }
        return made
    }

    /// Whether the request's limits refuse the address that libcurl would connect to next. Others of the host are still
    /// tried.
    private func refuses(_ family: Int32, _ address: NetworkAddress?) -> Bool {
        guard let limits = state.request?.addresses else { return false }
        if let address {
            guard let objection = limits.objection(to: address) else { return false }
            state.sockets.objection = objection
            return true
        }
        guard family == AF_UNIX, let path = pool?.path.unixSocket else { return true }
        guard let objection = limits.objection(toSocket: path) else { return false }
        state.sockets.objection = objection
        return true
    }

    /// Whether the request's limits refuse the address of a connection that another request opened. The pool's
    /// connections may have been made under other limits.
    func refuses(_ connection: PoolSockets.Connection) -> Bool {
        guard let limits = state.request?.addresses, pool?.path.unixSocket == nil else { return false }
        guard let address = NetworkAddress(literal: connection.remote) else { return true }
        return limits.objection(to: address) != nil
    }

    /// Why the transfer failed, where that is because an address was refused: none was connected to, or not the one of an
    /// FTP server's data.
    var decisiveObjection: AddressObjection? {
        !state.sockets.hasOpened || ftp != nil ? state.sockets.objection : nil
    }

    /// The interface of the transfer's connection, where it was cut because its network was lost; while connecting,
    /// only if that holds for every socket it opened. Else `nil`.
    var lostNetwork: UInt32? {
        guard let sockets = pool?.sockets, sockets.hasLost else { return nil }
        if let socket = state.sockets.used, ftp == nil { return sockets.lost(socket) }
        let lost = state.sockets.opened.compactMap { sockets.lost($0) }
        return ftp != nil || lost.count == state.sockets.opened.count ? lost.first : nil
    }
}

extension CurlCompletion {
    /// libcurl's code as reports show it.
    package var number: Int32 { Int32(code.rawValue) }

    /// Whether the system has no route to any address of the host.
    package var isUnroutable: Bool {
        code == CurlCode(CURLE_COULDNT_CONNECT) && (systemError == ENETUNREACH || systemError == ENETDOWN)
    }
}

/// Acts on the kernel's connection of a socket.
enum SocketPath {
    /// Cuts the connection at once: bytes that wait to be sent are discarded, and so is any farewell of libcurl or TLS.
    static func cut(_ socket: Int32) {
        var nowhere = sockaddr()
        nowhere.sa_family = sa_family_t(AF_UNSPEC)
        unsafe connect(socket, &nowhere, socklen_t(MemoryLayout<sockaddr>.size))
    }

    /// The address of the socket on this machine.
    static func localAddress(of socket: Int32) -> NetworkAddress? {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return unsafe withUnsafeMutablePointer(to: &address) { pointer in
            let code = unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(socket, $0, &length)
            }
            guard code == 0 else { return nil }
            return unsafe NetworkAddress(UnsafeRawBufferPointer(start: pointer, count: Int(length)))
        }
    }
}

extension NetworkAddress {
    /// Reads a `sockaddr` of either family.
    init?(_ address: UnsafeRawBufferPointer) {
        guard address.count >= MemoryLayout<sockaddr_in>.size else { return nil }
        switch Int32(unsafe address.loadUnaligned(as: sa_family_t.self)) {
        case AF_INET: unsafe self.init(Array(address[4..<8]))
        case AF_INET6:
            guard address.count >= MemoryLayout<sockaddr_in6>.size else { return nil }
            let scope = unsafe address.loadUnaligned(fromByteOffset: 24, as: UInt32.self)
            unsafe self.init(Array(address[8..<24]), scope: scope)
        default: return nil
        }
    }
}
