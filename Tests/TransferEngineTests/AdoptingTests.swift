import CurlCore
import Digests
import TestSupport
import Testing
import TextFormats
import TransferEngine
import TransferModel

/// `resume: adopt`: a file that another program left half-done under the final name, on the rig.
@Suite struct AdoptingTests {
    private let whole = String(repeating: "abcdefgh", count: 100)
    private var part: String { String(whole.prefix(300)) }

    private func sum(_ text: String) throws -> String { "\(try Checksum.of(Array(text.utf8), .sha256))" }

    private func rig(_ there: String? = nil, _ more: String = "", checksum: String? = nil) throws -> EngineRig {
        let sum = try checksum ?? self.sum(whole)
        let rig = try EngineRig(
            EngineRig.job("to: f, resume: adopt\(sum.isEmpty ? "" : ", checksum: '\(sum)'")\(more)"))
        rig.delivery.put("/here/f", there ?? part)
        rig.start()
        return rig
    }

    private func answerHead(_ rig: EngineRig, _ status: Int = 200, _ headers: [(String, String)] = []) throws {
        #expect(try rig.request().request.method == "HEAD")
        try rig.answer(status, [("Content-Length", "\(whole.utf8.count)")] + headers)
    }

    private func answerRest(
        _ rig: EngineRig, from: Int = 300, of text: String? = nil, _ headers: [(String, String)] = []
    ) throws {
        #expect(try rig.request().header("Range") == "bytes=\(from)-")
        let text = text ?? whole
        let range = "bytes \(from)-\(text.utf8.count - 1)/\(text.utf8.count)"
        try rig.answer(206, [("Content-Range", range)] + headers, String(text.dropFirst(from)))
    }

    @Test func partOfTheFile_isGoneOnWith() throws {
        let rig = try rig()
        try answerHead(rig, 200, [("ETag", "\"1\"")])
        #expect(try rig.request().header("If-Range") == nil)
        // Until the whole is verified nobody sees anything new.
        #expect(rig.delivery.text("/here/f") == part)
        try answerRest(rig)
        #expect(rig.succeeded && rig.delivery.text("/here/f") == whole)
        #expect(rig.result()?.source == .resumed && rig.result()?.resumedFrom == 300)
        #expect(rig.result()?.startedOver == nil)
    }

    @Test func otherBytes_areFetchedOnceMoreWhole() throws {
        let rig = try rig(String(repeating: "z", count: 300))
        try answerHead(rig)
        try answerRest(rig)
        #expect(rig.verdict() == nil && rig.delivery.text("/here/f")?.hasPrefix("z") == true)
        let request = try rig.request()
        #expect(request.header("Range") == nil && request.request.method == "GET")
        try rig.answer(200, [], whole)
        #expect(rig.succeeded && rig.delivery.text("/here/f") == whole)
        #expect(rig.result()?.source == .network && rig.result()?.resumedFrom == 0)
        #expect(rig.result()?.startedOver?.contains("no part of this file") == true)
    }

    /// The second whole one is judged like any other, and the file of the other program is not tried again.
    @Test func wrongWholeAfterThat_fails() throws {
        let rig = try rig(String(repeating: "z", count: 300))
        try answerHead(rig)
        try answerRest(rig)
        try rig.answer(200, [], "wrong")
        #expect(rig.error()?.name == .checksumMismatch)
        rig.start(attempt: 2)
        #expect(try rig.request().request.method == "GET")
    }

    @Test func withoutAnyDigest_isFetchedWholeAndSaysWhy() throws {
        let rig = try rig(checksum: "")
        try answerHead(rig, 200, [("ETag", "\"1\"")])
        #expect(try rig.request().header("Range") == nil)
        try rig.answer(200, [], whole)
        #expect(rig.succeeded && rig.result()?.resumedFrom == 0)
        #expect(rig.result()?.startedOver?.contains("no `checksum`") == true)
    }

    @Test func digestOfTheServer_provesTheWhole() throws {
        for isRight in [true, false] {
            let rig = try rig(isRight ? nil : String(repeating: "z", count: 300), checksum: "")
            let bytes = try Checksum.of(Array(whole.utf8), .md5).bytes
            try answerHead(rig, 200, [("Content-MD5", Base64.encode(bytes)), ("ETag", "\"1\"")])
            #expect(try rig.request().header("If-Range") == "\"1\"")
            try answerRest(rig, from: 300, [("ETag", "\"1\"")])
            #expect(rig.succeeded == isRight)
            if !isRight { try rig.answer(200, [("Content-MD5", Base64.encode(bytes))], whole) }
            #expect(rig.succeeded && rig.delivery.text("/here/f") == whole)
        }
    }

