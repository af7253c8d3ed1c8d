import Glibc
import TestSupport
import Testing

/// The state folder's disk is full while the background process carries a run: whoever follows or asks is told.
@Suite(.enabled(if: MountedFolder.isAllowed)) struct BackgroundFullDiskTests {
    private let background: BackgroundStage
    private let disk: MountedFolder
    private let state: TemporaryTree

    init() throws {
        background = try BackgroundStage()
        state = background.stage.binary.home
        try state.makeFolder("state/transfer-run", mode: 0o700)
        disk = try MountedFolder.memory(at: state.path("state/transfer-run"), size: "2m,mode=700")
    }

    private func fill() {
        let file = open(state.path("state/transfer-run/filler"), O_WRONLY | O_CREAT, 0o600)
        defer { close(file) }
        let block = [UInt8](repeating: 1, count: 4096)
        while write(file, block, block.count) == block.count {}
    }

    /// `first` waits until the disk is full, and `last` until there is room again, unless the run comes to its end before.
    private func job(_ hasLast: Bool) -> String {
        let server = background.server
        for id in ["first", "last"] { server.on("/\(id)") { _ in [.gate(id)] + .respond(200, body: id) } }
        server.on("/many", .respond(200, body: "x"))
        let tasks = [
            background.task("first"),
            "{ id: 't${n}', forEach: { n: 1..100 }, url: '\(server.url("/many"))', to: 'm/${n}', needs: [first] }",
        ]
        let last = hasLast ? [background.task("last")] : []
        return """
            name: nightly
            limits: { maximumConcurrentTasks: 4 }
            sessions: { s: { configuration: background, identifier: \(BackgroundStage.identifier) } }
            tasks: [\((tasks + last).joined(separator: ", "))]
            """
    }

    private let begun = "warning: the session `\(BackgroundStage.identifier)` is held up: "
    private let over = "the session `\(BackgroundStage.identifier)` is held up no more\n"

    @Test(arguments: [true, false]) func whoFollowsIsTold(_ goesOnMeanwhile: Bool) throws {
        let program = try background.stage.start(job(goesOnMeanwhile))
        #expect(background.server.waitForRequests(1, "/first"))
        #expect(try background.status("$.sessions[*].trouble") == [nil])
        fill()
        background.server.open(gate: "first")
        #expect(program.waitForOutput("database or disk is full"))
        try background.waitUntil("status tells of it") {
            try background.status("$.sessions[*].trouble").first??.contains("disk is full") == true
        }
        let shown = try background.run("status").outputText
        #expect(shown.contains("    held up: the journal ") && shown.contains("disk is full"), "\(shown)")
        // Whoever comes to it now is told as well.
        let attached = try background.stage.binary.start(["attach", BackgroundStage.identifier, "--no-report"])
        #expect(attached.waitForOutput("database or disk is full"))
        state.remove("state/transfer-run/filler")
        if goesOnMeanwhile {
            #expect(program.waitForOutput("is held up no more"))
            #expect(try background.status("$.sessions[*].trouble") == [nil])
            background.server.open(gate: "last")
        }
        let run = try background.stage.finish(program)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(attached.wait().exitStatus == 0)
        // However often it is tried in vain, it is told once.
        #expect(run.errorText.ranges(of: begun).count == 1, "\(run.errorText)")
        #expect(run.errorText.ranges(of: over).count == 1, "\(run.errorText)")
        withExtendedLifetime(disk) {}
    }
}
