import Glibc
import SystemIO
package import TransferModel

/// Why the networks cannot be read or watched.
package struct NetworkProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// A sentence for the user.
    package let description: String

    init(_ error: SystemError) {
        let advice =
            error.errno == EMFILE
            ? "this process may open no more files (`ulimit -n`)"
            : "a sandbox must allow the address family AF_NETLINK"
        description = "the kernel does not tell what networks there are (\(error)): \(advice)"
    }

    init(_ description: String) { self.description = description }
}

/// The kernel's interfaces and addresses at one moment.
package struct LinkTable: Hashable, Sendable {
    /// The interfaces, in the kernel's order.
    package var links: [NetlinkMessage.Link]
    /// The addresses of each interface by its index, without link-local IPv6 addresses and those that another machine
    /// may have.
    package var addresses: [UInt32: Set<NetworkAddress>]

    package init(links: [NetlinkMessage.Link] = [], addresses: [UInt32: Set<NetworkAddress>] = [:]) {
        self.links = links
        self.addresses = addresses
    }

    mutating func take(_ message: NetlinkMessage) {
        switch message {
        case .link(let link): links.append(link)
        case .address(let found) where !found.isTentative && !found.address.isLinkLocalIPv6:
            addresses[found.link, default: []].insert(found.address)
        case .address, .route, .done, .failed, .other: break
        }
    }
}

/// Reads the kernel's tables as a whole. Belongs to one thread.
final class NetworkReader {
    private let socket: RouteSocket
    private var sequence: UInt32 = 0
    private var buffer = [UInt8](repeating: 0, count: 64 << 10)

    init() throws(NetworkProblem) {
        do throws(SystemError) { socket = try RouteSocket() } catch { throw NetworkProblem(error) }
    }

    func read() throws(NetworkProblem) -> LinkTable {
        do throws(SystemError) {
            // A table that changed while it was sent is read again; on some machines it never stands still.
            for _ in 0..<5 {
                var table = LinkTable()
                let isWhole = try ask(NetlinkRequest.links, &table)
                if try ask(NetlinkRequest.addresses, &table), isWhole { return table }
            }
            var table = LinkTable()
            _ = try ask(NetlinkRequest.links, &table)
            _ = try ask(NetlinkRequest.addresses, &table)
            return table
        } catch {
            throw NetworkProblem(error)
        }
    }

    /// Sends a request and adds the answers to `table`; returns `false` when they may not fit together.
    private func ask(_ request: (UInt32) -> [UInt8], _ table: inout LinkTable) throws(SystemError) -> Bool {
        sequence &+= 1
        try socket.send(request(sequence))
        var isWhole = true
        while true {
            switch try socket.receive(into: &buffer) {
            case .message(let count):
                for item in NetlinkParser.items(in: buffer[..<count]) where item.sequence == sequence {
                    isWhole = isWhole && !item.isInterrupted
                    switch item.message {
                    case .done: return isWhole
                    case .failed(let code): throw SystemError(call: "netlink", errno: code)
                    default: table.take(item.message)
                    }
                }
            case .lost: isWhole = false
            case .nothing:
                var entries = [socket.entry]
                Polling.wait(&entries, milliseconds: 1000)
                if !entries[0].isReady { return false }
            }
        }
    }
}
