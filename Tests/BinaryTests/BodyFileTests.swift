import Glibc
import SystemIO
import TestSupport
import Testing
import TextFormats

/// A file that is sent is the one that was there when the task began, all of it, or the task fails.
@Suite struct BodyFileTests {
    enum Change: String, CaseIterable, Sendable { case longer, shorter, rewritten, replaced, gone }

    private static func apply(_ change: Change, to folder: TemporaryTree) throws {
        switch change {
        case .longer: try folder.write("data.bin", "0123456789x")
        case .shorter: try folder.write("data.bin", "01234")
        case .rewritten: try folder.write("data.bin", "9876543210")
        case .replaced:
            folder.remove("data.bin")
            try folder.write("data.bin", "0123456789")
        case .gone: folder.remove("data.bin")
        }
    }

    /// As a shell's pattern has them; one that leads nowhere is told like any file that is gone.
    @Test func linksToFilesAreSentToo() throws {
        let server = try ScriptedServer { _ in .respond(200) }
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("up/a.txt", "A")
        try stage.folder.write("real/b.txt", "B")
        try stage.folder.link("up/b.txt", to: "../real/b.txt")
        try stage.folder.link("up/real", to: "../real")
        try stage.folder.link("up/gone.txt", to: "nowhere")
        let run = try stage.run(
            """
            tasks:
              - id: "${f.name}"
                forEach: { f: { files: "up/**/*.txt" } }
                method: PUT
                url: "\(server.url("/"))${f.path}"
                body: { file: "${f.path}" }
            """)
        #expect(run.status == 1)
        #expect(try run.values("$.tasks[*].id") == ["a.txt", "b.txt", "gone.txt"])
        #expect(try run.task("gone.txt", "error.name") == "fileDoesNotExist")
        #expect(server.requests("/up/a.txt").map(\.body) == [Array("A".utf8)])
        #expect(server.requests("/up/b.txt").map(\.body) == [Array("B".utf8)])
    }

