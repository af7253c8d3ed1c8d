import TestSupport
import Testing

/// Downloads whose `to` is a folder: the name comes from the answer or the URL.
@Suite struct FolderTests {
    @Test func theServerNamesTheFileInsideTheFolderOnly() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let disposition = [("Content-Disposition", "attachment; filename=\"../../evil.txt\"")]
        server.on("/named", .respond(200, headers: disposition, body: "named"))
        server.on("/dir/plain.bin", .respond(200, body: "plain"))
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - { id: named, url: "\(server.url("/named"))", to: out/ }
              - { id: plain, url: "\(server.url("/dir/plain.bin"))", to: out/ }
            """)
        #expect(run.status == 0)
        #expect(try stage.text("out/evil.txt") == "named")
        #expect(try stage.text("out/plain.bin") == "plain")
    }

    @Test func twoTasksNeverSucceedWithOneFile() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let disposition = [("Content-Disposition", "attachment; filename=same.txt")]
        server.on("/first", .respond(200, headers: disposition, body: "first"))
        server.on("/second", .respond(200, headers: disposition, body: "second"))
        let stage = try Stage()
        let run = try stage.run(
            """
            tasks:
              - { id: first, url: "\(server.url("/first"))", to: out/ }
              - { id: second, needs: [first], url: "\(server.url("/second"))", to: out/ }
              - { id: fixed, url: "data:,fixed", to: out/fixed.txt }
            """)
        #expect(run.status == 1)
        #expect(try run.task("first", "outcome") == "succeeded")
        #expect(try run.task("second", "error.name") == "destinationExists")
        #expect(try stage.text("out/same.txt") == "first")
        #expect(try stage.text("out/fixed.txt") == "fixed")
    }
}
