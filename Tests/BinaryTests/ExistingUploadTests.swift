import TestSupport
import Testing

/// `existing: skip` of uploads: what the server has is not sent again.
@Suite struct ExistingUploadTests {
    /// A server that keeps what it is sent.
    private final class Shelf: @unchecked Sendable {
        let server: ScriptedServer
        init() throws { server = try ScriptedServer() }
        deinit { server.stop() }

        func serve(_ count: Int, head: @escaping @Sendable (Int, Bool) -> Script) {
            for number in 0..<count {
                let server = server
                server.on("/\(number)") { request in
                    if request.method == "PUT" { return .respond(201) }
                    let isThere = server.requests("/\(number)").contains { $0.method == "PUT" }
                    return head(number, isThere)
                }
            }
        }

        func methods(_ path: String) -> [String] { server.requests(path).map(\.method) }
    }

    private func job(_ shelf: Shelf, _ count: Int, _ more: String = "") -> String {
        """
        tasks:
          - { id: "photo-${n}", forEach: { n: 0..\(count - 1) }, type: upload, method: PUT, existing: skip\(more),
              url: "\(shelf.server.url("/"))${n}", body: { file: "photo" }, retry: { attempts: 1 } }
        """
    }

    @Test func whatIsThere_isNotSentAgain() throws {
        let shelf = try Shelf()
        shelf.serve(40) { _, isThere in isThere ? .respond(200) : .respond(404) }
        let stage = try Stage()
        try stage.folder.write("photo", "light")
        let first = try stage.run(job(shelf, 40))
        #expect(first.status == 0)
        #expect(shelf.server.requests().filter { $0.method == "PUT" }.count == 40)
        #expect(shelf.server.requests("/7").last?.body == Array("light".utf8))
        let second = try stage.run(job(shelf, 40))
        #expect(second.status == 0)
        #expect(shelf.server.requests().filter { $0.method == "PUT" }.count == 40)
        #expect(shelf.server.requests().filter { $0.method == "HEAD" }.count == 80)
        #expect(try second.value("$.totals.unchanged") == "40")
        #expect(try second.task("photo-3", "source") == "unchanged")
        #expect(try second.value("$.totals.bytesSaved") == "200" && second.task("photo-3", "changed") == "false")
        #expect(second.errorText.contains("40 unchanged · 200 B not sent"))
    }

    /// The question says nothing of a body, and is no more trusted than the upload.
    @Test(arguments: [(404, true), (410, true), (405, true), (501, true), (403, false), (500, false)])
    func theAnswerToTheQuestion_decides(_ status: Int, _ isSent: Bool) throws {
        let shelf = try Shelf()
        shelf.serve(1) { _, _ in .respond(status) }
        let stage = try Stage()
        try stage.folder.write("photo", "light")
        let run = try stage.run(job(shelf, 1, ", contentType: image/png"))
        #expect(run.status == (isSent ? 0 : 1))
        #expect(shelf.methods("/0") == (isSent ? ["HEAD", "PUT"] : ["HEAD"]))
        #expect(shelf.server.requests("/0")[0].header("Content-Type") == nil)
        if isSent {
            #expect(shelf.server.requests("/0")[1].header("Content-Type") == "image/png")
        } else {
            #expect(
                try run.task("photo-0", "error.message")?.hasPrefix("HEAD \(shelf.server.url("/0")): \(status) ")
                    == true)
        }
    }

    /// What the question was redirected to is no place for the body.
    @Test func aRedirectedQuestion_leavesTheUploadWhereItWas() throws {
        let shelf = try Shelf()
        shelf.serve(2) { number, _ in number == 0 ? .respond(302, headers: [("Location", "/1")]) : .respond(404) }
        let stage = try Stage()
        try stage.folder.write("photo", "light")
        let run = try stage.run(job(shelf, 1))
        #expect(run.status == 0)
        #expect(shelf.methods("/0") == ["HEAD", "PUT"] && shelf.methods("/1") == ["HEAD"])
    }
}
