import HTTPRules
import TestSupport
import Testing
import TextFormats
import TransferModel

/// When an upload need not be sent: the file is the one that was sent, and the server still has it.
@Suite struct SentUploadTests {
    private static let second: Int64 = 1_000_000_000
    private static let changedAt: Int64 = 1_577_880_000 * second
    private static let answered = "Wed, 01 Jan 2020 13:00:00 GMT"

    private func mark(
        boot: Int64 = 1, inode: UInt64 = 7, size: Int64 = 100, modified: Int64 = changedAt, changed: Int64 = changedAt
    ) -> BodyFileMark {
        BodyFileMark(
            boot: boot, device: 3, inode: inode, size: size, modifiedNanoseconds: modified, changedNanoseconds: changed)
    }

    private func sent(
        readAfter seconds: Int64 = 3600, etag: String? = nil, lastModified: String? = nil, answered: String? = nil
    ) -> SentUpload {
        SentUpload(
            path: "/photos/a", file: mark(), readAt: WallTime(nanoseconds: Self.changedAt + seconds * Self.second),
            digest: [1], shape: 5, etag: etag, lastModified: lastModified,
            answeredAt: answered.flatMap { HTTPDate.parse($0) })
    }

    // MARK: The file

    @Test func sameFile_needNotBeRead() {
        #expect(sent().compare(mark(), at: "/photos/a", shape: 5) == .same)
        // Numbers of files are given anew when the system starts.
        #expect(sent().compare(mark(boot: 2, inode: 9), at: "/photos/a", shape: 5) == .same)
    }

    @Test func fileOfTheSameSizeThatMayBeAnother_isRead() {
        let then = Self.changedAt + Self.second
        for now in [mark(inode: 8), mark(modified: then), mark(changed: then), mark(boot: 2, changed: then)] {
            #expect(sent().compare(now, at: "/photos/a", shape: 5) == .mustRead)
        }
        #expect(sent().compare(mark(), at: "/photos/b", shape: 5) == .mustRead)
    }

    /// It may have been written again within the same tick of the filesystem's clock.
    @Test(arguments: [(-1, false), (0, false), (1, false), (2, true), (3, true)] as [(Int64, Bool)])
    func fileThatWasReadJustAfterItWasWritten_isReadAgain(_ seconds: Int64, _ isSettled: Bool) {
        let comparison = sent(readAfter: seconds).compare(mark(), at: "/photos/a", shape: 5)
        #expect(comparison == (isSettled ? .same : .mustRead))
    }

    @Test func otherSizeOrOtherDescription_isAnotherUpload() {
        #expect(sent().compare(mark(size: 99), at: "/photos/a", shape: 5) == .other)
        #expect(sent().compare(mark(), at: "/photos/a", shape: 6) == .other)
    }

