import TestSupport
import Testing
import TextFormats
import TransferModel

/// Under `limits.maximumBytes` nothing moves in vain that was known to.
@Suite struct ByteLimitTests {
    private func outcomes(_ run: Stage.Run) throws -> [String?] { try run.values("$.tasks[*].outcome") }

    private func received(_ run: Stage.Run, _ task: Int) throws -> Int {
        try run.values("$.tasks[\(task)].attempts[*].transactions[*].countOfResponseBodyBytesReceived")
            .compactMap { $0.flatMap { Int($0) } }.reduce(0, +)
    }

    /// What no run can move whole is told before a byte of it is sent.
    @Test(arguments: [
        "{ file: big }", "{ multipart: [{ name: a, file: big }] }",
        "{ stream: { command: [cat, big], length: 200000 } }",
    ])
    func aBodyForWhichNoRunHasRoomIsNotSent(_ body: String) throws {
        let server = try ScriptedServer { _ in .respond(201) }
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("big", Script.patternBytes(200_000))
        let run = try stage.run(
            """
            limits: { maximumBytes: 150kB }
            tasks:
              - { id: a, type: upload, method: PUT, url: "\(server.url("/a"))", body: \(body) }
              - { id: b, url: "\(server.url("/b"))" }
            """)
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "dataLengthExceedsMaximum")
        #expect(try run.task("a", "explanation")?.contains("Raise `limits.maximumBytes`") == true)
        #expect(try run.task("b", "outcome") == "succeeded")
        #expect(server.requests().map(\.target) == ["/b"])
        let isWarned = run.errorText.contains("the body of `a` has 200000: it will not be sent")
        #expect(isWarned == !body.contains("multipart"))
    }

    /// What is left is too little: the next run has room for it.
    @Test func aBodyThatDoesNotFitAnyMoreIsNotBegun() throws {
        let server = try ScriptedServer { _ in .respond(201) }
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("data", Script.patternBytes(100_000))
        let run = try stage.run(
            """
            limits: { maximumBytes: 150kB }
            tasks:
              - { id: "t-${n}", forEach: { n: 1..3 }, type: upload, method: PUT, url: "\(server.origin)/${n}", body: { file: data } }
            """)
        #expect(run.status == 75)
        #expect(try outcomes(run).count { $0 == "succeeded" } == 1)
        #expect(try outcomes(run).count { $0 == "deferred" } == 2)
        #expect(server.requests().count == 1)
    }

    /// The budget's last byte is a body's: the answer to it is still heard.
    @Test func whatFitsExactlySucceeds() throws {
        let server = try ScriptedServer { _ in [.readBody, .wait(.milliseconds(300))] + .respond(201, body: "stored") }
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("data", Script.patternBytes(150_000))
        let run = try stage.run(
            """
            limits: { maximumBytes: 150kB }
            tasks: [{ id: a, type: upload, method: PUT, url: "\(server.url("/a"))", body: { file: data } }]
            """)
        #expect(run.status == 0)
        #expect(try run.task("a", "outcome") == "succeeded")
    }

    // MARK: Answers

    /// Without a validator, from a server that knows no ranges, of a task that does not go on.
    @Test(arguments: ["", "etag none", "etag, resume: false", "etag data"])
    func anAnswerThatCannotGoOnIsStoppedAtItsHead(_ kind: String) throws {
        var resource = ServedResource(Script.patternBytes(3_000_000), etag: kind.hasPrefix("etag") ? "\"v\"" : nil)
        resource.acceptsRanges = false
        let headers: [Script.Header] = kind == "etag none" ? [("Accept-Ranges", "none"), ("ETag", "\"v\"")] : []
        let server = try ScriptedServer { [resource] request in
            if request.path == "/small" { return .respond(200, body: Script.patternBytes(2_000_000)) }
            if kind == "etag none" { return .respond(200, headers: headers, body: resource.body) }
            return resource.answer(request)
        }
        defer { server.stop() }
        let stage = try Stage()
        let goesOn = kind.contains("resume") ? ", resume: false" : ""
        let to = kind == "etag data" ? "maximumSize: 10MB" : "to: big" + goesOn
        for (most, status) in [("4MB", Int32?.some(75)), ("2500kB", 1)] {
            let run = try stage.run(
                """
                limits: { maximumBytes: \(most), maximumConcurrentTasks: 1 }
                tasks:
                  - { id: small, url: "\(server.url("/small"))", to: small, existing: replace }
                  - { id: big, url: "\(server.url("/big"))", \(to), needs: [small] }
                """)
            #expect(run.status == status)
            #expect(try run.task("small", "outcome") == "succeeded")
            #expect(try run.task("big", "outcome") == (status == 75 ? "deferred" : "failed"))
            if status == 1 { #expect(try run.task("big", "error.name") == "dataLengthExceedsMaximum") }
            #expect(try received(run, 1) == 0)
            #expect(stage.files == ["small"])
        }
    }

    /// What can go on does, over as many runs as it takes.
    @Test func whatCanGoOnSpendsTheRest() throws {
        let resource = ServedResource(Script.patternBytes(5_000_000))
        let server = try ScriptedServer { request in resource.answer(request).paced(65_536, .milliseconds(5)) }
        defer { server.stop() }
        let stage = try Stage()
        var runs = 0
        var status: Int32? = 75
        while status == 75, runs < 5 {
            let run = try stage.run(
                """
                limits: { maximumBytes: 2500kB }
                tasks: [{ id: big, url: "\(server.url("/big"))", to: big }]
                """)
            status = run.status
            runs += 1
        }
        #expect(status == 0 && runs >= 2)
        #expect(try stage.folder.bytes("big") == resource.body)
    }

    /// It has a validator, and then sends all of it again all the same: that is known from then on.
    @Test func aServerThatPassesOverRangesIsFoundOut() throws {
        let body = Script.patternBytes(5_000_000)
        let server = try ScriptedServer { _ in
            Script.respond(200, headers: [("ETag", "\"v\"")], body: body).paced(65_536, .milliseconds(5))
        }
        defer { server.stop() }
        let stage = try Stage()
        let job = """
            limits: { maximumBytes: 2500kB }
            tasks: [{ id: big, url: "\(server.url("/big"))", to: big }]
            """
        #expect(try stage.run(job).status == 75)
        let run = try stage.run(job)
        #expect(run.status == 1)
        #expect(try run.task("big", "error.name") == "dataLengthExceedsMaximum")
        #expect(try received(run, 0) == 0)
    }

    /// Whether a server keeps what arrives of an upload shows when it is sent: where none says so, no run is spent again.
    @Test func anUploadThatNobodyKeepsIsFoundOut() throws {
        let server = try ScriptedServer { _ in [.drainBody] + .respond(201) }
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("big", Script.patternBytes(5_000_000))
        let run = try stage.run(
            """
            limits: { maximumBytes: 2500kB, bandwidth: 10MB/s }
            tasks:
              - { id: big, type: upload, method: PUT, url: "\(server.url("/big"))", body: { file: big }, resumable: true }
              - { id: next, url: "\(server.url("/next"))", to: next, needs: [big] }
            """)
        #expect(run.status == 1)
        #expect(try run.task("big", "error.name") == "dataLengthExceedsMaximum")
        #expect(try run.task("big", "error.message")?.contains("did not say that it keeps") == true)
        #expect(try run.values("$.tasks[0].attempts[*].number") == ["1"])
    }

    // MARK: The cut

    /// However fast the network, what moves beyond the limit is what came in one piece.
    @Test(arguments: [1, 4]) func theLimitIsHeldClosely(_ segments: Int) throws {
        let resource = ServedResource(Script.patternBytes(12_000_000))
        let server = try ScriptedServer { request in resource.answer(request) }
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(
            """
            limits: { maximumBytes: 3MB }
            tasks:
              - { id: "t-${n}", forEach: { n: 1..6 }, url: "\(server.origin)/${n}", to: "${n}", segments: \(segments) }
            """)
        #expect(run.status == 75)
        #expect(try outcomes(run) == Array(repeating: "deferred", count: 6))
        let received = try (0..<6).map { try self.received(run, $0) }.reduce(0, +)
        #expect(received >= 3_000_000 && received < 3_700_000)
    }

    /// Many share it, and none of them comes far: what is there of each stays for the next run.
    @Test(arguments: [1, 3]) func littleOfManyIsKept(_ segments: Int) throws {
        let resource = ServedResource(Script.patternBytes(1_200_000))
        let server = try ScriptedServer { request in resource.answer(request).paced(16_384, .milliseconds(10)) }
        defer { server.stop() }
        let stage = try Stage()
        let job = """
            limits: { maximumBytes: 900kB }
            tasks:
              - { id: "t-${n}", forEach: { n: 1..3 }, url: "\(server.origin)/${n}", to: "${n}", segments: \(segments) }
            """
        var runs = 1
        var run = try stage.run(job)
        #expect(stage.files.count { !$0.hasPrefix(".transfer-run-") } == 0)
        while run.status == 75, runs < 9 {
            run = try stage.run(job)
            runs += 1
        }
        // Nothing of 3.6 MB came twice, but for what was on its way.
        #expect(run.status == 0 && runs <= 6, "\(runs) runs")
        for number in 1...3 { #expect(try stage.folder.bytes("\(number)") == resource.body) }
        #expect(stage.files == ["1", "2", "3"])
    }
}
