import Glibc
import TestSupport
import Testing

/// `checksum: { from: …, signature: … }`: a list counts once its minisign signature is found right.
@Suite struct ChecksumSignatureTests {
    private static let md5 = "900150983cd24fb0d6963f7d28e17f72"

    private func server(_ signature: String = MinisignSample.prehashed, list: String = MinisignSample.sums) throws
        -> ScriptedServer
    {
        let server = try ScriptedServer()
        server.on("/sums", .respond(200, body: list))
        server.on("/sums.minisig", .respond(200, body: signature))
        for name in ["/a", "/b", "/c"] { server.on(name, .respond(200, body: "abc")) }
        return server
    }

    private func checksum(_ server: ScriptedServer, key: String = MinisignSample.key, _ more: String = "") -> String {
        "checksum: { from: '\(server.url("/sums"))', entry: a, signature: { key: '\(key)'\(more) } }"
    }

    private func job(_ server: ScriptedServer, key: String = MinisignSample.key, _ more: String = "") -> String {
        "tasks: [{ id: a, url: '\(server.url("/a"))', to: a, \(checksum(server, key: key, more)) }]"
    }

    @Test(arguments: [MinisignSample.prehashed, MinisignSample.plain]) func aSignedListCounts(
        _ signature: String
    ) throws {
        let server = try server(signature)
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(job(server))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(try run.task("a", "file.checksum") == "md5:\(Self.md5)")
        #expect(server.requests().map(\.target) == ["/sums", "/sums.minisig", "/a"])
        // All three are requests of the attempt, and none of the first two is the task's answer.
        #expect(
            try run.values("$.tasks[*].attempts[*].transactions[*].request.url")
                == ["/sums", "/sums.minisig", "/a"].map { server.url($0) })
        #expect(try run.task("a", "response.url") == server.url("/a"))
    }

    @Test func whatIsSignedIsFetchedAndProvenOnce() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        let run = try stage.run(
            """
            sessions: { default: { maximumConnectionsPerHost: 2 } }
            defaults: { \(checksum(server)) }
            tasks:
              - { id: "${n}", forEach: { n: [a, b, c] }, url: "\(server.url("/"))${n}", to: "${n}" }
              - { id: free, url: "\(server.url("/a"))", to: free, checksum: { from: "\(server.url("/sums"))" } }
            """)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(stage.files == ["a", "b", "c", "free"])
        #expect(server.requests("/sums.minisig").count == 1)
        // Once for those that want it signed, and once for the one that does not.
        #expect(server.requests("/sums").count == 2)
    }

    @Test func theKeyMayBeAFileBesideTheJob() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write("keys/release.pub", MinisignSample.keyFile)
        #expect(try stage.run(job(server, key: "keys/release.pub")).status == 0)
        try stage.folder.write(Stage.jobFile, job(server, key: "keys/release.pub"))
        let check = try stage.binary.run("check", Stage.jobFile)
        #expect(check.exitStatus == 0)
        let text = check.outputText + check.errorText
        #expect(text.contains("trusts the minisign key \(MinisignSample.keyID)"), "\(text)")
        let access = try stage.binary.run("check", "--explain-access", Stage.jobFile)
        let whole = access.outputText + access.errorText
        #expect(whole.contains("trust 1 signing key\n    \(MinisignSample.keyID)  (job.yaml:1: task `a`)"), "\(whole)")
        let plan = try stage.binary.run("plan", Stage.jobFile)
        #expect(
            plan.outputText.contains("its checksum file signed by the minisign key \(MinisignSample.keyID)"),
            "\(plan.outputText)")
        let json = try stage.binary.run("plan", "--json", Stage.jobFile).outputText
        #expect(json.contains("\"signedBy\":\"\(MinisignSample.keyID)\""), "\(json)")
    }

    /// Signatures lie beside the URL from which the task fetches the list, whatever the file is called here.
    @Test(arguments: [[], ["--except", "sums"]]) func theListOfATaskIsProven(_ options: [String]) throws {
        let server = try server()
        defer { server.stop() }
        server.on("/sums?v=1", .respond(200, body: MinisignSample.sums))
        server.on("/sums.minisig?v=1", .respond(200, body: MinisignSample.prehashed))
        let stage = try Stage()
        let job = """
            tasks:
              - { id: sums, url: "\(server.url("/sums?v=1"))", to: in/list }
              - { id: a, url: "\(server.url("/a"))", to: a, needs: [sums],
                  checksum: { from: sums, signature: { key: \(MinisignSample.key) } } }
            """
        if !options.isEmpty { try stage.folder.write("in/list", MinisignSample.sums) }
        let program = try stage.start(job, options)
        let run = try stage.finish(program)
        #expect(run.status == 0, "\(run.errorText)")
        #expect(server.requests().map(\.target).suffix(2) == ["/sums.minisig?v=1", "/a"])
        // The list that was fetched is not the one that was signed.
        try stage.folder.write("in/list", MinisignSample.sums + "\n")
        let again = try stage.finish(try stage.start(job, ["--except", "sums"]))
        #expect(try again.task("a", "error.name") == "signatureMismatch")
        #expect(try again.task("a", "error.message")?.contains("does not fit the checksum file file:///") == true)
    }

    @Test func filesOfThisMachine() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        let list = try stage.folder.write("my sums", MinisignSample.sums)
        let url = "file://" + list.split(separator: " ").joined(separator: "%20")
        let job = """
            tasks:
              - { id: a, url: "\(server.url("/a"))", to: a,
                  checksum: { from: "\(url)", signature: { key: \(MinisignSample.key) } } }
            """
        let missing = try stage.run(job)
        #expect(try missing.task("a", "error.name") == "fileDoesNotExist")
        #expect(
            try missing.task("a", "error.message")?.hasPrefix("the signature \(url).minisig of the checksum file ")
                == true)
        #expect(server.requests().isEmpty)
        try stage.folder.write("my sums.minisig", MinisignSample.plain)
        #expect(try stage.run(job).status == 0)
        try stage.folder.write("my sums.minisig", String(repeating: "x", count: 17 << 10))
        stage.folder.remove("a")
        let long = try stage.run(job)
        #expect(
            try long.task("a", "error.message")?.hasSuffix("is no minisign signature: it is longer than 16 KiB") == true
        )
    }

    // MARK: Refusals

    /// Nothing of what the list speaks of is asked for, and no attempt follows.
    private func refusal(_ server: ScriptedServer, name: String) throws -> String {
        let stage = try Stage()
        let run = try stage.run(
            """
            defaults: { \(checksum(server)) }
            tasks:
              - { id: a, url: "\(server.url("/a"))", to: a }
              - { id: b, url: "\(server.url("/b"))", to: b }
            """)
        #expect(run.status == 1)
        #expect(stage.files == [])
        #expect(server.requests().map(\.target) == ["/sums", "/sums.minisig"])
        for id in ["a", "b"] { #expect(try run.task(id, "error.name") == name) }
        #expect(try run.task("a", "error.message") == run.task("b", "error.message"))
        return try #require(try run.task("a", "error.message"))
    }

    @Test func aMissingSignatureIsTheServersAnswer() throws {
        let server = try server()
        defer { server.stop() }
        server.on("/sums.minisig", .respond(404))
        let place = "the signature \(server.url("/sums.minisig")) of the checksum file \(server.url("/sums")): "
        let message = try refusal(server, name: "unexpectedResponse")
        #expect(message.hasPrefix(place) && message.contains("404"), "\(message)")
    }

    @Test func aSignatureOfAnotherKeyNamesBoth() throws {
        let server = try server(MinisignSample.byAnother)
        defer { server.stop() }
        let message = try refusal(server, name: "signatureMismatch")
        #expect(
            message
                == "the signature \(server.url("/sums.minisig")) was made with the key \(MinisignSample.otherKeyID), "
                + "and the job asks for one of the key \(MinisignSample.keyID)")
    }

    @Test func aSignatureOfAnotherFileDoesNotFit() throws {
        let server = try server(list: MinisignSample.sums + "\(Self.md5)  b\n")
        defer { server.stop() }
        let message = try refusal(server, name: "signatureMismatch")
        #expect(
            message == "the signature \(server.url("/sums.minisig")) does not fit the checksum file "
                + "\(server.url("/sums")): one of the two was changed after it was signed")
    }

    @Test(arguments: [
        ("<!doctype html><title>Login</title>", "it does not begin with `untrusted comment:`"),
        (String(MinisignSample.prehashed.prefix(120)), "it has 2 of 4 lines"),
        ("untrusted comment: x\nAAAA\n", "it has 2 of 4 lines"),
        ("", "it does not begin with `untrusted comment:`"),
        (String(repeating: "x", count: 1 << 20), "it is longer than 16 KiB"),
    ]) func whatIsNoSignatureSaysWhy(_ body: String, _ why: String) throws {
        let server = try server(body)
        defer { server.stop() }
        let message = try refusal(server, name: "signatureMismatch")
        #expect(message == "\(server.url("/sums.minisig")) is no minisign signature: \(why)")
    }

    @Test func aChangedCommentIsRefused() throws {
        let server = try server(MinisignSample.prehashed.split(separator: "release 1").joined(separator: "release 2"))
        defer { server.stop() }
        let message = try refusal(server, name: "signatureMismatch")
        #expect(message.hasSuffix("was changed: its trusted comment is not the one signed"))
    }

    // MARK: Elsewhere and later

    @Test func aSignatureThatHealsIsAskedForAgain() throws {
        let server = try server()
        defer { server.stop() }
        server.on("/sums.minisig", .respond(503), .respond(200, body: MinisignSample.prehashed))
        let stage = try Stage()
        let run = try stage.run("defaults: { retry: { backoff: { initial: 10ms } } }\n" + job(server))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(server.requests().map(\.target) == ["/sums", "/sums.minisig", "/sums", "/sums.minisig", "/a"])
    }

    @Test func aSignatureElsewhereGetsNoCredentials() throws {
        let server = try server()
        let other = try ScriptedServer()
        defer { for one in [server, other] { one.stop() } }
        other.on("/moved", .redirect(302, to: "/signature"))
        other.on("/signature", .respond(200, body: MinisignSample.prehashed))
        let stage = try Stage()
        let run = try stage.run(
            "defaults: { headers: { Authorization: x } }\n" + job(server, ", url: '\(other.url("/moved"))'"))
        #expect(run.status == 0, "\(run.errorText)")
        #expect(server.requests().map(\.target) == ["/sums", "/a"])
        #expect(server.requests().allSatisfy { $0.header("Authorization") == "x" })
        #expect(other.requests().map(\.target) == ["/moved", "/signature"])
        #expect(other.requests().allSatisfy { $0.header("Authorization") == nil })
    }

    /// A file that is as the list says stays, once the list is proven.
    @Test func aFileThatIsThereStays() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        #expect(try stage.run(job(server)).status == 0)
        let again = try stage.run(job(server))
        #expect(try again.task("a", "source") == "unchanged")
        server.on("/sums.minisig", .respond(200, body: MinisignSample.byAnother))
        #expect(try stage.run(job(server)).task("a", "error.name") == "signatureMismatch")
    }

    /// A lock has the digest of the file itself, so nothing of the list is asked for.
    @Test func aLockedRunAsksForNoList() throws {
        let server = try server()
        defer { server.stop() }
        let stage = try Stage()
        try stage.folder.write(Stage.jobFile, job(server))
        let lock = try stage.binary.run("lock", Stage.jobFile)
        #expect(lock.exitStatus == 0, "\(lock.errorText)")
        #expect(server.requests().map(\.target) == ["/sums", "/sums.minisig", "/a"])
        server.on("/sums.minisig", .respond(404))
        let run = try stage.run(job(server), "--locked")
        #expect(run.status == 0, "\(run.errorText)")
        #expect(server.requests().map(\.target) == ["/sums", "/sums.minisig", "/a", "/a"])
    }

    /// What the real program signs now, under a name with a blank.
    @Test(.enabled(if: access("/usr/bin/minisign", X_OK) == 0, "minisign is not installed"), arguments: [[], ["-l"]])
    func whatMinisignSignsCounts(_ form: [String]) throws {
        let stage = try Stage()
        let minisign = try Binary(in: stage.folder, program: "/usr/bin/minisign")
        try stage.folder.write("keys/s.key", MinisignSample.secretKeyFile)
        try stage.folder.write("keys/p.pub", MinisignSample.keyFile)
        let list = try stage.folder.write("keys/LIST", "\(Self.md5)  a\n" + String(repeating: "#\n", count: 100_000))
        let signed = try minisign.run(
            arguments: ["-S", "-s", "keys/s.key", "-m", list, "-t", "a comment of today"] + form)
        #expect(signed.exitStatus == 0, "\(signed.errorText)")
        let server = try server(try stage.text("keys/LIST.minisig"), list: try stage.text("keys/LIST"))
        defer { server.stop() }
        let run = try stage.run(job(server, key: "keys/p.pub"))
        #expect(run.status == 0, "\(run.errorText)")
    }
}
