import HTTPRules
import TestSupport
import Testing
import TransferModel

/// The digests in headers. Those of "abc", by `openssl dgst -binary | base64`.
struct SentDigestsTests {
    private static let md5 = "kAFQmDzST7DWlj99KOF/cg=="
    private static let sha1 = "qZk+NkcGgWq6PiVxeFDCbJzQ2J0="
    private static let sha256 = "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="
    private static let sha512 =
        "3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw=="

    private func strongest(_ lines: [(String, String)], status: Int = 200) -> SentDigest? {
        SentDigests.strongest(HeaderBlock(lines), status: status)
    }

    private func words(_ digest: SentDigest?) -> String? {
        digest.map { "\($0.header) \($0.checksum.algorithm.rawValue)" }
    }

    @Test func bytesAreRead() {
        let digest = strongest([("Repr-Digest", "sha-256=:\(Self.sha256):")])
        #expect(
            digest?.checksum.description
                == "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(digest?.header == "Repr-Digest")
        // Padding may be missing.
        #expect(strongest([("Repr-Digest", "sha-256=:\(Self.sha256.dropLast()):")]) == digest)
    }

    @Test func theStrongestCounts() {
        let all = [
            ("content-md5", Self.md5), ("repr-digest", "sha-256=:\(Self.sha256):, md5=:\(Self.md5):"),
            ("Content-Digest", "sha-256=:\(Self.sha256):, sha-512=:\(Self.sha512):"),
        ]
        #expect(words(strongest(all)) == "Content-Digest sha512")
        // Content-Digest and Content-MD5 speak of the part.
        #expect(words(strongest(all, status: 206)) == "Repr-Digest sha256")
        #expect(words(SentDigests.ofPart(HeaderBlock(all))) == "Content-Digest sha512")
        #expect(words(strongest(Array(all.prefix(2)))) == "Repr-Digest sha256")
        #expect(words(strongest([all[0]])) == "Content-MD5 md5")
        #expect(words(strongest([all[0], ("Content-Digest", "md5=:\(Self.md5):")])) == "Content-Digest md5")
        #expect(words(strongest([("Repr-Digest", "sha=:\(Self.sha1):, md5=:\(Self.md5):")])) == "Repr-Digest sha1")
    }

    /// Of a part it may be the whole's.
    @Test func aContentMD5OfAPartIsReadBothWays() throws {
        let headers = HeaderBlock([("Content-MD5", Self.md5)])
        let whole = try #require(strongest([("Content-MD5", Self.md5)]))
        let other = try #require(strongest([("Content-MD5", "1B2M2Y8AsgTpgAmY7PhCfg==")]))
        let stronger = strongest([("Repr-Digest", "sha-256=:\(Self.sha256):")])
        #expect(SentDigests.ofPart(headers) == nil && SentDigests.ofPart(headers, whole: whole) == nil)
        #expect(SentDigests.ofPart(headers, whole: stronger) == nil)
        #expect(SentDigests.ofPart(headers, whole: other) == whole)
    }

    @Test(arguments: [
        "unixsum=:AAA=:, sha-256=:%:", "sha-256=:%:;q=1;note=\"a\\\"b\"", "x=1, sha-256=:%:, y=(1 \"a\";b c), z",
        "a=?1,\tb=-1.5 ,c=@-99, d=tok/en:x, e=*x, f=%\"f%c3%bc\", sha-256=:%:", "sha-256=:AAAA:, sha-256=:%:",
        "sha-256=:%:  ", "*k;a;b=:AA==:, sha-256=:%:", "i=(), sha-256=:%:",
    ]) func dictionaries(_ text: String) {
        let value = text.split(separator: "%:", omittingEmptySubsequences: false).joined(separator: "\(Self.sha256):")
        #expect(words(strongest([("Repr-Digest", value)])) == "Repr-Digest sha256", "\(value)")
    }

