/// A client machine that several networks join to one server, each machine in a network namespace: pairs of virtual
/// interfaces, named by the test at the client's end. Needs root and iproute2.
///
///     let world = try NetworkWorld(["wlp1s0", "wwp2s0"])
///     let server = try world.scriptedServer()
///     let run = try stage.run(job, under: world.client)
///
/// The server has one address, `NetworkWorld.server`, to which every network leads; the system prefers the first one
/// named. The server sees the client as `world.address(of: name)`.
package final class NetworkWorld: Sendable {
    /// Address of the server.
    package static let server = "10.88.0.1"
    /// Whether this user may make network namespaces.
    package static var isAllowed: Bool { NetworkNamespace.isAllowed }
    private let names: [String]
    private let here: NetworkNamespace
    private let there: NetworkNamespace

    package init(_ names: [String]) throws {
        self.names = names
        (here, there) = (try NetworkNamespace(), try NetworkNamespace())
        for space in [here, there] { try space.ip("link set lo up") }
        try there.ip("address add \(Self.server)/32 dev lo")
        for name in names {
            try here.ip("link add \(name) type veth peer name far-\(name) netns \(there.name)")
            try there.ip("address add \(gateway(of: name))/24 dev far-\(name)")
            try here.ip("address add \(address(of: name))/24 dev \(name)")
            try plug(name)
            try bringUp(name)
        }
    }

    /// The words that run a command on the client's machine when they precede it.
    package var client: [String] { here.wrapper }

    /// Returns the client's first address in the network `name`.
    package func address(of name: String) -> String { "10.77.\(place(name)).2" }
    private func gateway(of name: String) -> String { "10.77.\(place(name)).1" }
    private func place(_ name: String) -> Int { (names.firstIndex(of: name) ?? 0) + 1 }

    /// Starts a server at the server's address.
    package func scriptedServer(
        tls: TLSOptions? = nil, _ handler: ScriptedServer.Handler? = nil
    ) throws -> ScriptedServer {
        try there.inside { try ScriptedServer(tls: tls, at: Self.server, handler: handler) }
    }

    /// Starts a server on the client's own machine.
    package func localServer(
        at address: String = "127.0.0.1", _ handler: ScriptedServer.Handler? = nil
    ) throws -> ScriptedServer {
        try here.inside { try ScriptedServer(at: address, handler: handler) }
    }

    /// Pulls the cable of a network; its addresses and routes stay.
    package func unplug(_ name: String) throws { try there.ip("link set far-\(name) down") }
    /// Plugs the cable of a network in again.
    package func plug(_ name: String) throws { try there.ip("link set far-\(name) up") }

    /// Switches a network's interface off; its routes are lost.
    package func takeDown(_ name: String) throws { try here.ip("link set \(name) down") }
    /// Switches a network's interface on and adds its route again.
    package func bringUp(_ name: String) throws {
        try here.ip("link set \(name) up")
        try addRoute(name)
    }

    /// Adds the route to the server through a network; networks named earlier have the smaller metric.
    package func addRoute(_ name: String) throws {
        try here.ip("route replace \(Self.server)/32 via \(gateway(of: name)) metric \(place(name) * 100)")
    }
    /// Removes the route to the server through a network.
    package func removeRoute(_ name: String) throws { try here.ip("route delete \(Self.server)/32 dev \(name)") }

    /// Replaces the client's address in a network, and adds the route again.
    package func renumber(_ name: String) throws {
        try here.ip("address delete \(address(of: name))/24 dev \(name)")
        try here.ip("address add 10.77.\(place(name)).3/24 dev \(name)")
        try addRoute(name)
    }
}
