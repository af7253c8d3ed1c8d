import Glibc
import TestSupport
import Testing
import TextFormats
import TransferModel

/// URLs of own schemes, answered by scripts.
@Suite struct OwnProtocolTests {
    /// A stage with one script for `gen:`.
    private func stage(_ script: String) throws -> Stage {
        let stage = try Stage()
        try stage.folder.write("gen.sh", script)
        return stage
    }

    private func sessions(_ more: String = "", commands: String = "[sh, gen.sh]") -> String {
        "sessions: { default: { protocols: [{ scheme: gen, command: \(commands) }], "
            + "retry: { attempts: 1 }\(more.isEmpty ? "" : ", \(more)") } }\n"
    }

    // MARK: An answer

    @Test func downloadsAndData() throws {
        let stage = try stage(
            #"""
            read -r request
            case "$request" in
            *'"url":"gen://store/abc"'*) printf 'Content-Length: 3\r\nX-From: gen\r\n\r\nabc' ;;
            *'"url":"gen://store/text?a=b"'*) printf 'Content-Type: text/plain; charset=utf-8\n\ngr\303\274\303\237e\n' ;;
            *) printf 'Status: 404 Not Found\nContent-Type: text/html\n\n<p>none</p>' ;;
            esac
            """#)
        let right = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        let run = try stage.run(
            sessions()
                + """
                tasks:
                  - { id: file, url: "gen://store/abc", to: out/, checksum: "\(right)", requireLength: true }
                  - { id: wrong, url: "gen://store/abc", to: no, checksum: "sha256:\(String(repeating: "0", count: 64))" }
                  - { id: text, url: "GEN://Store/text", query: { a: b }, requireLength: true }
                  - { id: gone, url: "gen://store/other", to: gone }
                  - { id: why, url: "gen://store/other" }
                """)
        #expect(run.status == 1)
        #expect(stage.files == ["gen.sh", "out/", "out/abc"])
        #expect(try stage.text("out/abc") == "abc")
        #expect(try run.task("file", "response.status") == "200")
        #expect(try run.task("file", "response.headers") == #"[["Content-Length","3"],["X-From","gen"]]"#)
        #expect(try run.task("file", "attempts[0].transactions[0].resourceFetchType") == "unknown")
        #expect(try run.task("file", "attempts[0].transactions[0].networkProtocolName") == nil)
        #expect(try run.task("wrong", "error.name") == "checksumMismatch")
        #expect(try run.task("text", "body.text") == "grüße\n")
        #expect(try run.task("text", "response.mimeType") == "text/plain")
        #expect(try run.task("gone", "error.name") == "unexpectedResponse")
        #expect(try run.task("why", "body.text") == "<p>none</p>")
        #expect(try run.values("$.sessions[0].hosts[*].host") == ["gen://store"])
    }

    @Test func whatTheCommandIsTold() throws {
        let stage = try stage("cat > asked; printf 'Status: 201\\n\\n'; pwd >&2")
        let body = Script.patternBytes(300_000)
        try stage.folder.write("body.bin", body)
        let run = try stage.run(
            sessions()
                + """
                secrets: { KEY: { env: KEY } }
                tasks:
                  - id: put
                    type: upload
                    method: PUT
                    url: gen://store/a b
                    headers: { X-Key: "${secret.KEY}", X-Two: [a, b] }
                    body: { file: body.bin }
                """, environment: ["KEY": "hush-hush-hush"])
        #expect(run.status == 0)
        let asked = try stage.folder.bytes("asked")
        let end = try #require(asked.firstIndex(of: 0x0A))
        #expect(Array(asked[(end + 1)...]) == body)
        let request = try JSONParser.parse(Array(asked[..<end]))
        #expect(request["version"]?.plainText == "1" && request["method"]?.plainText == "PUT")
        #expect(request["url"]?.plainText == "gen://store/a%20b")
        #expect(request["bodyLength"]?.plainText == "300000")
        let headers = request["headers"]?.plainText ?? ""
        #expect(headers.contains(#"["X-Key","hush-hush-hush"],["X-Two","a"],["X-Two","b"]"#))
        #expect(run.story(of: "put").contains("sentBodyData"))
        #expect(try run.task("put", "attempts[0].transactions[0].countOfRequestBodyBytesSent") == "300000")
        #expect(run.report.plainText?.contains("hush-hush") == false)
    }

    @Test func withoutABody() throws {
        let stage = try stage("cat > asked; printf '\\n'")
        #expect(try stage.run(sessions() + "tasks: [{ id: a, url: 'gen://store/a' }]").status == 0)
        #expect(try stage.text("asked").hasSuffix("\"bodyLength\":0}\n"))
    }

    @Test func aHeadHasNoBody() throws {
        let stage = try stage("printf 'Content-Length: 9\\n\\nall of it'")
        let run = try stage.run(sessions() + "tasks: [{ id: a, method: HEAD, url: 'gen://store/a' }]")
        #expect(run.status == 0)
        #expect(try run.task("a", "body.text") == "")
    }

    /// One that goes on and on would be waited for as long as it writes.
    @Test(arguments: ["GET", "HEAD"]) func whatNeverEndsWhereNothingIsToBe(_ method: String) throws {
        let stage = try stage("printf 'Status: \(method == "GET" ? 204 : 200)\\n\\n'; exec yes")
        let run = try stage.run(
            sessions("timeoutForRequest: 1s, timeoutForResource: 60s")
                + "tasks: [{ id: a, method: \(method), url: 'gen://store/a' }]")
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "timedOut")
        #expect(try run.task("a", "error.message")?.contains("did not end after an answer without a body") == true)
    }

    /// A program may care nothing for the method, and what it does after its answer is done.
    @Test func aLongBodyInVainIsPassedOver() throws {
        let stage = try stage("printf 'Content-Length: 2000000\n\n'; head -c 2000000 /dev/zero; echo > after")
        let run = try stage.run(sessions() + "tasks: [{ id: a, method: HEAD, url: 'gen://store/a' }]")
        #expect(run.status == 0, "\(run.errorText)")
        #expect(stage.folder.exists("after"))
    }

    /// The end of its input tells a program that this was all.
    @Test(arguments: ["", "trap '' TERM; "]) func aBodyThatBreaksOffNeverEnds(_ trap: String) throws {
        let stage = try stage("\(trap)read -r request; cat > held && mv held taken; printf 'Status: 201\\n\\n'")
        let run = try stage.run(
            sessions()
                + "tasks: [{ id: a, type: upload, method: PUT, url: 'gen://store/a', "
                + "body: { stream: { command: [sh, -c, 'printf 12345; exit 1'] } } }]")
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "bodyCommandFailed")
        #expect(!stage.folder.exists("taken"))
    }

    /// As much as a pipe holds many times over, both ways, from programs that read and write as they like. One after the
    /// other: alone, each waits for nobody but the other two ends of its own pipes.
    @Test func longOnes() throws {
        let stage = try stage("read -r request; printf '\\n'; cat")
        let body = Script.patternBytes(12 << 20)
        try stage.folder.write("in", body)
        let run = try stage.run(
            sessions("maximumConnectionsPerHost: 1")
                + "tasks: [{ id: 'a-${n}', forEach: { n: 1..6 }, method: PUT, url: 'gen://store/a', to: 'out-${n}', "
                + "type: download, body: { stream: { command: [cat, in] } } }]")
        #expect(run.status == 0)
        for number in 1...6 {
            #expect(try stage.folder.bytes("out-\(number)") == body)
            // It waits for its own pipes alone: a turn that was missed would last as long as a silence may.
            #expect(try #require(run.task("a-\(number)", "attempts[0].duration").flatMap(Double.init)) < 30)
        }
    }

    @Test func manyAtOnce() throws {
        let stage = try stage("read -r request; printf '\\n%s' \"$request\"")
        let run = try stage.run(
            sessions("maximumConnectionsPerHost: 20")
                + "tasks: [{ id: 'a-${n}', forEach: { n: 1..200 }, url: 'gen://store/${n}', to: 'out/${n}' }]")
        #expect(run.status == 0)
        for number in [1, 57, 200] { #expect(try stage.text("out/\(number)").contains("gen://store/\(number)\"")) }
        #expect(try run.value("$.sessions[0].hosts[0].peakConnections").flatMap { Int($0) }.map { $0 <= 20 } == true)
    }

    // MARK: Who answers

    @Test func theLastIsAskedFirstAndMayPass() throws {
        let stage = try Stage()
        for (name, answers) in [("first", "*"), ("second", "*b"), ("third", "*c")] {
            try stage.folder.write(
                "\(name).sh",
                """
                read -r request
                case "${request%%\\",\\"headers*}" in \(answers)) ;; *) exit 64 ;; esac
                printf '\\n\(name) '; cat
                """)
        }
        let commands = ["first", "second", "third"].map { "{ scheme: gen, command: [sh, \($0).sh] }" }
        let run = try stage.run(
            """
            sessions:
              default: { protocols: [\(commands.joined(separator: ", ")), { scheme: never, command: [sh, -c, exit 64] }] }
            tasks:
              - { id: a, url: gen://store/a }
              - { id: b, url: gen://store/b, type: data, method: PUT, body: { data: given } }
              - { id: c, url: gen://store/c }
              - { id: nobody, url: never://store/c }
            """)
        #expect(run.status == 1)
        #expect(try run.task("a", "body.text") == "first ")
        // Whoever passed took nothing of the body with it.
        #expect(try run.task("b", "body.text") == "second given")
        #expect(try run.task("c", "body.text") == "third ")
        #expect(try run.task("nobody", "error.name") == "unsupportedURL")
        #expect(try run.values("$.tasks[3].attempts[*].number") == ["1"])
    }

    @Test func anotherSessionsSchemeIsUnknown() throws {
        let stage = try stage("printf '\\n'")
        let run = try stage.run(
            """
            sessions: { with: { protocols: [{ scheme: gen, command: [sh, gen.sh] }] }, without: {} }
            tasks: [{ id: a, session: with, url: "gen://s/a" }, { id: b, session: without, url: "gen://s/a" }]
            """)
        #expect(run.status == 1)
        #expect(run.errorText.contains("the session `with` has a command for it"))
        #expect(try run.values("$.tasks[*].outcome") == ["succeeded", "failed"])
        #expect(try run.task("b", "error.name") == "unsupportedURL")
    }

    @Test func nothingIsFollowed() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/there", .respond(302, headers: [("Location", "gen://store/a")]))
        let stage = try stage("printf 'Status: 302\\nLocation: \(server.url("/here"))\\n\\n'; echo run >> runs")
        let run = try stage.run(
            sessions()
                + """
                tasks:
                  - { id: out, url: "gen://store/a" }
                  - { id: wanted, url: "gen://store/a", expect: { status: 302 } }
                  - { id: in, url: "\(server.url("/there"))" }
                """)
        #expect(run.status == 1)
        #expect(try run.task("out", "error.name") == "unexpectedResponse")
        #expect(try run.task("wanted", "outcome") == "succeeded")
        #expect(try run.task("in", "error.name") == "redirectRefused")
        #expect(server.requests().map(\.target) == ["/there"])
        #expect(try stage.text("runs") == "run\nrun\n")
    }

    /// Beside places of other schemes, and with a list of checksums of its own.
    @Test func mirrorsAndChecksums() throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.on("/abc", .respond(200, body: "abc"))
        let stage = try stage(
            #"""
            read -r request
            case "$request" in
            *'gen://store/sums"'*) printf '\nba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  abc\n' ;;
            *) printf 'Status: 404\n\n' ;;
            esac
            """#)
        let run = try stage.run(
            sessions()
                + """
                tasks:
                  - { id: a, urls: ["gen://store/abc", "\(server.url("/abc"))"], to: a, checksum: { from: "gen://store/sums" } }
                """)
        #expect(run.status == 0)
        #expect(try stage.text("a") == "abc")
        #expect(try run.values("$.tasks[0].attempts[*].outcome") == ["failed", "succeeded"])
    }

    @Test func aSecretGoesOnlyWhereItMay() throws {
        let stage = try stage("touch ran; printf '\\n'")
        let run = try stage.run(
            sessions()
                + """
                secrets: { KEY: { env: KEY, hosts: [elsewhere] } }
                tasks: [{ id: a, url: "gen://store/a", headers: { X-Key: "${secret.KEY}" } }]
                """, environment: ["KEY": "hush-hush-hush"])
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "secretBarred")
        #expect(!stage.folder.exists("ran"))
    }

    // MARK: Limits

    @Test func oneAtATime() throws {
        let stage = try stage("mkdir busy || exit 1; sleep 0.02; rmdir busy; printf '\\n'")
        let run = try stage.run(
            sessions("maximumConnectionsPerHost: 1")
                + "tasks: [{ id: 'a-${n}', forEach: { n: 1..8 }, url: 'gen://store/${n}' }]")
        #expect(run.status == 0)
        #expect(try run.value("$.sessions[0].hosts[0].peakConnections") == "1")
    }

    @Test func neverMoreThanMayBe() throws {
        let stage = try stage("echo $$ > pid; printf '\\n'; exec yes")
        let run = try stage.run(sessions() + "tasks: [{ id: a, url: 'gen://s/a', to: out, maximumSize: 1MiB }]")
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "dataLengthExceedsMaximum")
        #expect(stage.files == ["gen.sh", "pid"])
        #expect(try isGone(stage))
    }

    @Test func bandwidth() throws {
        let stage = try stage("printf '\\n'; head -c 300000 /dev/zero")
        let run = try stage.run(
            sessions() + "tasks: [{ id: a, url: 'gen://s/a', to: out, bandwidth: 300kB/s, timeoutForRequest: 500ms }]")
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("out").count == 300_000)
        #expect(run.result.duration >= .milliseconds(700))
    }

    // MARK: What goes wrong

    @Test(arguments: [
        ("printf 'Content-Length: 9\\n\\nhalf'; echo disk on fire >&2; exit 3", "ended with status 3: disk on fire"),
        ("printf '\\nhalf'; kill -9 $$", "ended by signal 9"),
        ("printf 'A: b\\n'; exit 64", "after it had begun"),
        ("echo hello", "where a header line should be"),
        ("printf 'A: b'", "no empty line"),
        ("true", "gave no answer"),
        ("printf 'Content-Length: 9\\n\\nhalf'", "after 4 of 9 bytes"),
        ("printf 'Content-Length: 3\\n\\nmore'", "3 bytes were announced"),
        ("printf 'Content-Length: 3\\nContent-Length: 4\\n\\nmore'", "two lengths"),
        ("printf 'Transfer-Encoding: chunked\\n\\n0\\n\\n'", "Transfer-Encoding"),
    ])
    func aBrokenAnswerIsNoFile(_ script: String, _ words: String) throws {
        let stage = try stage(script)
        try stage.folder.write("out", "old")
        let run = try stage.run(sessions() + "tasks: [{ id: a, url: 'gen://s/a', to: out, existing: replace }]")
        #expect(run.status == 1)
        let message = try run.task("a", "error.message") ?? ""
        #expect(message.contains(words), "\(message)")
        #expect(stage.files == ["gen.sh", "out"])
        #expect(try stage.text("out") == "old")
    }

    @Test func itsLastWordsHoldNoSecret() throws {
        let stage = try stage(
            "printf '%5000s\\n' long >&2; printf '\\033[1m%390s ' x >&2; cat >&2; exit 1")
        let run = try stage.run(
            sessions()
                + """
                secrets: { KEY: { env: KEY } }
                tasks: [{ id: a, url: "gen://s/a", headers: { X-Key: "${secret.KEY}" } }]
                """, environment: ["KEY": "hush-hush-hush"])
        #expect(try run.task("a", "error.name") == "commandFailed")
        let message = try run.task("a", "error.message") ?? ""
        #expect(message.contains("***") && !message.contains("hush") && !message.contains("\u{1b}"))
        #expect(message.utf8.count < 600)
    }

    @Test func itIsTriedAgain() throws {
        let stage = try stage(
            "echo x >> runs; printf 'Content-Length: 4\\n\\n'; if [ $(wc -l < runs) -lt 3 ]; then exit 1; fi; printf four"
        )
        let run = try stage.run(
            sessions("retry: { attempts: 4, backoff: { initial: 10ms } }").replacing(
                "retry: { attempts: 1 }, ", with: "")
                    + """
                    tasks:
                      - { id: a, url: "gen://s/a", to: out }
                      - { id: post, needs: [a], url: "gen://s/a", method: POST, body: { data: x } }
                    """)
        #expect(run.status == 0)
        #expect(try stage.text("out") == "four")
        #expect(try run.values("$.tasks[0].attempts[*].outcome") == ["failed", "failed", "succeeded"])
    }

    /// Who knows whether it did what it was asked to before it failed?
    @Test func aPostIsNotTriedAgain() throws {
        let stage = try stage("echo x >> runs; exit 1")
        let run = try stage.run(
            "sessions: { default: { protocols: [{ scheme: gen, command: [sh, gen.sh] }] } }\n"
                + "tasks: [{ id: a, url: 'gen://s/a', method: POST, body: { data: x } }]")
        #expect(run.status == 1)
        #expect(try stage.text("runs") == "x\n")
    }

    @Test func whatBrokeOffIsGoneOnWith() throws {
        let stage = try stage(
            #"""
            read -r request
            case "$request" in
            *'["Range","bytes=200000-"],["If-Range","\"v1\""]'*)
                printf 'Status: 206\nETag: "v1"\nContent-Range: bytes 200000-299999/300000\n\n'
                tail -c +200001 source ;;
            *)  printf 'ETag: "v1"\nContent-Length: 300000\n\n'; head -c 200000 source; exit 1 ;;
            esac
            """#)
        let bytes = Script.patternBytes(300_000)
        try stage.folder.write("source", bytes)
        let run = try stage.run(
            "sessions: { default: { protocols: [{ scheme: gen, command: [sh, gen.sh] }], "
                + "retry: { backoff: { initial: 10ms } } } }\n"
                + "tasks: [{ id: a, url: 'gen://s/a', to: out }]")
        #expect(run.status == 0)
        #expect(try stage.folder.bytes("out") == bytes)
        #expect(try run.task("a", "source") == "resumed")
        #expect(try run.task("a", "attempts[1].resumedFrom") == "200000")
    }

    @Test(arguments: ["[no-such-program-anywhere]", "[./gen.sh]"])
    func oneThatCannotBeStarted(_ command: String) throws {
        let stage = try stage("printf '\\n'")
        let run = try stage.run(
            "sessions: { default: { protocols: [{ scheme: gen, command: \(command) }] } }\n"
                + "tasks: [{ id: a, url: 'gen://s/a' }]")
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "commandUnusable")
        #expect(try run.values("$.tasks[0].attempts[*].number") == ["1"])
    }

    // MARK: Its end

    @Test(arguments: [
        ("echo $$ > pid; printf '\\nsome'; exec sleep 1000", "is silent"),
        ("echo $$ > pid; exec sleep 1000 >&-", "closed its output and did not end"),
        ("sleep 1000 & echo $! > pid; printf '\\nsome'; exit 0", "keeps its output open"),
    ])
    func whoSaysNothingIsNotWaitedFor(_ script: String, _ words: String) throws {
        let stage = try stage(script)
        let run = try stage.run(sessions("timeoutForRequest: 300ms") + "tasks: [{ id: a, url: 'gen://s/a', to: out }]")
        #expect(run.status == 1)
        #expect(try run.task("a", "error.name") == "timedOut")
        #expect(try run.task("a", "error.message")?.contains(words) == true)
        #expect(run.result.duration < .seconds(20))
        #expect(try isGone(stage))
        #expect(stage.files == ["gen.sh", "pid"])
    }

    @Test func aCancelledRunLeavesNothingRunning() throws {
        let stage = try stage("trap '' TERM; (sleep 1000 & echo $! > pid; wait) & printf '\\nsome\\n'; wait; wait")
        let program = try stage.start(sessions() + "tasks: [{ id: a, url: 'gen://s/a', to: out }]")
        waitUntil { (try? stage.text("pid"))?.hasSuffix("\n") == true }
        program.send(signal: SIGTERM)
        let run = try stage.finish(program)
        #expect(run.status == 143)
        #expect(try run.task("a", "outcome") == "cancelled")
        #expect(run.result.duration < .seconds(20))
        #expect(try isGone(stage))
    }

    /// Whether what the script noted in `pid` has ended.
    private func isGone(_ stage: Stage) throws -> Bool {
        let process = try #require(Int32(try stage.text("pid").filter { $0 != "\n" }))
        for _ in 0..<500 {
            if kill(process, 0) != 0 { return true }
            // Nobody may be there who takes an orphan's end away.
            if let stat = try? TemporaryTree.bytes(at: "/proc/\(process)/stat"),
                String(decoding: stat, as: UTF8.self).contains(") Z ")
            {
                return true
            }
            usleep(10_000)
        }
        return false
    }
}
