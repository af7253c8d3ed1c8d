import Glibc
import TestSupport
import Testing

@testable import SystemIO

struct ReadinessTests {
    @Test func tellsWhoIsReadyAndForWhat() throws {
        let tree = try TemporaryTree()
        let folder = try Descriptor.openFolder(tree.path)
        let listener = try LocalSocket.listen("a", in: folder, at: tree.path)
        let set = try ReadinessSet()
        try set.add(listener.raw, tag: 7, reading: true, writing: false)
        #expect(set.wait(milliseconds: 0).isEmpty)
        let client = try LocalSocket.connect("a", in: folder, at: tree.path)
        #expect(set.wait(milliseconds: -1) == [.init(tag: 7, canRead: true, canWrite: false)])
        guard let caller = try LocalSocket.accept(listener) else { throw SystemFailure("accept") }
        set.remove(listener.raw)
        try set.add(caller.socket.raw, tag: .max, reading: true, writing: false)
        #expect(set.wait(milliseconds: 0).isEmpty)
        try set.change(caller.socket.raw, tag: .max, reading: true, writing: true)
        #expect(set.wait(milliseconds: 0) == [.init(tag: .max, canRead: false, canWrite: true)])
        _ = try LocalSocket.send([1], client)
        try set.change(caller.socket.raw, tag: .max, reading: true, writing: false)
        // Level-triggered: as long as something is there.
        for _ in 0..<2 { #expect(set.wait(milliseconds: 0) == [.init(tag: .max, canRead: true, canWrite: false)]) }
        // An end is told to whoever waits for nothing.
        try set.change(caller.socket.raw, tag: .max, reading: false, writing: false)
        #expect(set.wait(milliseconds: 0).isEmpty)
        _ = consume client
        #expect(set.wait(milliseconds: 0) == [.init(tag: .max, canRead: true, canWrite: true)])
        set.remove(caller.socket.raw)
        #expect(throws: SystemError(call: "epoll_ctl", errno: ENOENT)) {
            try set.change(caller.socket.raw, tag: 1, reading: true, writing: false)
        }
        #expect(throws: SystemError(call: "epoll_ctl", errno: EBADF)) {
            try set.add(-1, tag: 1, reading: true, writing: false)
        }
    }

    @Test func processesApartEndByThemselves() throws {
        let tree = try TemporaryTree()
        let log = try Descriptor.open(tree.path("log"), O_WRONLY | O_CREAT | O_APPEND, mode: 0o600)
        let script = "echo lost; pwd >&2; echo \"$WORD\" >&2; ls /proc/self/fd | wc -l >&2; exit 7"
        let process = try DetachedProcess(
            "/bin/sh", words: ["sh", "-c", script], environment: ["WORD=w", "PATH=/bin:/usr/bin"].map { RawName($0) },
            errors: log)
        var entries = [process.end]
        Polling.wait(&entries, milliseconds: 20_000)
        #expect(process.hasEnded)
        #expect(process.reap() == .exited(7))
        // Its three streams, and what `ls` itself has open.
        #expect(try tree.text("log") == "/\nw\n4\n")
        #expect(throws: SystemError(call: "/nowhere", errno: ENOENT)) {
            _ = try DetachedProcess("/nowhere", words: ["x"], environment: [], errors: log)
        }
        let left = try DetachedProcess("/bin/true", words: ["true"], environment: [], errors: log)
        left.release()
        // No zombie stays.
        #expect(happens { !CurrentProcess.processExists(left.number) })
    }

    @Test func descriptorLimitsAreRaisedAndNeverLowered() {
        let now = DescriptorLimit.raise(to: 1)
        #expect(now > 1)
        #expect(DescriptorLimit.raise(to: now) == now)
    }

    /// The last descriptors are not for transfers: a quarter of few, and no more than is kept of many.
    @Test func transfersLeaveDescriptorsFree() {
        #expect(DescriptorLimit.allowsTransfer(47, keeping: 32, of: 64))
        #expect(!DescriptorLimit.allowsTransfer(48, keeping: 32, of: 64))
        #expect(DescriptorLimit.allowsTransfer(991, keeping: 32, of: 1024))
        #expect(!DescriptorLimit.allowsTransfer(992, keeping: 32, of: 1024))
    }
}
