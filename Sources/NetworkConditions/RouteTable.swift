import SystemIO
package import TransferModel

/// Asks the kernel where packets to an address go. Belongs to one thread; costs some ten microseconds.
package final class RouteTable: RouteFinder {
    private let socket: RouteSocket
    private var sequence: UInt32 = 0
    private var buffer = [UInt8](repeating: 0, count: 8 << 10)

    package init() throws(NetworkProblem) {
        do throws(SystemError) { socket = try RouteSocket() } catch { throw NetworkProblem(error) }
    }

    /// As the kernel numbers it in every network namespace.
    private static let loopback: UInt32 = 1

    package func interface(to address: NetworkAddress, over: UInt32?) -> UInt32? {
        let over = over ?? (address.isLinkLocalIPv6 && address.scope != 0 ? address.scope : nil)
        // IPv6 makes nothing up, and finds a less special route over the interface where the best one lies elsewhere.
        guard let route = ask(address, over, byTable: address.isIPv4) else { return nil }
        switch route.kind {
        case .refused: return nil
        case .local: return Self.loopback
        case .unicast: break
        }
        if let link = route.link { return link }
        // Several ways of one worth.
        if let over { return route.nextLinks.contains(over) ? over : nil }
        return ask(address, nil, byTable: false)?.link ?? route.nextLinks.first
    }

    private func ask(_ address: NetworkAddress, _ over: UInt32?, byTable: Bool) -> NetlinkMessage.Route? {
        sequence &+= 1
        do throws(SystemError) {
            try socket.send(
                NetlinkRequest.route(to: address, over: over, byTable: byTable, sequence: sequence))
            return try answer()
        } catch {
            return nil
        }
    }

    /// The kernel has answered by the time it has taken the question.
    private func answer() throws(SystemError) -> NetlinkMessage.Route? {
        while true {
            switch try socket.receive(into: &buffer) {
            case .message(let count):
                for item in NetlinkParser.items(in: buffer[..<count]) where item.sequence == sequence {
                    if case .route(let route) = item.message { return route }
                    return nil
                }
            case .lost: break
            case .nothing: return nil
            }
        }
    }
}

@available(*, unavailable)
extension RouteTable: Sendable {}
