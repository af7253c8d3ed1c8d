import Glibc
import SystemIO
import TestSupport
import Testing

struct LocalSocketTests {
    private struct Nobody: Error {}

    /// A folder whose path leaves no room for a name in a socket's address.
    static let longName = String(repeating: "long/", count: 40) + "end"

    @Test(arguments: ["short", longName]) func speaksUnderAnyPath(name: String) throws {
        let tree = try TemporaryTree()
        let path = tree.path(name)
        let folder = try PrivateFolder.make(path)
        let listener = try LocalSocket.listen("a.socket", in: folder, at: path)
        #expect(tree.list(name) == ["a.socket"])
        #expect(tree.mode("\(name)/a.socket") == 0o600)
        #expect(try isQuiet(listener))

        let client = try LocalSocket.connect("a.socket", in: folder, at: path)
        guard let caller = try LocalSocket.accept(listener) else { throw Nobody() }
        #expect(caller.user == geteuid())
        #expect(try LocalSocket.receive(caller.socket) == nil)
        #expect(try LocalSocket.send([1, 2, 3], client) == 3)
        #expect(try LocalSocket.receive(caller.socket) == [1, 2, 3])
    }

    private func isQuiet(_ listener: borrowing Descriptor) throws -> Bool {
        guard try LocalSocket.accept(listener) == nil else { return false }
        return true
    }

    @Test func endsAreSeenAndNeverWaitedFor() throws {
        let tree = try TemporaryTree()
        let folder = try Descriptor.openFolder(tree.path)
        let listener = try LocalSocket.listen("a", in: folder, at: tree.path)
        do {
            let client = try LocalSocket.connect("a", in: folder, at: tree.path)
            guard let caller = try LocalSocket.accept(listener) else { throw Nobody() }
            // Nobody reads: at some point nothing more goes out, and that is no error.
            let piece = [UInt8](repeating: 7, count: 1 << 20)
            while try LocalSocket.send(piece[...], caller.socket) > 0 {}
            _ = consume client
            #expect(throws: SystemError(call: "write", errno: EPIPE)) {
                try LocalSocket.send(piece[...], caller.socket)
            }
        }
        let left = try LocalSocket.connect("a", in: folder, at: tree.path)
        guard let caller = try LocalSocket.accept(listener) else { throw Nobody() }
        _ = consume left
        #expect(try LocalSocket.receive(caller.socket) == [])
    }

    @Test func replacesWhatADeadProcessLeft() throws {
        let tree = try TemporaryTree()
        let folder = try Descriptor.openFolder(tree.path)
        do { _ = try LocalSocket.listen("a", in: folder, at: tree.path) }
        #expect(throws: SystemError(call: "connect", errno: ECONNREFUSED)) {
            _ = try LocalSocket.connect("a", in: folder, at: tree.path)
        }
        // As if it had died between its two names.
        try folder.rename("a", to: ".a")
        do { _ = try LocalSocket.listen("a", in: folder, at: tree.path) }
        let listener = try LocalSocket.listen("a", in: folder, at: tree.path)
        _ = try LocalSocket.connect("a", in: folder, at: tree.path)
        #expect(tree.list() == ["a"])
        _ = consume listener
    }

    @Test func saysWhyItCannot() throws {
        let tree = try TemporaryTree()
        try tree.makeFolder("gone")
        let folder = try Descriptor.openFolder(tree.path("gone"))
        tree.remove("gone")
        #expect(throws: SystemError(call: "bind", errno: ENOENT)) {
            _ = try LocalSocket.listen("a", in: folder, at: tree.path("gone"))
        }
        try tree.makeFolder("taken/a/full")
        let taken = try Descriptor.openFolder(tree.path("taken"))
        // A folder cannot be replaced by a socket, and nothing stays of the attempt.
        #expect(throws: SystemError.self) { _ = try LocalSocket.listen("a", in: taken, at: tree.path("taken")) }
        #expect(tree.list("taken") == ["a/", "a/full/"])
    }
}
