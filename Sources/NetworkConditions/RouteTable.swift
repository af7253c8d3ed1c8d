import SystemIO
package import TransferModel

/// Asks the kernel where packets to an address go. Belongs to one thread; a question costs some ten microseconds.
package final class RouteTable: RouteFinder {
    private let socket: RouteSocket
    private var sequence: UInt32 = 0
    private var buffer = [UInt8](repeating: 0, count: 8 << 10)

    package init() throws(NetworkProblem) {
        do throws(SystemError) { socket = try RouteSocket() } catch { throw NetworkProblem(error) }
    }

    /// The index of the loopback interface, the same in every network namespace.
    private static let loopback: UInt32 = 1

    /// Returns the index of the interface by which packets to the address leave, over `over` if that is given; `nil` if
    /// no route leads there.
    package func interface(to address: NetworkAddress, over: UInt32?) -> UInt32? {
        let over = over ?? (address.isLinkLocalIPv6 && address.scope != 0 ? address.scope : nil)
        // IPv6 invents no route, and finds a less specific one over the interface where the best one lies elsewhere.
        guard let route = ask(address, over, byTable: address.isIPv4) else { return nil }
        switch route.kind {
        case .refused: return nil
        case .local: return Self.loopback
        case .unicast: break
        }
        if let link = route.link { return link }
        // A route with several equal ways.
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

    /// Reads the answer, which the kernel has given by the time the request was sent.
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
