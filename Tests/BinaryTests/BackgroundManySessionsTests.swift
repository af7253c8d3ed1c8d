import TestSupport
import Testing
import TextFormats
import TransferModel

/// More sessions than the background process carries at a time, and more files than it may open.
@Suite struct BackgroundManySessionsTests {
    private let background: BackgroundStage

    init() throws { background = try BackgroundStage() }

    private func gated(_ id: String) -> String {
        background.server.on("/\(id)") { _ in [.gate("all")] + .respond(200, body: id) }
        return background.task(id)
    }

    private func identifier(_ number: Int) -> String { "org.example.n\(number)" }

    /// Hands over so many jobs, each with these tasks, and leaves them.
    private func detach(_ jobs: Int, tasks: Int, under wrapper: [String] = []) throws {
        for number in 0..<jobs {
            let file = "n\(number).yaml"
            let names = (0..<tasks).map { gated("f\(number)-\($0)") }.joined(separator: ", ")
            try background.stage.folder.write(
                file,
                background.job(
                    names, name: "n\(number)", identifier: identifier(number),
                    more: ", maximumConnectionsPerHost: 60"))
            let result = try background.stage.binary.start([file, "--detach"], under: wrapper).wait()
            #expect(result.exitStatus == 0, "\(result.errorText)")
        }
    }

    private func outcomes(_ jobs: Int) throws -> [String?] {
        try (0..<jobs).flatMap { number in
            background.waitForReport("n\(number).report.json")
            return try JSONPath("$.tasks[*].outcome").select(from: background.report("n\(number).report.json"))
                .map { $0.plainText }
        }
    }

    /// `status` says behind how many others a session waits for its turn; all come to their end.
    @Test func sixteenAreCarriedAtATime() throws {
        try detach(18, tasks: 1)
        let words = "it waits for its turn behind 17 others: no more than 16 runs are carried at a time"
        try background.waitUntil("the last waits for its turn") {
            try background.status("$.sessions[*].trouble", of: identifier(17)) == [words]
        }
        let shown = try background.run("status", identifier(16)).outputText
        #expect(shown.contains("    it waits for its turn behind 16 others: "), "\(shown)")
        background.server.open(gate: "all")
        #expect(try outcomes(18) == Array(repeating: "succeeded", count: 18))
    }

    /// With few descriptors few tasks run at a time, and the log says so.
    @Test func fewDescriptors_meanFewTasksAtATime() throws {
        try detach(1, tasks: 60, under: ["/usr/bin/prlimit", "--nofile=64:64"])
        #expect(background.server.waitForRequests(2))
        background.server.open(gate: "all")
        #expect(try outcomes(1) == Array(repeating: "succeeded", count: 60))
        let attempts = try JSONPath("$.totals.attempts").select(from: background.report("n0.report.json"))
        #expect(attempts.first?.plainText == "60")
        let log = try background.stage.binary.home.text("state/transfer-run/background.log")
        let words = "2 tasks at once instead of 60: this process may not open more than 64 files (`ulimit -n`)"
        #expect(log.contains(words), "\(log)")
    }
}
