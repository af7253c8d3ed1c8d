import Glibc
import SystemIO
import TestSupport
import Testing
import TransferModel

/// What the pages for readers show is what the program does: their commands are run, their jobs are checked.
@Suite struct DocumentationTests {
    /// Pages of which every `console` block is run: the README, the tutorial, the guides, those for users of other
    /// programs, and those of the examples.
    static let pagesToRun = list(
        "README.md docs/tutorial.md docs/guides/*.md docs/coming-from/*.md examples/*/README.md")
    static let allPages = list("README.md examples/README.md examples/*/README.md $(find docs -name '*.md')")

    @Test func thePagesAreFound() {
        #expect(Self.pagesToRun.count >= 12 && Self.pagesToRun.contains("docs/coming-from/curl.md"))
        #expect(Self.allPages.count > Self.pagesToRun.count && Self.allPages.contains("docs/job-file.md"))
    }

    @Test(arguments: pagesToRun) func commandsDoWhatThePageShows(_ page: String) throws {
        let reader = try PageReader()
        for block in try Self.blocks(of: page) {
            if let name = block.name { try reader.write(name, block.text) }
            guard block.language == "console" else { continue }
            let commands = block.commands
            if commands.isEmpty { Self.record("a console block without a command", page, block.line) }
            for command in commands {
                let (ending, output) = try reader.run(command.text)
                if ending != .exit(command.status) {
                    Self.record(
                        "ended with \(ending), the page says \(command.status):\n\(command.text)\n\(output)", page,
                        command.line)
                }
                if let difference = ShownOutput.difference(shown: command.output, real: output) {
                    Self.record("another output:\n\(command.text)\n\(difference)", page, command.line)
                }
            }
        }
    }

    /// Files that the reader of a page has, and that its jobs name.
    private static let filesAtHand = [
        "docs/coming-from/rclone.md": ["releases/app.txt": "an app"],
        "docs/guides/background-uploads.md": ["videos/part-1.bin": "a film"],
        "docs/guides/ci-artefacts.md": ["dist/app.txt": "an app"],
        "docs/job-file.md": ["files.csv": "name,url\na.txt,https://example.org/a.txt\n"],
        "docs/uploads.md": ["Pictures/2026/harbour.jpg": "a picture"],
    ]

    @Test(arguments: allPages) func jobsPassTheCheck(_ page: String) throws {
        let program = try Binary()
        for (name, text) in Self.filesAtHand[page] ?? [:] { try program.folder.write(name, text) }
        for block in try Self.blocks(of: page) where block.isWholeJob {
            try program.folder.write("page.transfer.yaml", block.text)
            let result = try program.run("check", "page.transfer.yaml")
            guard result.exitStatus != 0 else { continue }
            Self.record("`check` refuses this job: \(result.errorText)", page, block.line)
        }
    }

    /// Paths relative to the package of the files that a shell's patterns match.
    private static func list(_ patterns: String) -> [String] {
        let command = "cd '\(Binary.packageRoot)' && ls -1 \(patterns) 2>/dev/null"
        let found = try? Binary(program: "/bin/sh").run("-c", command)
        return (found?.outputText ?? "").split(separator: "\n").map { String($0) }
    }

    private static func blocks(of page: String) throws -> [FencedBlock] {
        let bytes = try TemporaryTree.bytes(at: "\(Binary.packageRoot)/\(page)")
        return FencedBlock.blocks(in: String(decoding: bytes, as: UTF8.self))
    }

    /// Fails the test at a line of a page.
    private static func record(_ what: String, _ page: String, _ line: Int) {
        let place = SourceLocation(
            fileID: "documentation/\(page)", filePath: "\(Binary.packageRoot)/\(page)", line: line, column: 1)
        Issue.record("\(page):\(line): \(what)", sourceLocation: place)
    }
}

/// Does what the reader of a page does: writes its files into one folder and runs its commands there, in a shell whose
/// variables and working folder last from one command to the next. `examples` lies in that folder, and the server of
/// the examples is up.
private final class PageReader {
    /// Names of the examples' server, which is at port 8080 on every page.
    private static let hosts = ["127.0.0.1", "localhost"]

    private let shell: Binary
    private let python: Binary
    private let server: RunningProgram
    private let port: Substring

    init() throws {
        shell = try Binary(program: "/bin/sh")
        let examples = "\(Binary.packageRoot)/examples"
        try shell.home.makeFolder("bin")
        try shell.home.link("bin/transfer-run", to: Binary.locate())
        python = try Binary(program: "/usr/bin/env")
        server = try python.start(
            ["python3", "\(examples)/server.py", "\(examples)/site"], timeout: .seconds(600))
        #expect(server.waitForOutput("\n"), "the examples' server does not start: \(server.errorOutputSoFar)")
        port = server.outputSoFar.prefix { $0 != "\n" }
        _ = try shell.run("-c", "cp -R '\(examples)' examples")
    }

    deinit {
        endBackgroundProcess()
        server.send(signal: SIGTERM)
        _ = server.wait()
    }

    /// Writes a file of the page, a script as one that can be run.
    func write(_ name: String, _ text: String) throws {
        let text = withRealPort(text)
        try shell.folder.write(name, text, mode: text.hasPrefix("#!") ? 0o755 : 0o644)
    }

    /// Runs a command and returns what a terminal shows of it, as a page shows it: the server at its address there, the
    /// folders as those of a user.
    func run(_ command: String) throws -> (ending: Binary.Result.Ending, output: String) {
        let script = """
            exec 2>&1
            [ -r "$HOME/.shell" ] && . "$HOME/.shell"
            \(withRealPort(command))
            status=$?
            { export -p; echo "cd '$PWD'"; } >"$HOME/.shell"
            exit $status
            """
        let path = "\(shell.home.path("bin")):/usr/local/bin:/usr/bin:/bin"
        let result = try shell.run("-c", script, environment: ["PATH": path])
        let output = Self.hosts.reduce(result.outputText) {
            $0.replacing("\($1):\(port)", with: "\($1):8080").replacing("\($1) port \(port)", with: "\($1) port 8080")
        }
        .replacing(shell.folder.path, with: "/home/me/jobs").replacing(shell.home.path, with: "/home/me")
        return (result.ending, output)
    }

    private func withRealPort(_ text: String) -> String {
        Self.hosts.reduce(text) { $0.replacing("\($1):8080", with: "\($1):\(port)") }
    }

    /// Ends the process of the page's background sessions, if there is one.
    private func endBackgroundProcess() {
        guard let file = try? WholeFile.open(shell.home.path("state/transfer-run/background.lock")),
            let process = LockTable.holder(of: file)
        else { return }
        kill(process, SIGTERM)
        waitUntil { LockTable.holder(of: file) != process }
    }
}
