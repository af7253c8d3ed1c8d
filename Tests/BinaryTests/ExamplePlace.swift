import TestSupport
import Testing

/// The examples with their site in a folder of their own, and a server for them.
final class ExamplePlace {
    let stage: Stage
    let server: ScriptedServer
    /// What `local-service.transfer.yaml` asks.
    let service: ScriptedServer
    let socket: String
    private let sockets: TemporaryTree
    private static let examples = "\(Binary.packageRoot)/examples"

    init(_ given: Stage? = nil) throws {
        stage = try given ?? Stage()
        server = try ScriptedServer()
        sockets = try TemporaryTree()
        socket = sockets.path("service.sock")
        service = try ScriptedServer(unixSocket: socket)
        server.on("/search", .respond(200, headers: [("Content-Type", "application/json")], body: "[]"))
        server.on("/subscriptions", .respond(201))
        server.on("/builds", .respond(201, headers: [("Content-Type", "application/json")], body: "{}"))
        for name in ["manual", "app-linux-amd64", "app-linux-arm64"] {
            server.on("PUT /builds/2026.11/\(name).txt", .respond(201))
        }
        server.on("PUT /builds/album.txt", .respond(201))
        for file in try Self.list("site") {
            let bytes = try TemporaryTree.bytes(at: "\(Self.examples)/site/\(file)")
            try stage.folder.write("site/\(file)", bytes)
            var resource = ServedResource(bytes)
            if file.hasSuffix(".json") { resource.contentType = "application/json" }
            server.serve("/\(file)", resource)
            service.serve("/\(file)", resource)
        }
        // The files of all examples side by side: no two have the same name but for README.md.
        for file in try Self.list("") where !file.hasPrefix("site/") && !file.hasSuffix("README.md") {
            guard let slash = file.firstIndex(of: "/") else { continue }
            let name = String(file[file.index(after: slash)...])
            try stage.folder.write(name, TemporaryTree.bytes(at: "\(Self.examples)/\(file)"))
        }
    }

    deinit {
        server.stop()
        service.stop()
    }

    /// Regular files below a folder of the examples.
    private static func list(_ folder: String) throws -> [String] {
        let found = try Binary(program: "/usr/bin/find").run(
            "\(examples)/\(folder)", "-type", "f", "-printf", "%P\\n")
        return found.outputText.split(separator: "\n").map { String($0) }.sorted()
    }

    /// What `signed-in.transfer.yaml` signs in to.
    func answerSignIn() {
        server.on("/account/session") { request in
            guard request.header("Authorization") == "Basic cm9ib3Q6b3Blbi1zZXNhbWU=" else {
                return .respond(401, headers: [("WWW-Authenticate", "Basic realm=\"shop\"")], body: "who?")
            }
            return [.send("HTTP/1.1 204 No Content\r\nSet-Cookie: session=opened; Max-Age=3600\r\n\r\n")]
        }
        server.on("/account/prices.json") { request in
            guard request.header("Cookie") == "session=opened" else { return .respond(403, body: "sign in first") }
            return .respond(
                200, headers: [("Content-Type", "application/json"), ("Cache-Control", "max-age=600")],
                body: "{}")
        }
    }

    /// `change` makes another job of the example's text.
    func run(
        _ example: String, near: String = "", environment: [String: String] = [:],
        changed change: (String) -> String = { $0 }, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> Stage.Run {
        let job = try change(stage.text("\(example).transfer.yaml"))
        let address = "127.0.0.1:\(server.port)"
        let values = [
            "site=\(server.origin)", "store=\(server.origin)", "near=\(near)", "socket=\(socket)", "old=\(address)",
            "new=\(address)",
        ]
        let options = values.filter { job.contains("${\($0.prefix { $0 != "=" })}") }.flatMap { ["--set", $0] }
        let program = try stage.start(job, options, environment: environment)
        return try stage.finish(program, sourceLocation: sourceLocation)
    }

    func expectSame(_ file: String, as served: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let same = try stage.folder.bytes(file) == stage.folder.bytes("site/\(served)")
        #expect(same, "\(file) is not site/\(served)", sourceLocation: sourceLocation)
    }
}
