import TestSupport
import Testing

/// Values that headers give: by an expression, and links.
@Suite struct HeaderCaptureTests {
    @Test func linksAndParts_areCaptured() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on(
            "/list",
            .respond(
                200,
                headers: [
                    ("Link", "</list?page=2>; rel=\"next\", <https://example.org/x>; rel=last"),
                    ("X-Total", "of 42 items"), ("X-Total", "none"),
                ], body: "[]"))
        server.on("/list?page=2", .respond(200, body: "second"))
        server.on("/item/42", .respond(200, body: "item"))
        let run = try Stage().run(
            """
            tasks:
              - id: list
                url: "\(server.url("/list"))"
                capture: { next: { link: NEXT }, count: { header: X-Total, regex: "([0-9]+) items" } }
              - { id: page, url: "${raw:tasks.list.next}" }
              - { id: item, url: "\(server.url("/item/"))${tasks.list.count}" }
            """)
        #expect(run.status == 0)
        #expect(try run.task("list", "captures.next") == server.url("/list?page=2"))
        #expect(try run.task("list", "captures.count") == "42")
        #expect(try run.task("page", "body.text") == "second")
        #expect(try run.task("item", "body.text") == "item")
    }

    @Test func whatIsNotThere_isSaid() throws {
        let server = try ScriptedServer { _ in .respond(200, headers: [("X-A", "none"), ("Link", "<b>; rel=prev")]) }
        defer { server.stop() }
        let run = try Stage().run(
            """
            defaults: { allowFailure: true }
            tasks:
              - { id: link, url: "\(server.url("/"))", capture: { n: { link: next } } }
              - { id: regex, url: "\(server.url("/"))", capture: { n: { header: X-A, regex: "[0-9]+" } } }
              - { id: header, url: "\(server.url("/"))", capture: { n: { header: X-B, regex: "[0-9]+" } } }
            """)
        #expect(
            try run.task("link", "error.message")?.hasSuffix("the answer has no `Link` of the relation `next`") == true)
        #expect(
            try run.task("regex", "error.message")?.hasSuffix("`[0-9]+` matches nothing in the header `x-a`") == true)
        #expect(try run.task("header", "error.message")?.hasSuffix("the answer has no header `x-b`") == true)
    }

    /// The header that it stood in does not tell it either.
    @Test func aSecretInAHeader_isHiddenThere() throws {
        let server = try ScriptedServer { _ in
            .respond(200, headers: [("X-Auth", "token=hunter2222; path=/"), ("Link", "</s3cret-place>; rel=next")])
        }
        defer { server.stop() }
        let run = try Stage().run(
            """
            tasks:
              - id: t
                url: "\(server.url("/"))"
                capture: { a: { header: X-Auth, regex: "token=([a-z0-9]+)", secret: true }, b: { link: next, secret: true } }
            """)
        #expect(run.status == 0)
        #expect(
            !"\(run.report)\(run.events)".contains("hunter2222")
                && !"\(run.report)\(run.events)".contains("s3cret-place"))
        #expect("\(run.report)".contains("token=***"))
    }
}
