import Diagnostics
import JobLoader
import Records
import Synchronization
import TestSupport
import Testing
import TransferModel

/// What a job was loaded from, loaded from again.
@Suite struct RecordedInputsTests {
    private static let environment = [
        "HOME": "/home/x", "TOKEN": "s3cret", "DOTS": "../up", "BREAK": "a\r\nb", "http_proxy": "http://p.example:3128",
        "CREDENTIALS_DIRECTORY": "/creds",
    ]
    private static let files = [
        "/job/empty.txt": "", "/job/rows.csv": "name,url\na,https://example.org/a\nb\n", "/job/bad.json": "{\"a\": 1}",
        "/job/sums": "not a checksum line\n", "/job/words.txt": "one\ntwo\n", "/creds/K": "from a file\n",
    ]

    /// Everything that is said of a job, and the job to its last field.
    private func told(_ result: LoadResult) -> [String] {
        [
            DiagnosticRenderer.text(result.diagnostics.sorted(), color: false),
            DiagnosticRenderer.text(result.notBuilt, color: false),
        ] + (result.job.map { ValueLines.of($0) } ?? ["no job"])
    }

    /// Loads, records, writes, reads, and loads once more with nothing else at hand.
    private func expectSame(
        _ source: SourceText, _ outside: Resources, _ options: LoadOptions = LoadOptions()
    ) throws {
        let plain = told(JobLoader.load(source, options: options, resources: outside))
        let recorder = InputRecorder(outside)
        let first = told(JobLoader.load(source, options: options, resources: recorder.resources))
        #expect(first == plain, "\(source.name)")
        let bytes = recorder.recorded(source, options: options).encoded()
        let again = try RecordedInputs(bytes)
        #expect(told(again.load()) == plain, "\(source.name)")
        #expect(again.encoded() == bytes, "\(source.name)")
    }

    @Test func everyGoldenIsTheSameJobAgain() throws {
        for name in GoldenTests.names {
            let bytes = try #require(Files.read("\(GoldenTests.folder)/\(name).yaml"))
            let outside = world(environment: Self.environment, files: Self.files)
            try expectSame(SourceText(name: "/job/\(name).yaml", bytes: bytes), outside)
        }
    }

    @Test func everyExampleIsTheSameJobAgain() throws {
        let examples = "\(Files.root)/examples"
        let names = Files.names(in: examples).filter { Files.read("\(examples)/\($0)/\($0).transfer.yaml") != nil }
        #expect(names.count >= 20)
        for name in names {
            let folder = "\(examples)/\(name)"
            let outside = Resources(
                environment: { $0 == "HOME" ? "/home/x" : nil },
                readFile: { path, _ in Files.read(path).map { .success($0) } ?? .failure(.notFound) },
                listFiles: { root, _ in
                    .success(Files.names(in: root).filter { !$0.hasPrefix(".") }.map { Array($0.utf8) })
                },
                workingDirectory: folder)
            let bytes = try #require(Files.read("\(folder)/\(name).transfer.yaml"))
            try expectSame(SourceText(name: "\(folder)/\(name).transfer.yaml", bytes: bytes), outside)
        }
    }

    @Test func whatTheCommandLineAddsIsRecorded() throws {
        let text = """
            variables: { a: 1, b: x }
            secrets: { K: { file: key.txt }, FROM_FILE: {}, CREDENTIAL: {} }
            tasks:
              - { id: a, url: "https://example.org/${a}/${b}/${c}", headers: { X: "${secret.K}${secret.FROM_FILE}" } }
            """
        let outside = world(
            environment: ["CREDENTIALS_DIRECTORY": "/creds"],
            files: [
                "/else/key.txt": "k", "/here/more.yaml": "c: 3\n", "/here/s.env": "FROM_FILE=f\n",
                "/creds/CREDENTIAL": "c",
            ])
        let options = LoadOptions(
            directory: "/else", set: [("a", "2"), ("b", "é"), ("a", "3")], variablesFile: "more.yaml",
            secretsFile: "s.env")
        let source = SourceText(name: "/job/j.yaml", bytes: Array(text.utf8))
        try expectSame(source, outside, options)
        let job = try #require(JobLoader.load(source, options: options, resources: outside).job)
        #expect(job.tasks[0].location.url?.text == "https://example.org/3/%C3%A9/3")
    }

    /// A file that changes between two questions is one file all the same, then and later.
    @Test func whoAsksTwiceHearsTheSame() throws {
        let asked = Mutex(0)
        let next: @Sendable () -> Int = {
            asked.withLock {
                $0 += 1
                return $0
            }
        }
        let outside = Resources(
            environment: { _ in "\(next())" }, readFile: { _, _ in .success(Array("\(next())".utf8)) },
            listFiles: { _, _ in .success([Array("\(next())".utf8)]) }, workingDirectory: "/w")
        func answers(_ resources: Resources) throws -> [String] {
            [
                "\(try resources.environment("A") ?? "")", "\(resources.readFile("/f", 9))",
                "\(resources.listFiles("/d", 2))",
            ]
        }
        let recorder = InputRecorder(outside)
        let first = try answers(recorder.resources)
        #expect(try answers(recorder.resources) == first)
        let recording = recorder.recorded(SourceText(name: "-", bytes: []), options: LoadOptions())
        #expect(try answers(recording.resources) == first)
        #expect(try answers(RecordedInputs(recording.encoded()).resources) == first)
        #expect(asked.withLock { $0 } == 3)
        #expect(recorder.resources.readFile("/f", 10) != recorder.resources.readFile("/f", 9))
    }

