internal import CTestShims
internal import Glibc

/// A machine of its own (a network namespace) that several networks join to one server (another): pairs of virtual
/// interfaces, named as the test says at the client's end. Takes root and iproute2.
///
///     let world = try NetworkWorld(["wlp1s0", "wwp2s0"])
///     let server = try world.server()
///     let run = try stage.run(job, under: world.client)
///
/// The server has one address, `NetworkWorld.server`, to which every network leads: the first one named is the one the
/// system prefers. From the client's end it sees `world.address(of: name)`.
package final class NetworkWorld: Sendable {
    package static let server = "10.88.0.1"
    private let names: [String]
    private let clientSpace: String
    private let serverSpace: String
    private static let count = Monitor(0)

    package init(_ names: [String]) throws {
        self.names = names
        let number = Self.count.with {
            $0 += 1
            return $0
        }
        clientSpace = "tr-\(getpid())-\(number)-c"
        serverSpace = "tr-\(getpid())-\(number)-s"
        try Self.ip("netns", "add", clientSpace)
        try Self.ip("netns", "add", serverSpace)
        for space in [clientSpace, serverSpace] { try Self.ip("-n", space, "link", "set", "lo", "up") }
        try Self.ip("-n", serverSpace, "address", "add", "\(Self.server)/32", "dev", "lo")
        for name in names {
            try Self.ip(
                "link", "add", name, "netns", clientSpace, "type", "veth", "peer", "name", "s-\(name)", "netns",
                serverSpace)
            try Self.ip("-n", serverSpace, "address", "add", "\(gateway(of: name))/24", "dev", "s-\(name)")
            try Self.ip("-n", clientSpace, "address", "add", "\(address(of: name))/24", "dev", name)
            try plug(name)
            try bringUp(name)
        }
    }

    deinit {
        for space in [clientSpace, serverSpace] { try? Self.ip("netns", "delete", space) }
    }

    /// What runs a command on the client's machine.
    package var client: [String] { ["/bin/ip", "netns", "exec", clientSpace] }

    package func address(of name: String) -> String { "10.77.\(place(name)).2" }
    private func gateway(of name: String) -> String { "10.77.\(place(name)).1" }
    private func place(_ name: String) -> Int { (names.firstIndex(of: name) ?? 0) + 1 }

    package func scriptedServer(_ handler: ScriptedServer.Handler? = nil) throws -> ScriptedServer {
        try within(serverSpace) { try ScriptedServer(at: Self.server, handler: handler) }
    }

    /// Of the client's machine itself.
    package func localServer(_ handler: ScriptedServer.Handler? = nil) throws -> ScriptedServer {
        try within(clientSpace) { try ScriptedServer(handler: handler) }
    }

    // MARK: What happens to it

    /// The cable out and in again: addresses and routes stay.
    package func unplug(_ name: String) throws { try Self.ip("-n", serverSpace, "link", "set", "s-\(name)", "down") }
    package func plug(_ name: String) throws { try Self.ip("-n", serverSpace, "link", "set", "s-\(name)", "up") }

    /// Switched off and on: routes go with it.
    package func takeDown(_ name: String) throws { try Self.ip("-n", clientSpace, "link", "set", name, "down") }
    package func bringUp(_ name: String) throws {
        try Self.ip("-n", clientSpace, "link", "set", name, "up")
        try Self.ip(
            "-n", clientSpace, "route", "replace", "\(Self.server)/32", "via", gateway(of: name), "metric",
            "\(place(name) * 100)")
    }

    /// Another address in the place of the one it had.
    package func renumber(_ name: String) throws {
        try Self.ip("-n", clientSpace, "address", "delete", "\(address(of: name))/24", "dev", name)
        try Self.ip("-n", clientSpace, "address", "add", "10.77.\(place(name)).3/24", "dev", name)
        try bringUp(name)
    }

    /// As `ip` is told it on the client's machine.
    package func configure(_ words: String...) throws { try Self.ip(["-n", clientSpace] + words) }

    // MARK: Doing

    /// Sockets that `body` opens belong to the space for as long as they live.
    private func within<Result>(_ space: String, _ body: () throws -> Result) throws -> Result {
        let home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)
        let there = open("/run/netns/\(space)", O_RDONLY | O_CLOEXEC)
        defer {
            close(home)
            close(there)
        }
        guard home >= 0, there >= 0, tr_test_enter_network(there) == 0 else { throw SystemFailure("enter \(space)") }
        defer { precondition(tr_test_enter_network(home) == 0, "a thread was left in another network") }
        return try body()
    }

    private static func ip(_ words: String...) throws { try ip(words) }
    private static func ip(_ words: [String]) throws {
        let result = try Binary(program: "/bin/ip").run(arguments: words)
        guard result.exitStatus == 0 else {
            throw Refused(description: "ip \(words.joined(separator: " ")): \(result.errorText)")
        }
    }

    private struct Refused: Error, CustomStringConvertible { let description: String }

    /// For `.enabled(if:)`: whether this user may make networks; says why not.
    package static let isAllowed: Bool = {
        do {
            _ = try NetworkWorld(["enp1s0"])
            return true
        } catch {
            print("skipped: networks of a test's own cannot be made here: \(error)")
            return false
        }
    }()
}
