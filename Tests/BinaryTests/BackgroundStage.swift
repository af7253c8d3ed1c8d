import Glibc
import SystemIO
import TestSupport
import Testing
import TextFormats
import TransferModel

/// A home with a background process of its own, which goes with this object.
final class BackgroundStage {
    let stage: Stage
    let server: ScriptedServer
    private var state: String { stage.binary.home.path("state/transfer-run") }

    init(_ stage: Stage? = nil, _ server: ScriptedServer? = nil) throws {
        self.stage = try stage ?? Stage()
        self.server = try server ?? ScriptedServer()
    }

    deinit {
        endProcess(signal: SIGTERM)
        server.stop()
    }

    // MARK: The process

    /// The number of the one that is there.
    var process: Int32? {
        guard let file = try? WholeFile.open("\(state)/background.lock") else { return nil }
        return LockTable.holder(of: file)
    }

    /// Ends it, if it is there, and returns when it is gone.
    func endProcess(signal: Int32) {
        guard let process else { return }
        kill(process, signal)
        waitUntil("process \(process) ends") { self.process != process }
    }

    @discardableResult
    func waitUntil(_ what: String, _ condition: () throws -> Bool) rethrows -> Bool {
        let start = Clocks.instant()
        while Clocks.instant() - start < .seconds(30) {
            if try condition() { return true }
            usleep(10_000)
        }
        Issue.record("for 30 seconds it did not come about that \(what)")
        return false
    }

    // MARK: Jobs

    static let identifier = "org.example.nightly"

    /// A job of one background session.
    func job(
        _ tasks: String..., name: String = "nightly", identifier: String = BackgroundStage.identifier, more: String = ""
    ) -> String {
        """
        name: \(name)
        sessions: { s: { configuration: background, identifier: \(identifier)\(more) } }
        tasks: [\(tasks.joined(separator: ", "))]
        """
    }

    func task(_ id: String, _ more: String = "") -> String {
        "{ id: \(id), url: \"\(server.url("/\(id)"))\", to: \(id)\(more) }"
    }

    /// 200 KiB, of which half come at once and the rest when its gate opens.
    func serveHalves(_ id: String) -> [UInt8] {
        let body = Script.patternBytes(200 << 10)
        let head = Script.head(200, [("Content-Length", "\(body.count)")])
        server.on("/\(id)") { _ in
            Script([
                .bytes(head), .bytes(Array(body.prefix(100 << 10))), .gate(id),
                .bytes(Array(body.dropFirst(100 << 10))),
            ])
        }
        return body
    }

    /// Hands a job over and leaves it.
    func detach(_ job: String, _ words: String...) throws -> Binary.Result {
        try stage.folder.write(Stage.jobFile, job)
        return try stage.binary.run(arguments: [Stage.jobFile, "--detach"] + words)
    }

    func run(_ words: String...) throws -> Binary.Result { try stage.binary.run(arguments: words) }

    // MARK: Status

    func status(_ path: String, of identifier: String? = nil) throws -> [String?] {
        let result = try stage.binary.run(arguments: ["status", "--json"] + (identifier.map { [$0] } ?? []))
        #expect(result.exitStatus == 0 && result.errorOutput.isEmpty, "\(result.errorText)")
        return try JSONPath(path).select(from: JSONParser.parse(result.output)).map { $0.plainText }
    }

    @discardableResult
    func waitFor(_ path: String, _ value: String?) throws -> Bool {
        var found: [String?] = []
        let isMet = try waitUntil("\(path) is \(value ?? "null")") {
            found = try status(path)
            return found == [value]
        }
        if !isMet { print("\(path) was \(found)") }
        return isMet
    }

    /// What the background process wrote.
    func report(_ name: String = "job.report.json") throws -> JSONValue {
        try JSONParser.parse(stage.folder.bytes(name))
    }

    func waitForReport(_ name: String = "job.report.json") {
        waitUntil("\(name) is there") { stage.folder.exists(name) && (try? report(name)) != nil }
    }
}
