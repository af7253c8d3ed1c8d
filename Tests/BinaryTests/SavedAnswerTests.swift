import TestSupport
import Testing

/// Answers to uploads that are saved, and bodies of a GET.
@Suite struct SavedAnswerTests {
    @Test func theAnswerToAnUpload_becomesTheFile() throws {
        let server = try ScriptedServer { request in .respond(200, body: "got " + request.bodyText) }
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("sent", "a letter")
        let run = try stage.run(
            """
            tasks:
              - { id: file, type: upload, url: "\(server.url("/c"))", body: { file: sent }, to: out/answer }
              - { id: pipe, type: upload, url: "\(server.url("/c"))", body: { data: x }, to: "-" }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try stage.text("out/answer") == "got a letter")
        #expect(run.result.outputText == "got x")
        #expect(try run.task("file", "file.path") == "out/answer" && run.task("file", "type") == "upload")
        #expect(try run.task("file", "becameDownload") == "false")
    }

    @Test func anAnswerThatIsNotWanted_leavesTheFileThatIsThere() throws {
        let server = try ScriptedServer { _ in .respond(422, body: "no") }
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("answer", "old")
        let run = try stage.run(
            "tasks: [{ id: t, type: upload, url: \"\(server.url("/c"))\", body: { data: x }, to: answer }]")
        #expect(run.status == 1)
        #expect(try stage.text("answer") == "old" && stage.files == ["answer"])
    }

    @Test func aGetWithABody_isSentAsItIsWritten() throws {
        let server = try ScriptedServer { request in .respond(200, body: request.method + " " + request.bodyText) }
        defer { server.stop() }
        let run = try Stage().run(
            "tasks: [{ id: t, url: \"\(server.url("/search"))\", method: GET, body: { json: { query: all } } }]")
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try run.task("t", "body.text") == #"GET {"query":"all"}"#)
        #expect(server.requests("/search").first?.header("Content-Type") == "application/json")
    }
}