    @Test(arguments: Change.allCases, ["{ file: data.bin }", "{ multipart: [{ name: a, file: data.bin }] }"])
    func aFileThatChangesBeforeARetryIsNotSent(_ change: Change, _ body: String) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let stage = try Stage()
        let folder = stage.folder
        try folder.write("data.bin", "0123456789")
        server.on("/a") { request in
            do { if request.number == 1 { try Self.apply(change, to: folder) } } catch { Issue.record("\(error)") }
            return .respond(request.number == 1 ? 503 : 201)
        }
        let run = try stage.run(
            """
            sessions: { default: { retry: { backoff: { initial: 10ms } } } }
            tasks: [{ id: a, type: upload, method: PUT, url: "\(server.url("/a"))", body: \(body) }]
            """)
        #expect(run.status == 1)
        // Nothing of another file went out.
        #expect(server.requests("/a").filter(\.isComplete).count == 1)
        let error = try run.task("a", "error.name")
        #expect(error == (change == .gone ? "fileDoesNotExist" : "bodyFileChanged"))
        let message = try run.task("a", "error.message") ?? ""
        if change == .longer { #expect(message.contains("it had 10 bytes and has 11 now")) }
        if change == .replaced { #expect(message.contains("another file") || message.contains("attributes")) }
    }

    /// Also one that was empty: there is nothing to read of it.
    @Test func anEmptyFileThatIsFilledIsAnother() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let stage = try Stage()
        let folder = stage.folder
        try folder.write("data.bin", "")
        server.on("/a") { request in
            do { try folder.write("data.bin", "now it is not") } catch { Issue.record("\(error)") }
            return .respond(request.number == 1 ? 503 : 201)
        }
        let run = try stage.run(
            """
            sessions: { default: { retry: { backoff: { initial: 10ms } } } }
            tasks: [{ id: a, type: upload, method: PUT, url: "\(server.url("/a"))", body: { file: data.bin } }]
            """)
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "bodyFileChanged")
        #expect(server.requests("/a").count == 1)
    }

    /// Whatever it does while it is sent, its last byte is not handed over.
    @Test(arguments: [Change.longer, .shorter, .rewritten])
    func aFileThatChangesWhileItIsSentIsNeverWhole(_ change: Change) throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", [.gate("go"), .readBody] + Script.respond(201))
        let stage = try Stage()
        let bytes = Script.patternBytes(24 << 20)
        try stage.folder.write("data.bin", bytes)
        let program = try stage.start(
            """
            tasks: [{ id: a, type: upload, method: PUT, url: "\(server.url("/a"))", body: { file: data.bin } }]
            """)
        #expect(server.waitForRequests(1))
        switch change {
        case .longer: try stage.folder.write("data.bin", bytes + [0])
        case .shorter: try stage.folder.write("data.bin", Array(bytes.dropLast(8 << 20)))
        default: try stage.folder.write("data.bin", Array(bytes.reversed()))
        }
        server.open(gate: "go")
        let run = try stage.finish(program)
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "bodyFileChanged")
        server.stop()
        let arrived = try #require(server.requests("/a").first)
        #expect(!arrived.isComplete)
        #expect(arrived.body == Array(bytes.prefix(arrived.body.count)))
    }

    @Test(arguments: ["folder/", "pipe", "secret"]) func whatIsNoFileOfOursIsNotSent(_ name: String) throws {
        let server = try ScriptedServer { _ in .respond(201) }
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.makeFolder("folder")
        let run = try stage.run(
            """
            tasks: [{ id: a, type: upload, url: "\(server.url("/a"))", body: { file: "\(name)" } }]
            """)
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == (name == "folder/" ? "fileIsDirectory" : "fileDoesNotExist"))
        #expect(server.requests().isEmpty)
    }

    /// What the kernel makes while it is read is empty to all who ask before.
    @Test(arguments: ["{ file: /proc/self/status }", "{ multipart: [{ name: a, file: /proc/self/status }] }"])
    func aFileThatHidesItsLengthIsNotSentAsNothing(_ body: String) throws {
        let server = try ScriptedServer { _ in .respond(201) }
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("empty", "")
        let run = try stage.run(
            """
            defaults: { allowFailure: true }
            tasks:
              - { id: a, type: upload, url: "\(server.url("/a"))", body: \(body) }
              - { id: empty, type: upload, url: "\(server.url("/empty"))", body: { file: empty } }
            """)
        #expect(try run.task("a", "error.name") == "cannotOpenFile")
        #expect(try run.task("a", "explanation")?.contains("says that it is empty, and is not") == true)
        #expect(server.requests("/a").isEmpty)
        #expect(try run.task("empty", "outcome") == "succeeded")
    }

    @Test func aPipeIsToldAsWhatIsRead() throws {
        let server = try ScriptedServer { _ in .respond(201) }
        defer { server.stop() }
        let stage = try Stage()
        #expect(mkfifo(stage.folder.path("pipe"), 0o600) == 0)
        let run = try stage.run(
            "tasks: [{ id: a, type: upload, url: '\(server.url("/a"))', body: { file: pipe } }]")
        #expect(try run.task("a", "error.name") == "cannotOpenFile")
        #expect(
            try run.task("a", "explanation")?.hasSuffix(
                "/pipe cannot be read: it is no regular file. Name a regular file that can be read; "
                    + "what a command writes is a body's `stream`.") == true)
    }

    // MARK: What is told

    /// Progress goes up and ends at the size; a limit on bandwidth is one on uploads.
    @Test(arguments: ["{ file: data.bin }", "{ stream: { command: [cat, data.bin] } }"])
    func progressIsToldAndBandwidthKept(_ body: String) throws {
        let server = try ScriptedServer { _ in .respond(201) }
        defer { server.stop() }
        let stage = try Stage()
        let size = 3 << 20
        try stage.folder.write("data.bin", Script.patternBytes(size))
        let run = try stage.run(
            """
            tasks:
              - { id: a, type: upload, method: PUT, url: "\(server.url("/a"))", body: \(body), bandwidth: 2MiB/s }
            """)
        #expect(run.status == 0)
        #expect(server.requests("/a").first?.body.count == size)
        let told = run.events.filter { $0["event"]?.plainText == "sentBodyData" }
        let bytes = told.compactMap { $0["bytes"]?.plainText.flatMap { Int($0) } }
        #expect(bytes.last == size)
        #expect(zip(bytes, bytes.dropFirst()).allSatisfy { $0 < $1 })
        #expect(bytes.count >= 3)
        let expected = body.contains("stream") ? nil : "\(size)"
        #expect(told.allSatisfy { $0["expected"]?.plainText == expected })
        let duration = try run.value("$.duration").flatMap { Double($0) } ?? 0
        // At most five a second, and the last.
        #expect(Double(bytes.count) <= duration * 5 + 2)
        #expect(duration > 0.8)
        let transaction = "$.tasks[0].attempts[0].transactions[0]"
        #expect(try run.value("\(transaction).countOfRequestBodyBytesBeforeEncoding") == "\(size)")
        let sent = try run.value("\(transaction).countOfRequestBodyBytesSent").flatMap { Int($0) } ?? 0
        #expect(body.contains("stream") ? sent > size : sent == size)
        // The upload is told before its answer.
        let story = run.story(of: "a")
        let (last, answer) = (story.lastIndex(of: "sentBodyData") ?? .max, story.firstIndex(of: "response") ?? 0)
        #expect(last < answer)
    }

    /// What does not lie in memory is fetched by a thread of its own while the upload stands still; the loop waits only
    /// where a filesystem cannot tell, or where it went out of memory again.
    @Test(
        .enabled(if: Strace.isUsable),
        arguments: [("EAGAIN", "2"), ("EAGAIN", "5"), ("EAGAIN", "1+"), ("EOPNOTSUPP", "1+")],
        ["{ file: large.bin }", "{ multipart: [{ name: a, file: large.bin }, { name: b, file: large.bin }] }"])
    func whatIsNotInMemoryIsFetched(_ lack: (error: String, when: String), _ body: String) throws {
        let server = try ScriptedServer { _ in .respond(201) }
        defer { server.stop() }
        let stage = try Stage()
        let bytes = Script.patternBytes(1_300_003)
        try stage.folder.write("large.bin", bytes)
        let trace = stage.binary.home.path("trace")
        let strace = Strace(
            [.init("preadv2", .error(lack.error), when: lack.when)], paths: [stage.folder.path("large.bin")])
        let run = try stage.run(
            """
            tasks: [{ id: a, type: upload, method: PUT, url: "\(server.url("/a"))", body: \(body) }]
            """, under: strace.command(trace: trace, calls: ["preadv2", "pread64"]))
        #expect(run.status == 0)
        let sent = try #require(server.requests("/a").first?.body)
        #expect(body.contains("multipart") ? sent.count > 2 * bytes.count : sent == bytes)
        // A line begins with the thread's number.
        let calls = try stage.binary.home.text("trace").split(separator: "\n").compactMap {
            $0.contains("pread") ? (thread: $0.prefix { $0 != " " }, isNow: $0.contains("preadv2")) : nil
        }
        let loop = try #require(calls.first { $0.isNow }?.thread)
        let others = calls.filter { $0.thread != loop }
        #expect(others.allSatisfy { !$0.isNow } && others.isEmpty == (lack.error != "EAGAIN"), "\(calls)")
        if lack.when != "1+" { #expect(calls.allSatisfy { $0.isNow || $0.thread != loop }, "\(calls)") }
    }

    @Test func aLongUploadTakesLittleMemory() throws {
        let size = Rounds.isLong ? 2 << 30 : 256 << 20
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/a", [.drainBody, .gate("measured")] + Script.respond(201))
        let stage = try Stage()
        let file = try stage.folder.write("sparse", "")
        try #require(truncate(file, size) == 0)
        let program = try stage.start(
            """
            tasks: [{ id: a, type: upload, method: PUT, url: "\(server.url("/a"))", body: { file: sparse } }]
            """)
        while server.requests("/a").first?.isComplete != true, program.isRunning { Polling.sleep(milliseconds: 5) }
        let status = String(decoding: try TemporaryTree.bytes(at: "/proc/\(program.processID)/status"), as: UTF8.self)
        server.open(gate: "measured")
        #expect(try stage.finish(program).status == 0)
        #expect(server.requests("/a").first?.drained == size)
        let peak = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        let kibibytes = peak?.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? .max
        #expect(kibibytes <= 48 << 10, "\(kibibytes) KiB")
    }
}

