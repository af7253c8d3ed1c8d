import TestSupport
import Testing

/// What a server sees of command lines and of the job that `import` makes of them: the same requests, byte for byte.
@Suite struct ForeignRequestTests {
    @Test func requestsOfAJob_areThoseOfItsCommandLines() throws {
        let lines = ForeignLines.carried + ForeignLines.leftOut
        #expect(ForeignLines.carried.count >= 90 && ForeignLines.leftOut.count >= 12)
        let server = try Self.server()
        defer { server.stop() }
        let script = Self.script(lines, server)
        let (typed, imported) = (try Self.place(lines, server), try Self.place(lines, server))
        try typed.folder.write("lines.sh", script)
        try imported.folder.write("lines.sh", script)

        let shell = try Binary(in: typed.folder, program: "/bin/sh")
        _ = try shell.run(arguments: ["lines.sh"], environment: Self.environment)
        let known = server.requests()
        let made = try imported.run("import", "lines.sh")
        #expect(made.exitStatus == 0, "\(made.errorText)")
        try imported.folder.write("job.yaml", made.output)
        try imported.folder.write("secrets", ForeignLines.secrets)
        let run = try imported.run(
            arguments: ["job.yaml", "--secrets-file", "secrets"], environment: Self.environment)
        #expect(run.exitStatus == 0, "\(run.errorText)")

        let ofScript = Self.byLine(known)
        let ofJob = Self.byLine(Array(server.requests().dropFirst(known.count)))
        for (index, line) in lines.enumerated() {
            let number = index + 1
            let seen = ofScript[number] ?? []
            #expect(!seen.isEmpty, "the server saw nothing of `\(line.text)`")
            #expect(line.isLeftOut ? ofJob[number] == nil : ofJob[number] == seen, "\(number): \(line.text)")
            guard line.isLeftOut else { continue }
            let place = "lines.sh:\(Self.firstLine(of: index, in: lines)): warning: "
            let isNamed = made.errorText.split(separator: "\n").contains {
                $0.hasPrefix(place) && $0.contains("left out")
            }
            #expect(isNamed, "no warning of `\(line.text)`")
        }
    }

    /// What is compared tells requests apart, and takes two with other boundaries for the same.
    @Test func requestsThatDiffer_areToldApart() throws {
        let server = try ScriptedServer { _ in .respond(200) }
        defer { server.stop() }
        let binary = try Binary(program: "/usr/bin/curl")
        let lines = [
            ["-d", "a=1"], ["-d", "a=2"], ["-d", "a=1", "-H", "X-A: b"], ["-X", "PUT", "-d", "a=1"], ["-F", "a=1"],
            ["-F", "a=1"],
            ["-F", "a=2"],
        ]
        for line in lines { _ = try binary.run(arguments: ["-s"] + line + [server.url("/1/x")]) }
        let seen = server.requests().map { Self.normal($0) }
        #expect(seen.count == lines.count && seen[4] == seen[5])
        #expect(Set(seen).count == lines.count - 1, "\(seen)")
    }

    /// A password that is typed for one port goes to no other, and a body goes nowhere twice.
    @Test func redirectOfAnImportedCommand_takesNoPasswordAndNoBody() throws {
        let other = try ScriptedServer { _ in .respond(200) }
        let server = try ScriptedServer { _ in .redirect(302, to: other.url("/there")) }
        defer {
            server.stop()
            other.stop()
        }
        let binary = try Binary()
        try binary.folder.write(
            "x.sh",
            """
            #!/bin/sh
            curl -L -u me:pw \(server.url("/a"))
            curl -L -X PUT -d a=1 \(server.url("/b"))
            curl -L -X GET -d a=1 \(server.url("/c"))
            wget -O d --auth-no-challenge --user=me --password=pw \(server.url("/d"))
            """)
        let made = try binary.run("import", "x.sh")
        try binary.folder.write("job.yaml", made.output)
        try binary.folder.write("secrets", "PASSWORD=pw\n")
        _ = try binary.run("job.yaml", "--secrets-file", "secrets")
        #expect(server.requests().count == 4, "\(made.outputText)")
        #expect(server.requests("/a").first?.header("Authorization") != nil)
        #expect(server.requests("/d").first?.header("Authorization") != nil)
        #expect(other.requests().count == 2)
        #expect(other.requests().allSatisfy { $0.header("Authorization") == nil && $0.body.isEmpty })
    }

