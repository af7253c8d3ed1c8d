import Glibc
import Synchronization
import TestSupport
import Testing
import TransferModel

/// Downloads that become objects of a store: `to: s3://bucket/key`.
@Suite struct ObjectTests {
    /// A store that checks who asks, and a server of files.
    final class Place: Sendable {
        let store: ScriptedServer
        let source: ScriptedServer
        /// What is asked and put, in order, such as `HEAD /bucket/a`.
        let asked: @Sendable () -> [String]

        init() throws {
            let objects = Mutex<[String: [UInt8]]>([:])
            let shared = Shared(objects)
            store = try ScriptedServer { request in
                guard SigningTests.isSigned(request) else {
                    return .respond(
                        403, headers: [("Content-Type", "application/xml")],
                        body: "<Error><Code>AccessDenied</Code><Message>not &amp; you</Message></Error>")
                }
                return shared.answer(request)
            }
            source = try ScriptedServer()
            asked = { [store] in store.requests().map { "\($0.method) \($0.target)" } }
        }
        deinit {
            store.stop()
            source.stop()
        }

        private final class Shared: Sendable {
            private let objects: Mutex<[String: [UInt8]]>
            init(_ objects: consuming Mutex<[String: [UInt8]]>) { self.objects = objects }

            func answer(_ request: ReceivedRequest) -> Script {
                let tag = { (bytes: [UInt8]) in ("ETag", "\"\(bytes.count)-\(bytes.prefix(8).reduce(0) { $0 &+ $1 })\"")
                }
                return objects.withLock { objects in
                    switch request.method {
                    case "PUT":
                        objects[request.target] = request.body
                        return .respond(200, headers: [tag(request.body)])
                    case "DELETE":
                        objects[request.target] = nil
                        return .respond(204)
                    default:
                        guard let bytes = objects[request.target] else { return .headOnly(404, length: 0) }
                        return .headOnly(200, headers: [tag(bytes)], length: bytes.count)
                    }
                }
            }
        }

        /// Serves a version of a file.
        func serve(_ path: String, _ body: String, type: String = "text/plain", tag: String? = nil) {
            let tag = "\"\(tag ?? body)\""
            source.on(path) { request in
                request.header("If-None-Match") == tag
                    ? .respond(304, headers: [("ETag", tag)])
                    : .respond(200, headers: [("ETag", tag), ("Content-Type", type)], body: body)
            }
        }

        func body(_ target: String) -> [UInt8]? {
            store.requests(target).last { $0.method == "PUT" && $0.isComplete }?.body
        }

        func job(_ more: String = "", _ session: String = "", url: String = "/a") -> String {
            """
            sessions: { default: { retry: { attempts: 2, backoff: { initial: 1ms } }\(session),
              credentials: [\(SigningTests.credential.dropLast(2)), endpoint: "\(store.url(""))" }] } }
            tasks: [{ id: a, url: "\(source.url(url))", to: "s3://bucket/in/a"\(more) }]
            """
        }
    }

    /// Files on their way to a store.
    private func waiting(_ stage: Stage) -> [String] {
        stage.binary.home.list("state/transfer-run/objects")
    }

    @Test func whatIsFetchedIsPut() throws {
        let place = try Place()
        place.serve("/a", "hello", type: "image/png")
        let stage = try Stage()
        let run = try stage.run(place.job(", headers: { X-Amz-Storage-Class: STANDARD_IA, X-Own: \"1\" }"))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(place.asked() == ["PUT /bucket/in/a"] && place.body("/bucket/in/a") == Array("hello".utf8))
        let put = try #require(place.store.requests().first)
        #expect(put.header("Content-Type") == "image/png" && put.header("X-Amz-Storage-Class") == "STANDARD_IA")
        #expect(put.header("X-Own") == nil && put.header("Transfer-Encoding") == nil)
        // The key is for the store alone.
        let got = try #require(place.source.requests().first)
        #expect(got.header("Authorization") == nil && got.header("X-Amz-Storage-Class") == nil)
        #expect(got.header("X-Own") == "1" && got.header("X-Amz-Date") == nil)
        #expect(try run.task("a", "file.path") == "s3://bucket/in/a" && run.task("a", "file.bytes") == "5")
        #expect(try run.task("a", "response.url") == place.source.url("/a"))
        #expect(try run.values("$.tasks[0].attempts[*].transactions[*].request.method") == ["GET", "PUT"])
        #expect(run.story(of: "a").filter { $0 == "fileFinished" || $0 == "response" } == ["response", "fileFinished"])
        #expect(stage.files == [] && waiting(stage) == [])
    }