    @Test func whatWasNotAskedIsNotThere() throws {
        let outside = world(environment: ["A": "a", "B": "b"], files: ["/f": "f", "/g": "g"])
        let recorder = InputRecorder(outside)
        _ = try recorder.resources.environment("A")
        _ = try recorder.resources.environment("NONE")
        _ = recorder.resources.readFile("/f", 9)
        let recording = try RecordedInputs(
            recorder.recorded(SourceText(name: "-", bytes: []), options: LoadOptions()).encoded())
        #expect(try recording.resources.environment("A") == "a")
        #expect(try recording.resources.environment("B") == nil)
        #expect(try recording.resources.environment("NONE") == nil)
        #expect(recording.resources.readFile("/f", 9) == .success(Array("f".utf8)))
        #expect(recording.resources.readFile("/g", 9) == .failure(.notFound))
        #expect(recording.resources.listFiles("/", 9) == .failure(.notFound))
        #expect(recording.resources.workingDirectory == "/here")
    }

    /// A name that is no text, and that the pattern leaves out, is recorded all the same.
    @Test func namesThatAreNoTextComeBack() throws {
        let stray: [UInt8] = [0x61, 0xFF]
        let outside = Resources(
            environment: { name throws(NotText) in
                if name == "X" { throw NotText(stray) }
                return nil
            }, readFile: { _, _ in .failure(.notFound) },
            listFiles: { _, _ in .success([stray, Array("b.csv".utf8)]) }, workingDirectory: "/job")
        func source(_ pattern: String, _ value: String) -> SourceText {
            let text = "tasks: [{ id: '${f.name}', forEach: { f: { files: '\(pattern)' } }, url: '\(value)', to: x }]"
            return SourceText(name: "/job/j.yaml", bytes: Array(text.utf8))
        }
        try expectSame(source("*.csv", "https://example.org/"), outside)
        let result = JobLoader.load(source("*.csv", "https://example.org/"), options: LoadOptions(), resources: outside)
        #expect(result.job?.tasks.map(\.id) == ["b.csv"])
        let all = JobLoader.load(source("*", "https://example.org/"), options: LoadOptions(), resources: outside)
        #expect(all.diagnostics.sorted().map(\.message) == ["the name of `a\\xff` is not UTF-8 text"])
        let named = JobLoader.load(source("*.csv", "https://${env.X:-d}/"), options: LoadOptions(), resources: outside)
        #expect(named.diagnostics.sorted().map(\.message) == ["the value of `${env.X}` is not UTF-8 text"])
    }

    @Test func everyProblemComesBack() throws {
        let problems: [FileProblem] = [
            .notFound, .notRegular, .tooLarge(limit: 7), .notAllowed, .failed("Permission denied"),
        ]
        let outside = Resources(
            environment: { _ in nil }, readFile: { path, _ in .failure(problems[path.utf8.count - 1]) },
            listFiles: { path, _ in .failure(problems[path.utf8.count - 1]) }, workingDirectory: "/")
        let recorder = InputRecorder(outside)
        let paths = ["/", "/2", "/23", "/234", "/2345"]
        for path in paths {
            _ = recorder.resources.readFile(path, 1)
            _ = recorder.resources.listFiles(path, 1)
        }
        let recording = try RecordedInputs(
            recorder.recorded(SourceText(name: "-", bytes: []), options: LoadOptions()).encoded())
        for (path, problem) in zip(paths, problems) {
            #expect(recording.resources.readFile(path, 1) == .failure(problem))
            #expect(recording.resources.listFiles(path, 1) == .failure(problem))
        }
    }

    /// Whatever the bytes are, they are a recording or an error.
    @Test func changedBytesNeverEndTheProgram() throws {
        var random = Seeded("changedBytesNeverEndTheProgram")
        let recorder = InputRecorder(world(environment: Self.environment, files: Self.files))
        _ = try recorder.resources.environment("TOKEN")
        for path in Self.files.keys { _ = recorder.resources.readFile(path, 100) }
        _ = recorder.resources.listFiles("/job", 3)
        let whole = recorder.recorded(
            SourceText(name: "/job/j.yaml", bytes: Array(task().utf8)), options: LoadOptions(set: [("a", "b")])
        ).encoded()
        for count in 0..<whole.count {
            #expect(throws: RecordProblem.self) { try RecordedInputs(Array(whole.prefix(count))) }
        }
        for _ in 0..<Rounds.scaled(2_000) {
            var bytes = whole
            for _ in 0...random.below(4) { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
            if let recording = try? RecordedInputs(bytes) { _ = recording.encoded() }
        }
    }
}