/// Where the system takes little at once.
@Suite(.enabled(if: NetworkNamespace.isAllowed)) struct NarrowSendingTests {
    /// Heads leave in pieces, and libcurl puts the body behind what is left of them.
    @Test func whatLeavesInPiecesArrivesWhole() throws {
        let space = try NetworkNamespace()
        try space.ip("link set lo mtu 1500")
        try space.ip("link set lo up")
        let narrow = ["tcp_wmem", "tcp_rmem"].map { "echo 4096 4096 8192 > /proc/sys/net/ipv4/\($0)" }
        let ip = space.wrapper + ["/bin/sh", "-c", narrow.joined(separator: "; ")]
        #expect(try Binary(program: ip[0]).run(arguments: Array(ip.dropFirst())).exitStatus == 0)
        let server = try space.inside { try ScriptedServer { _ in .respond(200) } }
        defer { server.stop() }
        let stage = try Stage()
        let bodies = [5, 3_000, 30_000, 65_536, 200_000].map { Script.patternBytes($0) }
        for body in bodies { try stage.folder.write("\(body.count)", body) }
        var tasks = "sessions: { default: { maximumConnectionsPerHost: 2 } }\ntasks:\n"
        let heads = [10] + Array(stride(from: 1_700, through: 17_000, by: 300))
        for (index, length) in heads.enumerated() {
            // Servers take no line of more than 8 KiB.
            let headers = stride(from: 0, to: length, by: 990).map { start in
                "X\(start): \(String(repeating: "x", count: min(990, length - start)))"
            }
            tasks += """
                  - id: t\(index)
                    type: upload
                    method: POST
                    url: "\(server.url("/\(index)"))"
                    body: { file: "\(bodies[index % bodies.count].count)" }
                    headers: { \(headers.joined(separator: ", ")) }

                """
        }
        let run = try stage.run(tasks, under: space.wrapper)
        #expect(run.status == 0, "\(run.errorText)")
        for index in heads.indices {
            let received = server.requests("/\(index)")
            #expect(received.map(\.body) == [bodies[index % bodies.count]], "\(heads[index])")
        }
    }
}