    // MARK: The next run

    @Test func whatTheStoreHasIsNotFetchedAgain() throws {
        let place = try Place()
        place.serve("/a", "one")
        let stage = try Stage()
        #expect(try stage.run(place.job()).status == 0)
        let same = try stage.run(place.job(), "--exit-unchanged")
        #expect(same.status == 9, "\(same.errorText)")
        #expect(try same.task("a", "source") == "unchanged" && same.task("a", "file.path") == "s3://bucket/in/a")
        #expect(place.asked() == ["PUT /bucket/in/a", "HEAD /bucket/in/a"])
        #expect(place.source.requests().map { $0.header("If-None-Match") } == [nil, "\"one\""])
        // Another version at the source.
        place.serve("/a", "two")
        #expect(try stage.run(place.job()).task("a", "source") == "network")
        #expect(place.body("/bucket/in/a") == Array("two".utf8))
        // The store lost it.
        place.store.on("/bucket/in/a", .headOnly(404, length: 0), .respond(200))
        #expect(try stage.run(place.job()).task("a", "source") == "network")
        #expect(place.source.requests().last?.header("If-None-Match") == nil)
        #expect(place.asked().suffix(2) == ["HEAD /bucket/in/a", "PUT /bucket/in/a"])
    }

    @Test func aChecksumThatTheStoreTookNeedsNoSource() throws {
        let place = try Place()
        place.serve("/a", "hello")
        let stage = try Stage()
        let job = place.job(", checksum: \"sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824\"")
        #expect(try stage.run(job).status == 0)
        let next = try stage.run(job)
        #expect(try next.task("a", "source") == "unchanged")
        #expect(try next.task("a", "file.checksum")?.hasPrefix("sha256:2cf24dba") == true)
        #expect(place.source.requests().count == 1)
    }

    // MARK: Failures

