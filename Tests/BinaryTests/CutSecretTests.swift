import TestSupport
import Testing
import TextFormats

/// Messages tell the beginning of what a server sent: never that of a secret that goes on behind the cut.
@Suite struct CutSecretTests {
    private static let secret = "Sup3rS3cretValue-0123456789-abcdefghijklmnop"

    /// What is told of the run; every one of its tasks fails.
    private func told(_ tasks: (ScriptedServer) -> [String]) throws -> String {
        let server = try ScriptedServer { request in
            let secret = request.header("X-Key") ?? ""
            let offset = Int(request.target.split(separator: "=").last ?? "") ?? 0
            let padded = String(repeating: "p", count: offset) + secret
            switch request.target.split(separator: "?").first {
            case "/header": return .respond(200, headers: [("X-Echo", padded)], body: "x")
            case "/charset":
                return .respond(200, headers: [("Content-Type", "text/plain; charset=\(padded)")], body: "x")
            case "/coding": return .respond(200, headers: [("Content-Encoding", padded)], body: "x")
            case "/length": return [.bytes(Array("HTTP/1.1 200 OK\r\nContent-Length: \(padded)\r\n\r\n".utf8)), .close]
            case "/transfer":
                return [.bytes(Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: \(padded)\r\n\r\n".utf8)), .close]
            case "/json":
                return .respond(200, body: #"{"v": "\#(padded)zzzz", "l": ["\#(secret)", "\#(padded)", "\#(secret)"]}"#)
            default: return .respond(200, headers: [("Content-Type", "text/plain")], body: padded + "zzzz")
            }
        }
        defer { server.stop() }
        let run = try Stage().run(
            """
            secrets: { KEY: { env: KEY } }
            sessions: { d: { configuration: ephemeral } }
            defaults: { headers: { X-Key: "${secret.KEY}" }, retry: { attempts: 1 } }
            tasks:
            \(tasks(server).map { "  - \($0)" }.joined(separator: "\n"))
            """, environment: ["KEY": Self.secret])
        #expect(run.status == 1, "\(run.errorText)")
        let outcomes = Set(try run.values("$.tasks[*].outcome"))
        #expect(outcomes == ["failed"], "\(run.errorText)")
        return (run.report.plainText ?? "") + run.errorText + run.events.compactMap { $0.plainText }.joined()
    }

    private func check(_ told: String, _ place: SourceLocation = #_sourceLocation) {
        #expect(!told.contains("Sup3"), "\(told.prefix(4000))", sourceLocation: place)
        // Nothing else of how it is done is seen either.
        #expect(!told.unicodeScalars.contains { (0xFDD0...0xFDD1).contains($0.value) }, sourceLocation: place)
    }

    @Test(arguments: [0, 30, 50, 60, 70, 77, 79])
    func whatIsCutInAMessageCutsNoSecret(_ offset: Int) throws {
        let told = try told { server in
            func url(_ path: String) -> String { "url: \"\(server.url("/\(path)"))?o=\(offset)\"" }
            return [
                "{ id: header, \(url("header")), expect: { headers: { X-Echo: ^q } } }",
                "{ id: charset, \(url("charset")), expect: { body: { contains: q } } }",
                "{ id: coding, \(url("coding")), to: f, decompress: true }",
                "{ id: length, \(url("length")) }",
                "{ id: transfer, \(url("transfer")) }",
                "{ id: body, \(url("body")), expect: { body: { contains: qq, matches: 'q{3}' } } }",
                "{ id: json, \(url("json")), expect: { body: { json: { $.v: q, $.l: q } } } }",
            ]
        }
        check(told)
        #expect(told.contains("***"))
    }

    /// A value that goes out as a proof is none that the report tells, however the job came by it.
    @Test func aVariableInAnAuthorizationIsNotTold() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "x") }
        defer { server.stop() }
        let run = try Stage().run(
            """
            variables: { tok: x, place: "here" }
            tasks: [{ id: a, url: "\(server.url("/a"))", headers: { Authorization: "Bearer ${tok}" } }]
            """, "--set", "tok=hunter2xyz")
        #expect(run.status == 0, "\(run.errorText)")
        #expect(server.requests().first?.header("Authorization") == "Bearer hunter2xyz")
        #expect(try run.value("$.job.variables.tok") == "***" && run.value("$.job.variables.place") == "here")
        #expect(!((run.report.plainText ?? "") + run.errorText).contains("hunter2"))
    }
}
