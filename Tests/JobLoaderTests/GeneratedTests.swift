import JobLoader
import Testing

/// The schema and the reference are written by the table; what lies in the repository must be that.
struct GeneratedTests {
    @Test(arguments: ["schemas/jobs.schema.json", "docs/job-file.md"])
    func fileIsWhatTheTableWrites(path: String) {
        let wanted = path.hasSuffix(".json") ? JobSchema.json() : Array(JobReference.markdown().utf8)
        let file = "\(Files.root)/\(path)"
        if Files.isRecording {
            #expect(Files.write(wanted, to: file))
            Issue.record("recorded \(path): run again without TRANSFER_RUN_RECORD")
            return
        }
        #expect(Files.read(file) == wanted, "TRANSFER_RUN_RECORD=1 writes \(path) anew")
    }

    @Test func schemaIsWholeJSON() throws {
        let text = String(decoding: JobSchema.json(), as: UTF8.self)
        #expect(text.contains("\"maximumConnectionsPerHost\""))
        #expect(!text.contains("\"$ref\": \"#/$defs/\""))
    }
}
