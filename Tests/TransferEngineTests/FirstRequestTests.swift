import CurlCore
import FileDelivery
import Testing
import TransferEngine
import TransferModel

/// What an attempt does before its first request, and what that says.
@Suite struct FirstRequestTests {
    @Test func download_asksForItsURL_withoutAnEncoding() throws {
        let rig = try EngineRig(EngineRig.job("to: f"))
        rig.start()
        let request = try rig.request()
        #expect(request.request.url == "https://a.example/f" && request.request.method == "GET")
        #expect(request.header("Accept-Encoding") == "identity" && request.header("Range") == nil)
        #expect(request.header("User-Agent") == "rig")
        #expect(request.request.bodyLength == nil)
    }

    @Test func dataTask_asksForEncodingsItCanUndo() throws {
        let rig = try EngineRig(EngineRig.job("type: data"))
        rig.start()
        let accepted = try #require(rig.request().header("Accept-Encoding"))
        for coding in ["gzip", "br", "zstd"] { #expect(accepted.contains(coding)) }
    }

    @Test(arguments: [
        ("headers: { X-A: one }", "X-A", "one"), ("headers: { Accept: text/plain }", "Accept", "text/plain"),
        ("query: { q: \"a b\" }", "User-Agent", "rig"),
    ]) func typedHeaders_areSent(_ task: String, _ name: String, _ value: String) throws {
        let rig = try EngineRig(EngineRig.job("to: f, \(task)"))
        rig.start()
        #expect(try rig.request().header(name) == value)
    }

    @Test func query_isEncodedIntoTheURL() throws {
        let rig = try EngineRig(EngineRig.job("to: f, query: { q: \"a b&c\" }"))
        rig.start()
        #expect(try rig.request().request.url == "https://a.example/f?q=a%20b%26c")
    }

    @Test(arguments: ["GET", "HEAD", "DELETE", "OPTIONS"]) func method_isSentAsWritten(_ method: String) throws {
        let rig = try EngineRig(EngineRig.job("type: data, method: \(method)"))
        rig.start()
        #expect(try rig.request().request.method == method)
    }

    @Test(arguments: [("POST", true), ("PATCH", true), ("GET", false), ("PUT", false)])
    func requestThatMustNotBeSentTwice_getsAConnectionOfItsOwn(_ method: String, _ isFresh: Bool) throws {
        let body = method == "GET" ? "" : ", body: { data: x }"
        let rig = try EngineRig(EngineRig.job("type: data, method: \(method)\(body)"))
        rig.start()
        #expect(try rig.request().request.needsFreshConnection == isFresh)
    }

    @Test func requestThatCannotBeStarted_failsTheAttempt() throws {
        let rig = try EngineRig(EngineRig.job("to: f"))
        rig.loop.refusal = TransferError(.unknown, "no memory")
        rig.start()
        #expect(rig.error()?.message == "no memory")
        #expect(rig.loop.transfers.isEmpty)
    }

    // MARK: `existing`

    @Test(arguments: ["skip", "fail", "replace", "revalidate"]) func nothingStands_everyPolicyAsks(_ policy: String)
        throws
    {
        let rig = try EngineRig(EngineRig.job("to: f, existing: \(policy)"))
        rig.start()
        try rig.answer(200, [], "new")
        #expect(rig.succeeded)
        #expect(rig.delivery.text("/here/f") == "new")
    }

    @Test func skip_leavesWhatStands_withoutARequest() throws {
        let rig = try EngineRig(EngineRig.job("to: f, existing: skip"))
        rig.delivery.put("/here/f", "old")
        rig.start()
        #expect(rig.succeeded && rig.loop.transfers.isEmpty)
        #expect(rig.result()?.source == .unchanged && rig.delivery.text("/here/f") == "old")
    }

    @Test func fail_failsWhereSomethingStands_withoutARequest() throws {
        let rig = try EngineRig(EngineRig.job("to: f, existing: fail"))
        rig.delivery.put("/here/f", "old")
        rig.start()
        #expect(rig.error()?.name == .destinationExists && rig.loop.transfers.isEmpty)
    }

    @Test(arguments: ["replace", "revalidate"]) func withoutValidators_theWholeFileIsAskedFor(_ policy: String) throws {
        let rig = try EngineRig(EngineRig.job("to: f, existing: \(policy)"))
        rig.delivery.put("/here/f", "old")
        rig.start()
        #expect(try rig.request().header("If-None-Match") == nil && rig.request().header("If-Modified-Since") == nil)
        try rig.answer(200, [], "new")
        #expect(rig.delivery.text("/here/f") == "new" && rig.result()?.file?.changed == true)
    }

    private static let sumOfNew = "sha256:11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437"

    @Test(arguments: ["revalidate", "skip"]) func fileThatMeetsItsChecksum_needsNoRequest(_ policy: String) throws {
        let rig = try EngineRig(EngineRig.job("to: f, existing: \(policy), checksum: \"\(Self.sumOfNew)\""))
        rig.delivery.put("/here/f", "new")
        rig.start()
        #expect(rig.succeeded && rig.loop.transfers.isEmpty && rig.result()?.source == .unchanged)
    }

    @Test func skippedFileWithAnotherChecksum_fails() throws {
        let rig = try EngineRig(EngineRig.job("to: f, existing: skip, checksum: \"\(Self.sumOfNew)\""))
        rig.delivery.put("/here/f", "other")
        rig.start()
        #expect(rig.error() != nil && rig.loop.transfers.isEmpty && rig.delivery.text("/here/f") == "other")
    }

    @Test func fileWithAnotherChecksum_isFetchedAgain() throws {
        let rig = try EngineRig(EngineRig.job("to: f, checksum: \"\(Self.sumOfNew)\""))
        rig.delivery.put("/here/f", "old")
        rig.start()
        try rig.answer(200, [], "new")
        #expect(rig.succeeded && rig.delivery.text("/here/f") == "new")
    }

    @Test func wrongBody_neverBecomesTheFile() throws {
        let rig = try EngineRig(EngineRig.job("to: f, checksum: \"\(Self.sumOfNew)\""))
        rig.delivery.put("/here/f", "old")
        rig.start()
        try rig.answer(200, [], "wrong")
        #expect(rig.error()?.name == .checksumMismatch && rig.delivery.text("/here/f") == "old")
    }

    // MARK: Other sources

    @Test func dataURL_needsNoConnection() throws {
        let rig = try EngineRig("tasks:\n  - { id: t, url: \"data:text/plain,hello\" }\n")
        rig.start()
        #expect(rig.succeeded && rig.body() == "hello" && rig.loop.transfers.isEmpty)
    }

    @Test func fileURL_isReadByTheDelivery() throws {
        let rig = try EngineRig("tasks:\n  - { id: t, url: \"file:///data/x\", to: f }\n")
        rig.delivery.put("/data/x", "local")
        rig.start()
        #expect(rig.succeeded && rig.delivery.text("/here/f") == "local" && rig.result()?.source == .local)
    }

    @Test func fileURLOfNothing_fails() throws {
        let rig = try EngineRig("tasks:\n  - { id: t, url: \"file:///data/x\", to: f }\n")
        rig.start()
        #expect(rig.error()?.name == .fileDoesNotExist)
    }
}