    @Test func description_isWhatTheHeadersSayOfTheBody() {
        func shape(_ headers: (String, SecretText)...) -> Int64 {
            SentUpload.shape(of: headers.map { HeaderField(name: $0.0, value: $0.1) })
        }
        let plain = shape(("Content-Type", "image/png"), ("X-Run", "1"))
        #expect(plain == shape(("X-Run", "2"), ("content-type", "image/png")))
        #expect(plain != shape(("Content-Type", "image/jpeg")))
        #expect(plain != shape(("Content-Type", "image/png"), ("Content-Language", "de")))
        #expect(
            shape(("Content-Type", "a/b"), ("Content-Language", "de"))
                == shape(("Content-Language", "de"), ("Content-Type", "a/b")))
        let secret = SecretText(pieces: [.secret(name: "S", value: "x", hosts: nil)])
        #expect(shape(("Content-Key", secret)) == shape())
    }

    // MARK: The server

    private func isStored(_ sent: SentUpload, _ headers: [(String, String)], isSameUser: Bool = true) -> Bool {
        sent.isStored(HeaderBlock(headers), isSameUser: isSameUser)
    }

    @Test(
        arguments: [
            ("\"1\"", "100", true), ("W/\"1\"", "100", true), ("\"1\"", nil, true), ("\"2\"", "100", false),
            (nil, "100", false), ("\"1\"", "99", false),
        ] as [(String?, String?, Bool)])
    func eTag_tellsByItself(_ tag: String?, _ length: String?, _ isStored: Bool) {
        let headers = [("ETag", tag), ("Content-Length", length)].compactMap { name, value in value.map { (name, $0) } }
        for known in ["\"1\"", "W/\"1\""] {
            #expect(self.isStored(sent(etag: known), headers, isSameUser: false) == isStored)
        }
    }

    @Test func severalETags_tellNothing() {
        #expect(!isStored(sent(etag: "\"1\""), [("ETag", "\"1\""), ("ETag", "\"1\"")]))
    }

    @Test func withoutAnETag_theLengthTells() {
        #expect(isStored(sent(), [("Content-Length", "100")]))
        #expect(!isStored(sent(), [("Content-Length", "101")]))
        #expect(!isStored(sent(), []))
        #expect(!isStored(sent(), [("Content-Length", "100")], isSameUser: false))
        #expect(!isStored(sent(), [("Content-Length", "100"), ("Content-Length", "100")]))
    }

    /// What is stored under a coding may be told with another length.
    @Test func lengthOfACoding_isNoContradiction() {
        let packed = [("Content-Encoding", "gzip"), ("Content-Length", "60")]
        #expect(isStored(sent(etag: "\"1\""), packed + [("ETag", "\"1\"")]))
        #expect(!isStored(sent(), packed))
    }

    @Test(
        arguments: [
            (nil, answered, "Wed, 01 Jan 2020 12:59:59 GMT", true),
            (nil, answered, "Wed, 01 Jan 2020 13:01:00 GMT", true),
            (nil, answered, "Wed, 01 Jan 2020 13:01:01 GMT", false), (nil, nil, "Wed, 01 Jan 2020 13:01:01 GMT", true),
            (nil, answered, "not a date", true), ("Wed, 01 Jan 2020 12:00:00 GMT", answered, nil, false),
            ("Wed, 01 Jan 2020 12:00:00 GMT", answered, "Wed, 01 Jan 2020 12:00:00 GMT", true),
            ("Wed, 01 Jan 2020 12:00:00 GMT", answered, "Wednesday, 01-Jan-20 12:00:00 GMT", true),
            ("Wed, 01 Jan 2020 12:00:00 GMT", answered, "Wed, 01 Jan 2020 12:00:01 GMT", false),
            (nil, answered, nil, true),
        ] as [(String?, String?, String?, Bool)])
    func date_mayNotHaveMoved(_ known: String?, _ answered: String?, _ told: String?, _ isStored: Bool) {
        let headers = [("Content-Length", "100")] + (told.map { [("Last-Modified", $0)] } ?? [])
        #expect(self.isStored(sent(lastModified: known, answered: answered), headers) == isStored)
    }

    // MARK: What is kept

    @Test func answerToTheUpload_isKept() {
        var upload = sent(etag: "\"old\"")
        upload.learn(HeaderBlock([("ETag", "\"1\""), ("Date", Self.answered), ("Last-Modified", Self.answered)]))
        #expect(upload.etag == "\"1\"" && upload.lastModified == Self.answered)
        #expect(upload.answeredAt == HTTPDate.parse(Self.answered))
        upload.learn(HeaderBlock([("Last-Modified", "never"), ("ETag", "")]))
        #expect(upload.etag == nil && upload.lastModified == nil && upload.answeredAt == nil)
    }

    @Test func whatTheUploadDidNotTell_isKeptOfTheQuestion() {
        let headers = HeaderBlock([("ETag", "\"2\""), ("Last-Modified", Self.answered)])
        #expect(sent().confirmed(headers).etag == "\"2\"")
        #expect(sent().confirmed(headers).lastModified == Self.answered)
        #expect(sent(etag: "\"1\"").confirmed(headers).etag == "\"1\"")
        #expect(sent().confirmed(.empty) == sent())
    }
}
