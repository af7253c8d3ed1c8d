internal import CTestShims
internal import Glibc
internal import Synchronization

/// A network of its own, with none but a loopback interface that is down, for as long as this lives. Takes root.
package final class NetworkNamespace: Sendable {
    package let name: String
    private let ipCommand: Binary

    private static let count = Atomic<Int>(0)

    package init() throws {
        name = "transfer-run-\(getpid())-\(Self.count.add(1, ordering: .relaxed).newValue)"
        ipCommand = try Binary(program: "/sbin/ip")
        try run(["netns", "add", name])
    }

    deinit { _ = try? ipCommand.run("netns", "del", name) }

    /// `ip WORDS` in it.
    package func ip(_ words: String) throws {
        try run(["-n", name] + words.split(separator: " ").map { String($0) })
    }

    private func run(_ words: [String]) throws {
        let result = try ipCommand.run(arguments: words)
        guard result.exitStatus == 0 else {
            throw Refused(description: "ip \(words.joined(separator: " ")): \(result.errorText)")
        }
    }

    /// A pair of interfaces, one of which stands for the other end of a cable.
    package func addCable(_ name: String) throws {
        try ip("link add \(name) type veth peer name \(Self.far(name))")
    }

    package static func far(_ name: String) -> String { "far-\(name)" }

    /// Plugs it in at both ends.
    package func plug(_ name: String, _ address: String) throws {
        try ip("address add \(address) dev \(name)")
        try ip("link set \(name) up")
        try ip("link set \(Self.far(name)) up")
    }

    private struct Refused: Error, CustomStringConvertible { let description: String }

    /// Runs there, on a thread of its own; so do the threads and sockets that are made by it.
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

    /// Before a command that is to run there.
    package var wrapper: [String] { ["/sbin/ip", "netns", "exec", name] }

    /// Whether this user may make one; says why not.
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