    /// curl sends what changes something once.
    @Test func requestThatSends_isSentOnce() throws {
        let server = try ScriptedServer { _ in .respond(503) }
        defer { server.stop() }
        let binary = try Binary()
        let lines = ["-d a=1", "-X PUT -d a=1", "-X DELETE", "-T x.sh"].map { "curl \($0) \(server.url("/x"))\n" }
        try binary.folder.write("x.sh", "#!/bin/sh\n" + lines.joined())
        try binary.folder.write("job.yaml", try binary.run("import", "x.sh").output)
        #expect(try binary.run("job.yaml").exitStatus == 1)
        #expect(server.requests().map(\.method).sorted() == ["DELETE", "POST", "PUT", "PUT"])
    }

    /// A second run begins without cookies and asks the server anew, as the script does.
    @Test func laterRunOfAnImportedJob_asksAsTheFirst() throws {
        let server = try Self.server()
        defer { server.stop() }
        let binary = try Binary()
        try binary.folder.write("x.sh", "#!/bin/sh\ncurl \(server.url("/1/sign-in"))\ncurl \(server.url("/1/kept"))\n")
        let made = try binary.run("import", "x.sh")
        try binary.folder.write("job.yaml", made.output)
        for _ in 0..<2 { #expect(try binary.run("job.yaml").exitStatus == 0) }
        #expect(server.requests().count == 4 && server.requests().allSatisfy { $0.header("Cookie") == nil })
    }

    /// What `check` would refuse is left out and named.
    @Test func importedJob_passesTheCheck() throws {
        let binary = try Binary()
        try binary.folder.write(
            "x.sh",
            "#!/bin/sh\nfor x in a b; do curl -o $x.json http://h.test/$x; done &\ncurl -T a.json http://h.test/up\n")
        let made = try binary.run("import", "x.sh")
        #expect(made.exitStatus == 0 && !made.outputText.contains("h.test/up"), "\(made.outputText)")
        #expect(
            made.errorText.hasPrefix("x.sh:3: warning: `check` refuses it, as this task reads `a.json`"),
            "\(made.errorText)")
        try binary.folder.write("job.yaml", made.output)
        #expect(try binary.run("check", "job.yaml").exitStatus == 0)
    }

    // MARK: Places

    private static let environment = [
        "PW": "p:w d", "TOKEN": "tok-1", "BOT": "123456789:AA-bb_cc", "WHO": "somebody", "LC_ALL": "C.UTF-8",
    ]

    private static func server() throws -> ScriptedServer {
        try ScriptedServer { request in
            let name = request.path.split(separator: "/").last.map { String($0) } ?? ""
            let folder = request.path.dropLast(name.count)
            switch name {
            case "moved": return .redirect(302, to: "\(folder)target")
            case "latest.json":
                return .respond(
                    200, headers: [("Content-Type", "application/json")], body: "{\"items\": [{\"tag\": \"v2.0\"}]}")
            case "token":
                return .respond(
                    200, headers: [("Content-Type", "application/json")], body: "{\"access_token\": \"t-9\"}")
            case "stable.txt": return .respond(200, body: "v1.31\n")
            case "page": return .respond(200, body: "text\nversion: v3.4\nmore v5\n")
            case "404": return .respond(404)
            case "kept": return .respond(200, headers: [("Cache-Control", "max-age=3600")], body: "kept")
            case "sign-in": return .respond(200, headers: [("Set-Cookie", "sid=opened; Path=/")], body: "in")
            default: return .respond(200, body: "of \(name)\n")
            }
        }
    }

