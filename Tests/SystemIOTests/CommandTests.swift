import Glibc
import SystemIO
import TestSupport
import Testing
import TransferModel

/// Programs that behave, and programs that do not.
struct CommandTests {
    /// As the program does when it starts.
    init() { signal(SIGPIPE, SIG_IGN) }

    private func run(
        _ words: String..., input: [UInt8] = [], limit: Int = 1 << 24, timeout: TimeSpan? = .seconds(60),
        change: (inout Command) -> Void = { _ in }
    ) throws -> (result: Command.Result, output: String) {
        var command = Command(words)
        command.timeout = timeout
        change(&command)
        let (result, output) = try command.run(input: input, limit: limit)
        return (result, String(decoding: output, as: UTF8.self))
    }

    @Test func whatItWritesIsTaken() throws {
        let (result, output) = try run("printf", "%s|", "a b", "$HOME", "*")
        #expect(result.ending == .exited(0) && output == "a b|$HOME|*|")
        let (failed, _) = try run("sh", "-c", "echo no >&2; exit 7")
        #expect(failed.ending == .exited(7) && failed.errors == "no\n")
        #expect(try run("sh", "-c", "kill -9 $$").result.ending == .killed(signal: SIGKILL))
    }

    /// Both ways at once, more than pipes hold.
    @Test func bothWaysAtOnce() throws {
        let bytes = Script.patternBytes(3 << 20)
        let (result, output) = try Command(["cat"]).run(input: bytes, limit: 4 << 20)
        #expect(result.ending == .exited(0) && output == bytes)
    }

    @Test func oneThatDoesNotReadIsContent() throws {
        let (result, output) = try run("echo", "enough", input: Script.patternBytes(1 << 20))
        #expect(result.ending == .exited(0) && output == "enough\n")
    }

    @Test func surroundings() throws {
        let tree = try TemporaryTree()
        let (_, output) = try run("sh", "-c", "echo $A; pwd; ulimit -c >/dev/null; ls /proc/self/fd | wc -l") {
            $0.environment = ["A=b c", "PATH=/usr/bin:/bin"].map { RawName($0) }
            $0.folder = tree.path
        }
        // Its three streams and the folder that `ls` reads.
        #expect(output.split(separator: "\n") == ["b c", tree.path[...], "4"])
    }

    /// Signals that this process ignores or holds back are its own affair.
    @Test func signalsAreAsTheyWere() throws {
        #expect(try run("sh", "-c", "kill -PIPE $$; echo alive").result.ending == .killed(signal: SIGPIPE))
    }

    /// Only what other programs may give back is waited for.
    @Test func aStartThatCannotSucceedIsNotTriedAgain() {
        let began = Clocks.instant()
        let error = #expect(throws: SystemError.self) {
            try run("/no/such/program") { $0.startPatience = .seconds(600) }
        }
        #expect(error?.isOfProcessLimit == false && Clocks.instant() - began < .seconds(60))
        #expect(SystemError(call: "posix_spawn", errno: EAGAIN).isOfProcessLimit)
        #expect(DescriptorLimit.shortage == nil)
    }

    @Test func whatIsNotThereIsAnError() {
        let error = #expect(throws: SystemError.self) { try run("/no/such/program") }
        #expect(error?.errno == ENOENT)
        #expect(throws: SystemError.self) { try run("no-such-program-anywhere") }
        #expect(throws: SystemError.self) { try run("true") { $0.folder = "/no/such/folder" } }
        #expect(throws: SystemError.self) { try Command([]).run(limit: 1) }
    }

    @Test func tooMuchEndsIt() throws {
        #expect(try run("yes", limit: 1 << 16).result.ending == .cancelled)
    }

    @Test func whatTakesTooLongEnds() throws {
        #expect(try run("sleep", "100", timeout: .milliseconds(50)).result.ending == .timedOut)
        // With all that it started, and without being asked twice.
        let tree = try TemporaryTree()
        let script =
            "trap '' TERM; (trap '' TERM; while :; do sleep 1; done) & echo $! > \(tree.path("pid")); wait; wait"
        #expect(try run("sh", "-c", script, timeout: .milliseconds(500)).result.ending == .timedOut)
        let child = try #require(Int32(tree.text("pid").filter { $0 != "\n" }))
        #expect(happens { !CurrentProcess.processExists(child) || isZombie(child) })
    }

    /// Nobody may be there who takes an orphan's end away.
    private func isZombie(_ process: Int32) -> Bool {
        (try? TemporaryTree.bytes(at: "/proc/\(process)/stat")).map {
            String(decoding: $0, as: UTF8.self).contains(") Z ")
        } ?? true
    }

    @Test func anotherThreadEndsIt() throws {
        let cancellation = try Command.Cancellation()
        let thread = try Thread(named: "cancel") {
            usleep(50_000)
            cancellation.cancel()
        }
        let (result, _) = try Command(["sleep", "100"]).run(limit: 1, cancellation: cancellation)
        thread.join()
        #expect(result.ending == .cancelled)
    }

    /// A program's daemon may keep the stream open for ever.
    @Test func itsEndIsTheEnd() throws {
        let (result, output) = try run("sh", "-c", "sleep 30 & echo said; echo $!")
        #expect(result.ending == .exited(0) && output.hasPrefix("said\n"))
        if let left = Int32(output.split(separator: "\n").last ?? "") { kill(left, SIGKILL) }
    }

    /// Unless all that is written is wanted: then whoever holds the stream may still write.
    @Test func theEndOfItsOutputIsTheEnd() throws {
        var output: [UInt8] = []
        let command = Command(["sh", "-c", "(sleep 0.3; echo rest) & echo said; exit 4"])
        let result = try command.run(awaitsWholeOutput: true) { bytes in
            output += bytes
            return true
        }
        #expect(result.ending == .exited(4) && String(decoding: output, as: UTF8.self) == "said\nrest\n")
    }

    /// What still holds the stream when nobody wants more of it is ended too.
    @Test func whatItStartedIsEndedWithIt() throws {
        let cancellation = try Command.Cancellation()
        var output: [UInt8] = []
        let command = Command(["sh", "-c", "sleep 100 & echo $!"])
        let result = try command.run(cancellation: cancellation, awaitsWholeOutput: true) { bytes in
            output += bytes
            cancellation.cancel()
            return true
        }
        #expect(result.ending == .cancelled)
        let left = try #require(Int32(String(decoding: output, as: UTF8.self).dropLast()))
        #expect(happens { !CurrentProcess.processExists(left) || isZombie(left) })
    }

    @Test func onlyTheEndOfItsErrorsIsKept() throws {
        let script = "i=0; while [ $i -lt 20000 ]; do echo line-$i >&2; i=$((i+1)); done"
        var told = 0
        let result = try Command(["sh", "-c", script]).run(takeErrors: { told += $0.count }) { _ in true }
        #expect(told == (0..<20000).reduce(0) { $0 + "line-\($1)\n".utf8.count })
        #expect(result.errors.hasSuffix("line-19999\n") && result.errors.utf8.count <= 16 << 10)
    }

    @Test func nothingIsLeftOpen() throws {
        let before = openDescriptors()
        for _ in 0..<100 {
            _ = try run("true")
            _ = try? run("/no/such/program")
        }
        // Other tests open and close files meanwhile: a leak would be 200 at least.
        #expect(openDescriptors() < before + 150)
    }

    private func openDescriptors() -> Int {
        (0..<1024).count { fcntl(Int32($0), F_GETFD) != -1 }
    }
}
