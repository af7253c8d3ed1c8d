import Diagnostics
import JobLoader
import TestSupport
import Testing

/// Wrong files and what is said of them: `NAME.yaml` and `NAME.txt`.
struct GoldenTests {
    static let folder = "\(Files.root)/Tests/Goldens"
    static let names = Files.names(in: folder).filter { $0.hasSuffix(".yaml") }.map { String($0.dropLast(5)) }

    private static let files = [
        "/job/empty.txt": "", "/job/rows.csv": "name,url\na,https://example.org/a\nb\n", "/job/bad.json": "{\"a\": 1}",
        "/job/sums": "not a checksum line\n", "/job/words.txt": "one\ntwo\n",
        "/job/minisign.pub": MinisignSample.keyFile,
    ]

    static func render(_ name: String, _ bytes: [UInt8]) -> String {
        let resources = world(
            environment: ["HOME": "/home/x", "TOKEN": "s3cret", "DOTS": "../up", "BREAK": "a\r\nb"], files: files)
        let source = SourceText(name: "/job/\(name).yaml", bytes: bytes)
        let result = JobLoader.load(source, options: LoadOptions(), resources: resources)
        let text = DiagnosticRenderer.text(result.diagnostics.sorted(), color: false)
        let later = DiagnosticRenderer.text(result.notBuilt, color: false)
        return text + (later.isEmpty ? "" : "--- to run it:\n" + later)
    }

    @Test func thereAreMany() { #expect(Self.names.count >= 80) }

    @Test(arguments: names)
    func saysWhatItSaid(name: String) throws {
        let bytes = try #require(Files.read("\(Self.folder)/\(name).yaml"))
        let text = Self.render(name, bytes)
        let file = "\(Self.folder)/\(name).txt"
        if Files.isRecording {
            #expect(Files.write(Array(text.utf8), to: file))
            Issue.record("recorded \(name): run again without TRANSFER_RUN_RECORD")
            return
        }
        let recorded = try #require(Files.read(file), "no \(name).txt: TRANSFER_RUN_RECORD=1 writes it")
        #expect(text == String(decoding: recorded, as: UTF8.self))
    }
}
