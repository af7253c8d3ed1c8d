import BackgroundService
import Diagnostics
import Glibc
import JobLoader
import JobRunner
import Stores
import SystemIO
import TestSupport
import Testing
import TransferModel

/// Real runs in a journal, a process that carries them, and a server. The process goes with this object.
final class CarriedStage {
    let tree: TemporaryTree
    let server: ScriptedServer
    let place: ServicePlace
    private let folder: StateFolder
    private let directory: String
    private let journal: Journal
    private var process: RunningProgram?

    init() throws {
        tree = try TemporaryTree("carried")
        server = try ScriptedServer()
        directory = try tree.makeFolder("state", mode: 0o700)
        folder = try StateFolder(directory: directory, workingDirectory: "/") { _ in nil }
        place = ServicePlace(folder)
        journal = try Journal.open(folder: folder.state)
    }

    deinit {
        if let process {
            process.send(signal: SIGTERM)
            _ = process.wait()
        }
        server.stop()
    }

    /// A download of a file that the server holds back until the gate of that name opens; `nil` for none.
    func task(_ id: String, gate: String? = nil, more: String = "") -> String {
        server.on("/\(id)") { _ in (gate.map { [.gate($0)] } ?? []) + .respond(200, body: id) }
        return "{ id: '\(id)', url: '\(server.url("/\(id)"))', to: '\(id)'\(more) }"
    }

    static func identifier(_ name: String) -> String { "org.example.\(name)" }

    /// Hands a job over as `--detach` does.
    @discardableResult
    func hand(_ name: String, _ tasks: String..., more: String = "") throws -> RunID {
        try hand(name, tasks, more: more)
    }

    func hand(_ name: String, _ tasks: [String], more: String = "") throws -> RunID {
        let text = """
            name: \(name)
            sessions:
              s: { configuration: background, identifier: \(Self.identifier(name)), discretionary: false\(more) }
            defaults: { session: s }
            tasks: [\(tasks.joined(separator: ", "))]
            """
        let source = SourceText(name: "\(name).yaml", bytes: Array(text.utf8))
        let recorder = InputRecorder(.nothing(workingDirectory: tree.path))
        let options = LoadOptions(directory: tree.path)
        let loaded = JobLoader.load(source, options: options, resources: recorder.resources)
        let job = try #require(loaded.job, "\(loaded.diagnostics.sorted().map(\.message))")
        var recipe = RunRecipe(recorder.recorded(source, options: options), sha256: nil, delivery: name)
        recipe.isDetached = true
        let run = AcceptedRun(
            identifiers: [Self.identifier(name)], job: name, file: "\(name).yaml", folder: tree.path,
            report: tree.path("\(name).json"), createdAt: Clocks.wall())
        return try Handover(folder).perform(run, recipe, JobSplit(job).background).run
    }

    // MARK: The process

    /// Starts it. `wrapper` is a command that is given the program and its arguments.
    func start(runs: Int = 16, under wrapper: [String] = []) throws {
        process = try Binary(in: tree, program: ServiceStarterTests.program).start(
            ["daemon", "--carry", "--runs", "\(runs)", "--state-dir", directory], under: wrapper)
        try waitUntil { (try? self.link()) != nil }
    }

    func link() throws(ServiceFailure) -> ServiceLink {
        try ServiceLink.connect(place, version: "0.0.1", patience: .seconds(20))
    }

    /// Says that the journal has something new.
    func ring() throws { _ = try link().ask(.ring(nil)) }

    /// What each session of the process is held up by.
    func troubles() throws -> [String: String] {
        guard case .status(let all) = try link().ask(.status(nil)) else { return [:] }
        return Dictionary(uniqueKeysWithValues: all.compactMap { one in one.trouble.map { (one.identifier, $0) } })
    }

    /// What the process has open, but for what makes the list.
    var open: [String] {
        let folder = "/proc/\(process?.processID ?? 0)/fd"
        return Folders.names(in: folder).compactMap { name in
            var text = [CChar](repeating: 0, count: 4096)
            let count = readlink("\(folder)/\(name)", &text, text.count)
            return count > 0 ? String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
        }
    }

    /// The number of runs that have threads.
    var carried: Int {
        let folder = "/proc/\(process?.processID ?? 0)/task"
        return Folders.names(in: folder).count { thread in
            let name = try? WholeFile.read("\(folder)/\(thread)/comm", limit: 64)
            return name.map { String(decoding: $0, as: UTF8.self).hasPrefix("run ") } ?? false
        }
    }

    var threads: Int { Folders.names(in: "/proc/\(process?.processID ?? 0)/task").count }

    // MARK: The journal

    /// Waits until these runs have ended and nobody need be told, and returns their exit statuses.
    func end(of runs: [RunID]) throws -> [Int?] {
        // What cannot be written for want of descriptors is tried again, in the end once a minute.
        let deadline = Clocks.instant() + .seconds(300)
        while try !runs.allSatisfy({ try journal.run($0)?.deliveredAt != nil }) {
            guard Clocks.instant() < deadline else { throw ServiceTrouble("a run did not end") }
            Polling.sleep(milliseconds: 10)
        }
        return try runs.map { try journal.run($0)?.end?.exitStatus }
    }

    func events(of run: RunID) throws -> [Event.Kind] {
        try journal.events(of: run, after: 0, limit: 100_000).map(\.kind)
    }
}
