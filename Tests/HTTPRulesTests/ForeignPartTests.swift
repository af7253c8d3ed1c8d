import HTTPRules
import TestSupport
import Testing
import TransferModel

/// What the answer to a HEAD says of a file that another program left under a download's final name.
@Suite struct ForeignPartTests {
    private let url = "http://a.test/f"
    private static let digest = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"

    private func judge(
        _ status: Int, _ headers: [(String, String)], size: Int64 = 100, hasChecksum: Bool = true
    ) -> ForeignPart.Verdict {
        ForeignPart(size: size, hasChecksum: hasChecksum).judge(
            status: status, HeaderBlock(headers), url: url, asked: nil)
    }

    private func adopted(_ verdict: ForeignPart.Verdict) -> ResumePoint? {
        if case .adopt(let point) = verdict { point } else { nil }
    }

    private func whyNot(_ verdict: ForeignPart.Verdict) -> String? {
        if case .leave(let why) = verdict { why } else { nil }
    }

    @Test func longerFile_withAChecksumInTheJob_isAskedForFromWhereThePartEnds() throws {
        let point = try #require(adopted(judge(200, [("Content-Length", "101"), ("ETag", "\"v\"")])))
        #expect(point.offset == 100 && point.total == 101 && point.isForeign && point.sent == nil)
        // No validator was kept of these bytes.
        #expect(Resuming.headers(for: point).map(\.name) == ["Range"])
    }

    @Test(arguments: [("Repr-Digest", digest), ("Content-MD5", "1B2M2Y8AsgTpgAmY7PhCfg==")])
    func longerFile_withADigestOfTheServer_isAskedForUnderTheHeadsValidator(_ name: String, _ value: String) throws {
        let answer = judge(200, [("Content-Length", "101"), ("ETag", "\"v\""), (name, value)], hasChecksum: false)
        let point = try #require(adopted(answer))
        #expect(point.sent?.header == name && point.validator == "\"v\"")
        #expect(Resuming.headers(for: point).map(\.name) == ["Range", "If-Range"])
    }

    /// RFC 9530: in the answer to a HEAD it is the digest of no bytes.
    @Test func contentDigestOfAHead_provesNothing() {
        let answer = judge(200, [("Content-Length", "101"), ("Content-Digest", Self.digest)], hasChecksum: false)
        #expect(whyNot(answer)?.contains("no `checksum`") == true)
    }

    @Test(arguments: [100, 99, 0]) func fileNoLongerThanThePart_isLeftToTheOrdinaryRules(_ length: Int) {
        for hasChecksum in [true, false] {
            #expect(judge(200, [("Content-Length", "\(length)")], hasChecksum: hasChecksum) == .leave(why: nil))
        }
    }

    @Test(arguments: [("Accept-Ranges", "none"), ("Content-Encoding", "gzip")])
    func fileThatCannotBeContinued_isNotAdopted(_ name: String, _ value: String) {
        #expect(whyNot(judge(200, [("Content-Length", "101"), (name, value)])) != nil)
    }

    @Test func refusedHead_leavesTheLengthToTheRange_whereTheJobHasAChecksum() throws {
        for status in [400, 403, 405] {
            #expect(adopted(judge(status, []))?.total == nil)
            #expect(adopted(judge(status, [])) != nil)
            #expect(whyNot(judge(status, [], hasChecksum: false))?.contains("\(status)") == true)
        }
        for status in [301, 429, 500, 503] { #expect(whyNot(judge(status, [])) != nil) }
        for status in [404, 410] { #expect(judge(status, []) == .leave(why: nil)) }
    }

    /// Whatever a server says, a part is adopted only where something can prove the whole, and never past its end.
    @Test func hostileHeads_adoptNothingUnproven() {
        var random = Seeded("hostileHeads")
        let lengths = ["0", "99", "100", "101", "-1", "9223372036854775807", "9223372036854775808", "x", "", "1e3"]
        let digests = [Self.digest, "sha-256=:AAAA:", "md5", "sha-256=:", "unixsum=:AA==:", ""]
        for _ in 0..<Rounds.scaled(2_000) {
            var headers: [(String, String)] = []
            if random.oneIn(2) { headers.append(("Content-Length", random.pick(lengths))) }
            if random.oneIn(2) { headers.append(("Repr-Digest", random.pick(digests))) }
            if random.oneIn(2) { headers.append(("Content-MD5", random.pick(["", "x", "1B2M2Y8AsgTpgAmY7PhCfg=="]))) }
            if random.oneIn(3) { headers.append(("ETag", random.pick(["\"v\"", "W/\"v\"", "v", "\"", ""]))) }
            let hasChecksum = random.oneIn(2)
            let answer = judge(random.pick([200, 200, 206, 304, 403, 500]), headers, hasChecksum: hasChecksum)
            guard let point = adopted(answer) else { continue }
            #expect(hasChecksum || point.sent != nil, "\(headers)")
            #expect(point.total.map { $0 > 100 } ?? true, "\(headers)")
            #expect(point.offset == 100 && point.isForeign)
        }
    }

    @Test func beginningThatIsNotTheOneExpected_isNoPart() {
        var expect = Expectations()
        #expect(ForeignPart.objection(to: Array("<html>".utf8), expect) == nil)
        expect.magic = .gzip
        #expect(ForeignPart.objection(to: [0x1F, 0x8B, 8], expect) == nil)
        #expect(ForeignPart.objection(to: Array("<html>".utf8), expect)?.contains("gzip") == true)
        expect.magic = nil
        expect.notHTML = true
        #expect(ForeignPart.objection(to: Array("<html>x".utf8), expect)?.contains("web page") == true)
    }
}
