import TestSupport
import Testing
import TransferModel

@Suite struct BinaryHelperTests {
    @Test func bringsBackStreamsStatusFolderAndEnvironment() throws {
        let shell = try Binary(program: "/bin/sh")
        let result = try shell.run(
            "-c", "cat; pwd; echo \"$A $HOME\"; echo wrong >&2; exit 7", environment: ["A": "b"], input: "in\n")
        #expect(result.ending == .exit(7))
        #expect(result.outputText == "in\n\(shell.folder.path)\nb \(shell.home.path)\n")
        #expect(result.errorText == "wrong\n")
    }

    @Test func movesMuchInBothDirectionsAtOnce() throws {
        let input = String(repeating: "0123456789abcde\n", count: 100_000)
        let result = try Binary(program: "/bin/sh").run("-c", "tee /dev/stderr", input: input)
        #expect(result.outputText == input)
        #expect(result.errorText == input)
    }

    @Test func survivesAProgramThatDoesNotRead() throws {
        let input = String(repeating: "x", count: 1 << 20)
        #expect(try Binary(program: "/bin/sh").run("-c", "exit 0", input: input).exitStatus == 0)
    }

    @Test func sendsSignalsAndWaitsForOutput() throws {
        let program = try Binary(program: "/bin/sh").start(
            ["-c", "trap 'echo got; exit 3' TERM; echo ready; while :; do sleep 0.05; done"])
        #expect(program.waitForOutput("ready"))
        #expect(program.isRunning)
        #expect(program.send(signal: 15))
        let result = program.wait()
        #expect(result.ending == .exit(3))
        #expect(result.outputText == "ready\ngot\n")
        #expect(!program.send(signal: 15))
    }

    @Test func killsWhatTakesTooLong() throws {
        let result = try Binary(program: "/bin/sleep").run("600", timeout: .milliseconds(50))
        #expect(result.ending == .timedOut)
        #expect(try Binary(program: "/bin/sh").run("-c", "kill -9 $$").ending == .signal(9))
    }

    @Test func doesNotWaitForWhatAProgramLeavesBehind() throws {
        let result = try Binary(program: "/bin/sh").run("-c", "sleep 5 & echo done")
        #expect(result.outputText == "done\n")
        #expect(result.duration < .seconds(4))
    }
}
