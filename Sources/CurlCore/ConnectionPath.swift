internal import CLibcurl
import Glibc
package import TransferModel

/// Where a pool's connections lead when that is not simply the URL's host.
package struct ConnectionPath: Hashable, Sendable {
    /// The host to connect to in place of the URL's, an IPv6 address in brackets; `nil` for the URL's own.
    package var host: String?
    /// The port to connect to in place of the URL's; used with `host`.
    package var port: UInt16 = 0
    /// The family of addresses that connections are made to.
    package var family = ConnectionRouting.AddressFamily.any
    /// Absolute path of the Unix socket that connections are made to; `nil` for the network.
    package var unixSocket: String?
    package init() {}

    /// Whether an address of this family may be connected to.
    func takes(_ number: Int32) -> Bool {
        switch family {
        case .any: true
        case .ipv4: number == AF_INET || number == AF_UNIX
        case .ipv6: number == AF_INET6 || number == AF_UNIX
        }
    }

    /// Whether a connection carries only one transfer's requests. The kernel tells one connection to a Unix socket from
    /// another by no port, so libcurl could not be checked for the one it uses; and a new one costs next to nothing.
    var isForOneTransfer: Bool { unixSocket != nil }
}

extension TransferSlot {
    /// Whether no socket was opened because the addresses are of a family that the pool does not connect to. libcurl
    /// passes over some of them by itself.
    var foundOtherFamilyOnly: Bool {
        guard let path = pool?.path, path.family != .any, !state.sockets.hasOpened else { return false }
        return state.sockets.refusal == nil && state.sockets.error == 0
    }

    /// Sets where libcurl connects to. What the request says, and whom the certificate must name, stays the URL's.
    func set(_ path: ConnectionPath) {
        switch path.family {
        case .any: break
        case .ipv4: easy.set(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V4))
        case .ipv6: easy.set(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V6))
        }
        // Empty names before the address: it is for whatever host the URL has.
        if let host = path.host { easy.set(connectTo: "::\(host):\(path.port)") }
        if let socket = path.unixSocket { easy.set(CURLOPT_UNIX_SOCKET_PATH, socket) }
    }
}

extension CurlCompletion {
    /// Whether no address was connected to.
    package var foundNoConnection: Bool { code == CurlCode(CURLE_COULDNT_CONNECT) }
    /// Whether no address of the host, or of the proxy, was found.
    package var foundNoAddress: Bool {
        code == CurlCode(CURLE_COULDNT_RESOLVE_HOST) || code == CurlCode(CURLE_COULDNT_RESOLVE_PROXY)
    }
}
