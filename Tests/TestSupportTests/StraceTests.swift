import TestSupport
import Testing

@Suite struct StraceTests {
    @Test func momentsAreCountedForEachThread() {
        let trace = """
            7 openat(AT_FDCWD, "lib", O_RDONLY) = 3
            7 openat(AT_FDCWD, "job.yaml", O_RDONLY) = 3
            8 write(4, "a", 1 <unfinished ...>
            7 openat(AT_FDCWD, "b", O_RDONLY) = 5
            8 <... write resumed>) = 1
            8 openat(AT_FDCWD, "c", O_RDONLY) = 6
            8 write(4, "b(", 2) = 2
            7 write(5, "c", 1) = 1
            7 --- SIGCHLD {si_signo=SIGCHLD} ---
            7 +++ exited with 0 +++
            """
        let moments = Strace.moments(of: trace, from: "job.yaml").map(\.description)
        #expect(moments == ["openat 2", "write 1", "openat 3", "write 2"])
    }

    @Test(.enabled(if: Strace.isUsable)) func itStrikesWhereItIsTold() throws {
        let shell = try Binary(program: "/bin/sh")
        let kill = Strace([.init("mkdir", .kill), .init("mkdirat", .kill)])
        let words = kill.command(calls: ["mkdir", "mkdirat"])
        let killed = try shell.start(["-c", "mkdir a b"], under: words).wait()
        #expect(killed.ending != .exit(0) && shell.folder.list().isEmpty)
        let denied = Strace([.init("mkdir", .error("EROFS")), .init("mkdirat", .error("EROFS"))], paths: ["b"])
        let result = try shell.start(["-c", "mkdir a b"], under: denied.command(calls: ["mkdir", "mkdirat"])).wait()
        #expect(result.errorText.contains("Read-only file system") && shell.folder.list() == ["a/"])
    }
}