    @Test func severalLinesAreOneDictionary() {
        #expect(
            words(strongest([("Repr-Digest", "md5=:\(Self.md5):"), ("Repr-Digest", "sha-256=:\(Self.sha256):")]))
                == "Repr-Digest sha256")
        // The last of one name counts.
        #expect(strongest([("Repr-Digest", "md5=:\(Self.md5):"), ("Repr-Digest", "md5=1")]) == nil)
    }

    @Test(arguments: [
        "", ",", "sha-256", "sha-256=", "sha-256=%", "sha-256=:%", "sha-256=\"%\"", "SHA-256=:%:", "sha-256=:%:,",
        "sha-256=:%:, ,a", "sha-256 =:%:", "sha-256= :%:", "sha-256=:%: x", "sha-256=:%:;", "sha-256=:AAAA:",
        "sha-256=:%==:", "sha-256=:*%:", "sha-256=:%:, a=\"", "sha-256=:%:, a=(1", "sha-256=:%:, a=(1\"b\")",
        "sha-256=:%:, a=?2", "sha-256=:%:, a=1.", "sha-256=:%:, a=1234567890123456", "sha-256=:%:, a=@1.5",
        "sha-256=:%:, a=\"\u{1}\"", "sha-256=:%:, a=é", "sha-256=:%:, a=%\"%C3\"", "sha-512=:%:",
    ]) func malformedOnesSayNothing(_ text: String) {
        let value = text.split(separator: "%", omittingEmptySubsequences: false).joined(separator: Self.sha256)
        #expect(strongest([("Repr-Digest", value)]) == nil, "\(value)")
        #expect(words(strongest([("Repr-Digest", value), ("Content-MD5", Self.md5)])) == "Content-MD5 md5")
    }

    @Test(arguments: ["", "x", sha256, "kAFQmDzST7DWlj99KOF/cg", "\(md5), \(md5)", "900150983cd24fb0d6963f7d28e17f72"])
    func malformedContentMD5(_ text: String) {
        #expect(strongest([("Content-MD5", text)]) == nil)
        #expect(strongest([("Content-MD5", Self.md5), ("Content-MD5", text)]) == nil)
    }

    /// Whatever is sent, what comes out is a digest of the right length, and only from a header that was there.
    @Test func hostileText() {
        var random = Seeded("hostileDigests")
        let pieces = [
            "sha-256", "sha-512", "md5", "=", ":", Self.sha256, Self.md5, ",", " ", ";", "(", ")", "\"", "\\", "?1",
            "@",
            "%", "-", "9", ".", "*", "é", "\t", "=:", ":,",
        ]
        var found = 0
        for _ in 0..<Rounds.scaled(5_000) {
            let text = (0..<random.below(16)).map { _ in random.pick(pieces) }.joined()
            let digest = strongest([("Repr-Digest", text)])
            guard let checksum = digest?.checksum else { continue }
            found += 1
            #expect(checksum.bytes.count == checksum.algorithm.byteCount)
            #expect(digest?.header == "Repr-Digest")
            #expect(text.contains("=:") || text.contains("=") && text.contains(":"))
        }
        for _ in 0..<Rounds.scaled(500) {
            let junk = (0..<random.below(4)).map { _ in "k\(random.below(9))=\(random.below(99))" }
            let text = (junk + ["md5=:\(Self.md5):"]).shuffled(using: &random).joined(separator: ", ")
            #expect(words(strongest([("Repr-Digest", text)])) == "Repr-Digest md5")
            found += 1
        }
        #expect(found >= 500)
    }
}

/// `expect.headers`.
struct HeaderExpectationsTests {
    private func miss(_ pattern: String, _ lines: [(String, String)]) -> String? {
        HeaderExpectations([.init(name: "X-Kind", pattern: pattern)]).misses(in: HeaderBlock(lines)).first?.message
    }

    @Test func oneOfTheValuesMustMatch() {
        #expect(miss("^b", [("X-Kind", "abc"), ("x-kind", "bcd")]) == nil)
        #expect(
            miss("^c", [("X-Kind", "abc"), ("x-kind", "bcd")])
                == "expected `X-Kind` to match `^c`, the server sent `abc` and `bcd`")
        let many = (1...100).map { ("X-Kind", "v\($0)") }
        #expect(miss("^c", many)?.hasSuffix("the server sent `v1` and `v2` and `v3` and `v4` and 96 more") == true)
        #expect(miss("", []) == "expected `X-Kind` to match ``, the server sent none")
        #expect(HeaderExpectations([]).misses(in: .empty).isEmpty)
    }

    @Test func aMatchThatRunsAwayIsAnError() {
        let error = miss("^(a+)+$", [("X-Kind", String(repeating: "a", count: 64) + "b")])
        #expect(error?.contains("was given up") == true)
    }

    @Test func anImpossiblePatternIsNeverMet() { #expect(miss("(", [("X-Kind", "(")]) != nil) }
}