    @Test func whatIsWrongIsNotPut() throws {
        let place = try Place()
        place.serve("/a", "hello")
        let stage = try Stage()
        let run = try stage.run(place.job(", checksum: \"md5:00000000000000000000000000000000\""))
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "checksumMismatch")
        place.source.on("/b", .respond(404))
        #expect(try stage.run(place.job(url: "/b")).status == 1)
        #expect(place.asked() == [] && waiting(stage) == [])
    }

    /// What could not be put is not fetched again: not by the next attempt, and not by the next run.
    @Test(arguments: [false, true]) func aRefusedObjectWaits(_ hasChecksum: Bool) throws {
        let place = try Place()
        place.serve("/a", "hello")
        let stage = try Stage()
        let job = place.job(
            hasChecksum
                ? ", checksum: \"sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824\"" : "")
        let refused = try stage.run(job.replacing("hush-hush-secret", with: "another-secret"))
        #expect(refused.status == 1)
        #expect(try refused.task("a", "error.message")?.contains("403 Forbidden: \"AccessDenied: not & you\"") == true)
        #expect(try refused.task("a", "file") == nil && waiting(stage).count == 1)
        #expect(try stage.run(job).status == 0)
        let asked = place.source.requests().map { $0.header("If-None-Match") }
        #expect(asked == (hasChecksum ? [nil] : [nil, "\"hello\""]))
        #expect(place.body("/bucket/in/a") == Array("hello".utf8) && waiting(stage) == [])
    }

    @Test func aBucketOfAnotherRegionIsNamedWithIt() throws {
        let place = try Place()
        place.serve("/a", "hello")
        place.store.on("/bucket/in/a", .respond(301, headers: [("x-amz-bucket-region", "eu-west-1")]))
        let run = try Stage().run(place.job())
        #expect(run.status == 1)
        #expect(try run.task("a", "error.message")?.contains("the bucket is in the region `eu-west-1`") == true)
        #expect(run.errorText.contains("Set the credential's `region` to that"), "\(run.errorText)")
    }

    @Test func aResetForgetsWhatWaits() throws {
        let place = try Place()
        place.serve("/a", "hello")
        let stage = try Stage()
        #expect(try stage.run(place.job().replacing("hush-hush-secret", with: "another-secret")).status == 1)
        #expect(waiting(stage).count == 1)
        #expect(try stage.binary.run("reset", "default").exitStatus == 0)
        #expect(waiting(stage) == [])
    }

    /// Bytes of a file that was cut are not lost to a store that does not answer meanwhile.
    @Test func aCutFileGoesOnAfterTheStoreWasSilent() throws {
        let place = try Place()
        let size = 1 << 20
        let tag = ("ETag", "\"v\"")
        place.serve("/a", "first")
        let stage = try Stage()
        #expect(try stage.run(place.job()).status == 0)
        place.source.on("/a") { request in
            guard let range = request.header("Range") else {
                return [
                    .bytes(Script.head(200, [tag, ("Content-Length", "\(size)")])), .pattern(count: size / 2), .cut,
                ]
            }
            let start = Int(range.dropFirst("bytes=".count).prefix { $0.isNumber }) ?? 0
            return .respond(
                206, headers: [tag, ("Content-Range", "bytes \(start)-\(size - 1)/\(size)")],
                body: Script.patternBytes(size - start, from: start))
        }
        // The question of the second attempt is refused, that of the third answered.
        place.store.on(
            "/bucket/in/a", .headOnly(404, length: 0), .respond(429), .headOnly(404, length: 0), .respond(200))
        let run = try stage.run(place.job().replacing("attempts: 2", with: "attempts: 4"))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(place.store.requests().last?.body == Script.patternBytes(size))
        #expect(place.source.requests().last?.header("Range")?.hasPrefix("bytes=") == true)
    }

    @Test func aBusyStoreIsAskedAgain() throws {
        let place = try Place()
        place.serve("/a", "hello")
        place.store.on("/bucket/in/a", .respond(503), .respond(200))
        let run = try Stage().run(place.job())
        #expect(run.status == 0, "\(run.errorText)")
        #expect(place.source.requests().count == 1)
        #expect(place.store.requests().map(\.body) == [Array("hello".utf8), Array("hello".utf8)])
        #expect(try run.values("$.tasks[0].attempts[*].number") == ["1", "2"])
        #expect(try run.values("$.tasks[0].attempts[*].outcome") == ["failed", "succeeded"])
        #expect(try run.task("a", "response.url") == place.source.url("/a"))
    }

    /// Ended while the file is put: whatever the store has, the next run puts all of it, from the file that is here.
    @Test(arguments: [SIGINT, SIGKILL]) func anEndInMidPutCostsNoFetch(_ signal: Int32) throws {
        let place = try Place()
        let size = 3 << 20
        let bytes = Script.patternBytes(size)
        place.source.on("/a") { request in
            request.header("If-None-Match") == "\"v\""
                ? .respond(304, headers: [("ETag", "\"v\"")])
                : .respond(200, headers: [("ETag", "\"v\"")], patternOf: size)
        }
        place.store.on("/bucket/in/a", [.readPart(1 << 16), .stall], .respond(200))
        let stage = try Stage()
        let program = try stage.start(place.job())
        #expect(place.store.waitForRequests(1))
        program.send(signal: signal)
        if signal == SIGKILL { _ = program.wait() } else { #expect(try stage.finish(program).status == 130) }
        let next = try stage.run(place.job())
        #expect(next.status == 0, "\(next.errorText)")
        #expect(place.store.requests().last?.body == bytes && waiting(stage) == [])
        // After a kill that depends on what was written of the file by then.
        if signal == SIGINT { #expect(place.source.requests().last?.header("If-None-Match") == "\"v\"") }
    }

    // MARK: `existing`

    @Test func skipAndFailAskFirst() throws {
        let place = try Place()
        place.serve("/a", "hello")
        let stage = try Stage()
        let skip = place.job(", existing: skip")
        #expect(try stage.run(skip).task("a", "source") == "network")
        let skipped = try stage.run(skip)
        #expect(try skipped.task("a", "source") == "unchanged" && skipped.task("a", "file.bytes") == "5")
        let failed = try stage.run(place.job(", existing: fail"))
        #expect(failed.status == 1)
        #expect(try failed.task("a", "error.name") == "destinationExists")
        #expect(place.asked() == ["HEAD", "PUT", "HEAD", "HEAD"].map { "\($0) /bucket/in/a" })
        #expect(place.source.requests().count == 1)
        #expect(try stage.run(place.job(", existing: replace")).task("a", "source") == "network")
        #expect(place.asked().last == "PUT /bucket/in/a" && place.source.requests().count == 2)
    }

    /// A question without an answer is asked again: nothing is put over what may be there.
    @Test(arguments: ["skip", "fail"]) func nothingIsPutUnasked(_ existing: String) throws {
        let place = try Place()
        place.serve("/a", "hello")
        place.store.on("/bucket/in/a", .respond(503), .headOnly(200, length: 5))
        let run = try Stage().run(place.job(", existing: \(existing)"))
        #expect(run.status == (existing == "skip" ? 0 : 1), "\(run.errorText)")
        #expect(place.store.requests().map(\.method) == ["HEAD", "HEAD"] && place.source.requests().isEmpty)
    }

    /// A store that does not answer the question whether it still has what was put gets the file.
    @Test func aStoreThatSwallowsTheQuestionGetsTheFile() throws {
        let place = try Place()
        place.serve("/a", "hello")
        let stage = try Stage()
        #expect(try stage.run(place.job()).status == 0)
        place.store.on("/bucket/in/a") { $0.method == "HEAD" ? [.stall] : .respond(200) }
        let run = try stage.run(place.job(", timeoutForRequest: 500ms"))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(place.store.requests().map(\.method).suffix(2) == ["HEAD", "PUT"])
    }

    /// What the store refuses is no fault of the places that the file comes from: it is put once.
    @Test func aRefusedPutIsNotTriedForEachPlace() throws {
        let place = try Place()
        place.serve("/a", "hello")
        place.serve("/b", "hello")
        let job = place.job().replacing(
            "url: \"\(place.source.url("/a"))\"",
            with: "urls: [\"\(place.source.url("/a"))\", \"\(place.source.url("/b"))\"]")
        let run = try Stage().run(job.replacing("hush-hush-secret", with: "another-secret"))
        #expect(run.status == 1 && place.store.requests().count == 1, "\(run.errorText)")
        #expect(try run.value("$.tasks[0].error.message")?.contains("AccessDenied") == true)
    }

    /// An object is its URL: one key may be in two stores, and no captured key may be another task's.
    @Test func anObjectIsOfItsStore() throws {
        let place = try Place()
        place.serve("/a", "\"v\"", type: "application/json")
        let (one, two) = (place.store.url(""), place.store.url("/second"))
        func session(_ endpoint: String) -> String {
            "{ retry: { attempts: 1 }, credentials: [\(SigningTests.credential.dropLast(2)), endpoint: \"\(endpoint)\" }] }"
        }
        let url = place.source.url("/a")
        let run = try Stage().run(
            """
            sessions: { one: \(session(one)), two: \(session(two)) }
            tasks:
              - { id: a, session: one, url: "\(url)", to: "s3://bucket/v" }
              - { id: b, session: two, url: "\(url)", to: "s3://bucket/v" }
              - { id: c, session: one, needs: [a], url: "\(url)", capture: { v: { json: $ } } }
              - { id: d, session: one, url: "\(url)", to: "s3://bucket/${tasks.c.v}" }
            """)
        #expect(run.status == 1)
        #expect(try run.values("$.tasks[*].outcome") == ["succeeded", "succeeded", "succeeded", "failed"])
        #expect(try run.task("d", "error.message")?.contains("already the file of the task `a`") == true)
        #expect(Set(place.asked()) == ["PUT /bucket/v", "PUT /second/bucket/v"])
    }

    // MARK: Beside other keys

    @Test func keysMayBeCaptured() throws {
        let place = try Place()
        place.source.on(
            "/list",
            .respond(
                200, headers: [("Content-Type", "application/json")], body: "{\"v\": \"1/2\", \"n\": [\"x y\", \"z\"]}")
        )
        for path in ["/a", "/f/x%20y", "/f/z"] { place.serve(path, path) }
        let stage = try Stage()
        let url = place.source.url("")
        let run = try stage.run(
            place.job().replacing("s3://bucket/in/a", with: "s3://bucket/${tasks.list.v}/a").replacing(
                "tasks: [",
                with: """
                    tasks: [{ id: list, url: "\(url)/list",
                      capture: { v: { json: $.v }, n: { json: "$.n[*]", all: true } } },
                      { id: "f-${n.index}", forEach: { n: { captured: tasks.list.n } }, url: "\(url)/f/${n}",
                        to: "s3://bucket/f/${n}" },

                    """))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(Set(place.asked()) == ["PUT /bucket/1/2/a", "PUT /bucket/f/x%20y", "PUT /bucket/f/z"])
        // A server must not choose another bucket, nor leave the folder.
        place.source.on(
            "/list",
            .respond(
                200, headers: [("Content-Type", "application/json")], body: "{\"v\": \"..\", \"n\": []}"))
        let left = try stage.run(
            place.job().replacing("s3://bucket/in/a", with: "s3://bucket/in/${tasks.list.v}/a").replacing(
                "tasks: [", with: "tasks: [{ id: list, url: \"\(url)/list\", capture: { v: { json: $.v } } }, "))
        #expect(left.status == 1)
        #expect(try left.task("a", "error.name") == "captureUnusable")
    }

    /// A session that keeps nothing leaves nothing.
    @Test func anEphemeralSessionLeavesNothing() throws {
        let place = try Place()
        place.serve("/a", "hello")
        let stage = try Stage()
        try stage.folder.makeFolder("tmp")
        for isRefused in [false, true] {
            let job = place.job("", ", configuration: ephemeral")
            let run = try stage.run(
                isRefused ? job.replacing("hush-hush-secret", with: "another-secret") : job,
                environment: ["TMPDIR": stage.folder.path("tmp")])
            #expect(run.status == (isRefused ? 1 : 0), "\(run.errorText)")
            #expect(stage.files == ["tmp/"] && waiting(stage) == [])
        }
    }

    /// What a killed run of it left is removed by the next, whichever that is.
    @Test func aKilledEphemeralRunIsCleanedUpAfter() throws {
        let place = try Place()
        place.serve("/a", "hello")
        place.store.on("/bucket/in/a", [.stall], .respond(200))
        let stage = try Stage()
        let temporary = ["TMPDIR": try stage.folder.makeFolder("tmp")]
        let job = place.job("", ", configuration: ephemeral")
        let program = try stage.start(job, environment: temporary)
        #expect(place.store.waitForRequests(1))
        program.send(signal: SIGKILL)
        _ = program.wait()
        #expect(stage.files.count == 3, "the folder of the run and its file: \(stage.files)")
        #expect(try stage.run(job, environment: temporary).status == 0)
        #expect(stage.files == ["tmp/"])
    }

    @Test func severalPlacesAndDurabilityAndARateAreAsElsewhere() throws {
        let place = try Place()
        place.source.on("/b", .respond(404))
        place.serve("/a", "hello")
        let job = place.job(", bandwidth: 1MiB/s", ", durability: flush").replacing(
            "url: \"\(place.source.url("/a"))\"",
            with: "urls: [\"\(place.source.url("/b"))\", \"\(place.source.url("/a"))\"]")
        let run = try Stage().run(job)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(place.body("/bucket/in/a") == Array("hello".utf8))
    }

    /// What came packed, and stays so, says so in the store.
    @Test func aPackedFileKeepsItsLabel() throws {
        let place = try Place()
        place.source.on("/a", .respond(200, headers: [("Content-Encoding", "x-own")], body: "packed"))
        #expect(try Stage().run(place.job()).status == 0)
        #expect(place.store.requests().first?.header("Content-Encoding") == "x-own")
    }

    @Test func aCommandIsToldTheObject() throws {
        let place = try Place()
        place.serve("/a", "hello")
        let stage = try Stage()
        #expect(
            try stage.run(
                place.job(", onFinish: [sh, -c, 'printf %s \"$TRANSFER_RUN_TASK_PATH$TRANSFER_RUN_PATH\" > told']")
            ).status
                == 0)
        #expect(try stage.text("told").contains("s3://bucket/in/a"))
    }
}