    @Test(arguments: [800, 801]) func fileAsLongOrLonger_followsExisting(_ size: Int) throws {
        let rig = try rig(String(repeating: "z", count: size))
        try answerHead(rig)
        #expect(try rig.request().header("Range") == nil)
        try rig.answer(200, [], whole)
        #expect(rig.succeeded && rig.result()?.startedOver == nil)
    }

    @Test func refusedHead_asksForTheRestAllTheSame() throws {
        let rig = try rig()
        try rig.answer(403)
        try answerRest(rig)
        #expect(rig.succeeded && rig.delivery.text("/here/f") == whole)
    }

    /// A server that breaks off at each HEAD would keep the file from ever being fetched.
    @Test func headWithoutAnAnswer_isAskedOnce() throws {
        let rig = try rig()
        try rig.cut(.emptyReply)
        rig.start(attempt: 2)
        let request = try rig.request()
        #expect(request.request.method == "GET" && request.header("Range") == nil)
        try rig.answer(200, [], whole)
        #expect(rig.succeeded && rig.result()?.startedOver?.contains("did not answer") == true)
    }

    @Test func headThatWasNeverSent_isAskedAgain() throws {
        let rig = try rig()
        try rig.cut(.cannotConnect)
        rig.start(attempt: 2)
        try answerHead(rig)
        try answerRest(rig)
        #expect(rig.succeeded && rig.result()?.resumedFrom == 300)
    }

    @Test func redirectedHead_completesThePartWhereverTheRestIs() throws {
        let rig = try rig()
        try rig.answer(302, [("Location", "https://m1.example/f")])
        try answerHead(rig)
        #expect(try rig.request().request.url == "https://a.example/f")
        try rig.answer(302, [("Location", "https://m2.example/f")])
        #expect(try rig.request().request.url == "https://m2.example/f")
        try answerRest(rig)
        #expect(rig.succeeded && rig.result()?.resumedFrom == 300)
    }

    @Test func cutRest_goesOnInTheNextAttempt() throws {
        let rig = try rig()
        try answerHead(rig)
        let transfer = try rig.answer(
            206, [("Content-Range", "bytes 300-799/800"), ("Content-Length", "500"), ("ETag", "\"1\"")], stays: true)
        rig.send(String(whole.dropFirst(300).prefix(200)), to: transfer)
        try rig.cut()
        rig.start(attempt: 2)
        #expect(try rig.request().header("If-Range") == "\"1\"")
        try answerRest(rig, from: 500, [("ETag", "\"1\"")])
        #expect(rig.succeeded && rig.delivery.text("/here/f") == whole)
    }

    @Test func cutRestWithoutAValidator_goesOnToo() throws {
        let rig = try rig()
        try answerHead(rig)
        let transfer = try rig.answer(
            206, [("Content-Range", "bytes 300-799/800"), ("Content-Length", "500")], stays: true)
        rig.send(String(whole.dropFirst(300).prefix(200)), to: transfer)
        try rig.cut()
        rig.start(attempt: 2)
        #expect(try rig.request().header("If-Range") == nil)
        try answerRest(rig, from: 500)
        #expect(rig.succeeded && rig.delivery.text("/here/f") == whole)
    }

    @Test func cancelledWhileItIsCopied_leavesTheFileAsItWas() throws {
        let rig = try rig()
        rig.delivery.isHeld = true
        try answerHead(rig)
        rig.cancel()
        rig.delivery.isHeld = false
        rig.turn()
        #expect(rig.error()?.name == .cancelled && rig.delivery.text("/here/f") == part)
        #expect(rig.delivery.bodies.isEmpty && rig.loop.underWay.isEmpty)
    }

    @Test func fileThatChangesMeanwhile_isNotAdopted() throws {
        let rig = try rig()
        rig.delivery.put("/here/f", part + "more")
        try answerHead(rig)
        #expect(try rig.request().header("Range") == nil)
        try rig.answer(200, [], whole)
        #expect(rig.succeeded && rig.result()?.startedOver?.contains("being changed") == true)
    }

    @Test func beginningThatIsNotExpected_isNotAdopted() throws {
        let rig = try rig(nil, ", expect: { magic: '7a7a' }", checksum: try sum("zz" + whole))
        try answerHead(rig)
        #expect(try rig.request().header("Range") == nil)
        try rig.answer(200, [], "zz" + whole)
        #expect(rig.succeeded)
    }

    @Test(arguments: ["true", "false"]) func withoutAdopt_nothingIsAsked(_ resume: String) throws {
        let rig = try EngineRig(EngineRig.job("to: f, resume: \(resume), checksum: '\(try sum(whole))'"))
        rig.delivery.put("/here/f", part)
        rig.start()
        #expect(try rig.request().request.method == "GET")
        #expect(try rig.request().header("Range") == nil)
    }
}
