/// A machine that several networks join to one server, each in a namespace of its own: pairs of virtual interfaces, named
/// as the test says at the client's end. Takes root and iproute2.
///
///     let world = try NetworkWorld(["wlp1s0", "wwp2s0"])
///     let server = try world.scriptedServer()
///     let run = try stage.run(job, under: world.client)
///
/// The server has one address, `NetworkWorld.server`, to which every network leads: the first one named is the one that
/// the system prefers. From the client's end it sees `world.address(of: name)`.
package final class NetworkWorld: Sendable {
    package static let server = "10.88.0.1"
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

    /// What runs a command on the client's machine.
    package var client: [String] { here.wrapper }

    package func address(of name: String) -> String { "10.77.\(place(name)).2" }
    private func gateway(of name: String) -> String { "10.77.\(place(name)).1" }
    private func place(_ name: String) -> Int { (names.firstIndex(of: name) ?? 0) + 1 }

    package func scriptedServer(
        tls: TLSOptions? = nil, _ handler: ScriptedServer.Handler? = nil
    ) throws -> ScriptedServer {
        try there.inside { try ScriptedServer(tls: tls, at: Self.server, handler: handler) }
    }

    /// Of the client's machine itself.
    package func localServer(
        at address: String = "127.0.0.1", _ handler: ScriptedServer.Handler? = nil
    ) throws -> ScriptedServer {
        try here.inside { try ScriptedServer(at: address, handler: handler) }
    }

    /// The cable out and in again: addresses and routes stay.
    package func unplug(_ name: String) throws { try there.ip("link set far-\(name) down") }
    package func plug(_ name: String) throws { try there.ip("link set far-\(name) up") }

    /// Switched off and on: routes go with it.
    package func takeDown(_ name: String) throws { try here.ip("link set \(name) down") }
    package func bringUp(_ name: String) throws {
        try here.ip("link set \(name) up")
        try addRoute(name)
    }

    package func addRoute(_ name: String) throws {
        try here.ip("route replace \(Self.server)/32 via \(gateway(of: name)) metric \(place(name) * 100)")
    }
    package func removeRoute(_ name: String) throws { try here.ip("route delete \(Self.server)/32 dev \(name)") }

    /// Another address in the place of the one it had.
    package func renumber(_ name: String) throws {
        try here.ip("address delete \(address(of: name))/24 dev \(name)")
        try here.ip("address add 10.77.\(place(name)).3/24 dev \(name)")
        try addRoute(name)
    }
}