    /// A folder with the files that the lines read.
    private static func place(_ lines: [ForeignLines.Line], _ server: ScriptedServer) throws -> Binary {
        let binary = try Binary()
        for (name, text) in ForeignLines.files { try binary.folder.write(name, text) }
        try binary.folder.write("data.bin", Script.patternBytes(3000))
        try binary.folder.write("part.bin", "part")
        for number in 1...lines.count {
            try binary.folder.write(
                "list-\(number).txt", "\(server.url("/\(number)/l1"))\n\(server.url("/\(number)/l2"))\n")
        }
        return binary
    }

    private static func script(_ lines: [ForeignLines.Line], _ server: ScriptedServer) -> String {
        var script = "#!/bin/sh\n"
        for (index, line) in lines.enumerated() { script += text(line, index, "127.0.0.1:\(server.port)") + "\n" }
        return script
    }

    private static func text(_ line: ForeignLines.Line, _ index: Int, _ host: String) -> String {
        line.text.replacing("URL", with: "http://HOST/%%").replacing("HOST", with: host)
            .replacing("%%", with: "\(index + 1)")
    }

    /// The line of the script in which one begins.
    private static func firstLine(of index: Int, in lines: [ForeignLines.Line]) -> Int {
        2 + lines[..<index].map { $0.text.split(separator: "\n", omittingEmptySubsequences: false).count }.reduce(0, +)
    }

    // MARK: Requests

    /// The requests by the number with which their paths begin.
    private static func byLine(_ requests: [ReceivedRequest]) -> [Int: [String]] {
        var lines: [Int: [String]] = [:]
        for request in requests {
            let number = request.target.split(separator: "/").first.flatMap { Int($0) } ?? 0
            lines[number, default: []].append(normal(request))
        }
        return lines.mapValues { $0.sorted() }
    }

    /// Headers that are compared in no request: each program names itself, and what belongs to the connection or frames
    /// the body is each program's own. The body itself is compared.
    private static let ofTheProgram: Set<String> = [
        "connection", "content-length", "transfer-encoding", "expect", "want-digest",
    ]
    /// Values by which a program says what it takes, where nobody typed one.
    private static let usual: [String: [String]] = [
        "accept": ["*/*"], "user-agent": ["curl/", "Wget/", "aria2/", "transfer-run/"],
        "accept-encoding": ["identity", "deflate, gzip", "gzip, ", "br"],
    ]

    /// The request without what differs from program to program.
    private static func normal(_ request: ReceivedRequest) -> String {
        var lines: [String] = []
        var boundary: String?
        for line in request.headerLines {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let name = line[..<colon].lowercased()
            var value = String(line[line.index(after: colon)...].drop { $0 == " " })
            if ofTheProgram.contains(name) || usual[name]?.contains(where: { value.hasPrefix($0) }) == true { continue }
            if name == "content-type", let mark = value.firstRange(of: "boundary=") {
                boundary = String(value[mark.upperBound...])
                value = value[..<mark.upperBound] + "BOUNDARY"
            }
            lines.append("\(name): \(value)")
        }
        // Bytes that are no text show as their numbers.
        var body = String(validating: request.body, as: UTF8.self) ?? "\(request.body)"
        if let boundary {
            let marks = request.body.map { $0 < 0x80 ? String(UnicodeScalar($0)) : "<\($0)>" }.joined()
            body = marks.replacing(boundary, with: "BOUNDARY")
        }
        // The letter case of a `%2f` makes no other URL, and curl writes one or the other.
        let target = request.target.split(separator: "%", omittingEmptySubsequences: false).enumerated().map {
            index, part in
            index == 0 ? String(part) : part.prefix(2).uppercased() + part.dropFirst(2)
        }
        return "\(request.method) \(target.joined(separator: "%"))\n" + lines.sorted().joined(separator: "\n") + "\n\n"
            + body
    }
}
