internal import CTestShims
internal import Glibc
internal import Synchronization

/// A network namespace for the lifetime of this object, with only a loopback interface that is down. Needs root.
package final class NetworkNamespace: Sendable {
    /// Name of the namespace, as `ip netns` knows it.
    package let name: String
    private let ipCommand: Binary

    private static let count = Atomic<Int>(0)

    package init() throws {
        name = "transfer-run-\(getpid())-\(Self.count.add(1, ordering: .relaxed).newValue)"
        ipCommand = try Binary(program: "/sbin/ip")
        try run(["netns", "add", name])
    }

    deinit { _ = try? ipCommand.run("netns", "del", name) }

    /// Runs `ip WORDS` in the namespace.
    package func ip(_ words: String) throws {
        try run(["-n", name] + words.split(separator: " ").map { String($0) })
    }

    private func run(_ words: [String]) throws {
        let result = try ipCommand.run(arguments: words)
        guard result.exitStatus == 0 else {
            throw Refused(description: "ip \(words.joined(separator: " ")): \(result.errorText)")
        }
    }

    /// Adds a pair of virtual interfaces, of which `far-NAME` stands for the other end of a cable.
    package func addCable(_ name: String) throws {
        try ip("link add \(name) type veth peer name \(Self.far(name))")
    }

    /// Name of the other end of a cable.
    package static func far(_ name: String) -> String { "far-\(name)" }

    /// Gives the interface an address and brings both ends up.
    package func plug(_ name: String, _ address: String) throws {
        try ip("address add \(address) dev \(name)")
        try ip("link set \(name) up")
        try ip("link set \(Self.far(name)) up")
    }

    private struct Refused: Error, CustomStringConvertible { let description: String }

    /// Runs `body` in the namespace, on a thread of its own; threads and sockets made by `body` belong to the namespace
    /// too.
    package func inside<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) throws -> Result {
        let outcome = Monitor<Swift.Result<Result, any Error>?>(nil)
        let path = "/run/netns/\(name)"
        let thread = try TestThread {
            let result = Swift.Result {
                let space = open(path, O_RDONLY | O_CLOEXEC)
                defer { close(space) }
                guard space >= 0, tr_test_enter_network(space) == 0 else { throw SystemFailure("enter \(path)") }
                return try body()
            }
            outcome.with { $0 = result }
        }
        thread.join()
        return try outcome.wait { $0 }!.get()
    }

    /// The words that run a command in the namespace when they precede it.
    package var wrapper: [String] { ["/sbin/ip", "netns", "exec", name] }

    /// Whether this user may make a namespace; prints why not.
    package static let isAllowed: Bool = {
        do {
            try NetworkNamespace().addCable("enp3s0")
            return true
        } catch {
            print("skipped: what changing networks would show, because none can be made here: \(error)")
            return false
        }
    }()
}
