import TestSupport
import Testing

/// Servers that nobody here wrote, where they are installed.
@Suite struct ForeignLoginTests {
    @Test(arguments: LoginServer.Kind.allCases.filter(\.isInstalled)) func letIn(_ kind: LoginServer.Kind) throws {
        let server = try LoginServer(kind)
        let stage = try Stage()
        let run = try stage.run(
            """
            sessions: { default: { configuration: ephemeral, credentials: [{ user: Aladdin, password: open sesame }] } }
            tasks:
              - { id: first, url: "\(server.url("file?q=%20x"))", to: first }
              - { id: second, needs: [first], url: "\(server.url("file"))", to: second }
              - { id: wrong, needs: [second], url: "\(server.url("file"))", to: wrong, allowFailure: true,
                  credentials: [{ user: Aladdin, password: shut sesame }] }
            """)
        #expect(run.status == 0)
        #expect(try stage.text("second") == "let in\n")
        #expect(try run.values("$.tasks[0].challenges[*].disposition") == ["use"])
        #expect(try run.values("$.tasks[1].attempts[0].transactions[*]").count == 1)
        #expect(try run.values("$.tasks[2].challenges[*].disposition") == ["use", "default"])
    }
}
