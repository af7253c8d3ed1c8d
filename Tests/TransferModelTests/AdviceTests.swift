import Testing
import TransferModel

/// What helps against one error of several that have a name in common.
@Suite struct AdviceTests {
    @Test(arguments: [
        ("no byte moved for 60 s (`timeoutForRequest`)", "`timeoutForRequest`"),
        ("the task's `timeoutForResource` is over; it waited for a network", "`timeoutForResource`"),
        ("the run's `limits.timeout` is over", "`limits.timeout`"),
        ("Connection timed out after 30000 milliseconds", "`connectTimeout`"),
    ])
    func aTimeOutNamesItsLimit(_ message: String, _ key: String) {
        let advice = TransferError(.timedOut, message).whatHelps(.data)
        #expect(advice.hasPrefix("Raise \(key), or "))
    }

    /// What the attempts failed by is what to look at, not the limit that came after it.
    @Test func aTimeOutAfterFailures_helpsAgainstThose() {
        let limit = TransferError.resourceTimedOut(.seconds(4))
        let busy = TransferError(.unexpectedResponse, "GET http://a.test:8080/f: 503 Service Unavailable")
        let told = limit.following(busy, times: 3)
        #expect(
            told.message
                == "GET http://a.test:8080/f: 503 Service Unavailable three times; then `timeoutForResource` (4 s) was over"
        )
        #expect(told.whatHelps(.data) == busy.whatHelps(.data))
        let refused = TransferError(.cannotConnectToProxy, "the proxy http://p.test:3128 refused the connection")
        let other = TransferError.runTimedOut.following(refused, times: 7)
        #expect(other.message.hasSuffix(" 7 times; then `limits.timeout` was over") && other.isByRunTimeout)
        #expect(!other.whatHelps(.data).contains("Raise"))
        #expect(!limit.isByRunTimeout && TransferError.runTimedOut.isByRunTimeout)
    }

    /// Who was silent is who is to be looked at.
    @Test(arguments: [("the proxy socks5h://gate:1080 did not answer: Timeout", "proxy"), ("Timeout", "host")])
    func aTimeOutNamesWhoWasSilent(_ message: String, _ who: String) {
        #expect(TransferError(.timedOut, message).whatHelps(.data).contains("whether the \(who) answers"))
    }

    @Test(arguments: [
        (TaskType.data, "or make it a download"), (.download, "Raise `maximumSize`."),
        (.upload, "Make it a `data` task"),
    ])
    func aLengthNamesWhatTheTaskHas(_ type: TaskType, _ words: String) {
        #expect(SizeBounds.tooLong(16).whatHelps(type).contains(words))
        let refused = TransferError(.dataLengthExceedsMaximum, "the server takes at most 5 bytes, the body has 6")
        #expect(!refused.whatHelps(type).contains("maximumSize"))
    }

    /// A run that has ended is not come back to: the same command would send everything a second time.
    @Test func aRequestThatMayHaveBeenHeard_isLookedForAtTheServer() {
        for error in [TransferError.notSentAgain, .lostFromJournal] {
            #expect(error.whatHelps(.upload) == "See at the server whether it came; if it did not, run the task again.")
        }
    }

    /// Whoever waits for a body with `retry` learns what makes that work.
    @Test(arguments: [
        "expected the body to contain `done`, it begins `{}`", "expected `$.state` to be done, it is pending",
    ])
    func aBodyThatIsNotAsExpected_saysWhatRetryCovers(_ message: String) {
        let error = TransferError(.unexpectedResponse, message)
        var policy = RetryPolicy()
        let clause = "; `retry` tries it again only where `statuses` has the answer's status."
        #expect(!error.whatHelps(.data).contains("retry") && !error.whatHelps(.data, retry: policy).contains("retry"))
        policy.attempts = 5
        #expect(error.whatHelps(.data, retry: policy) == error.whatHelps(.data).dropLast() + clause)
        #expect(
            !TransferError(.unexpectedResponse, "expected 5 bytes, got 4").whatHelps(.data, retry: policy)
                .contains("retry"))
        policy.statuses = StatusSet(200)
        #expect(!error.whatHelps(.data, retry: policy).contains("retry"))
    }

    @Test func aBombIsNotMadeSmallerByRaisingALimit() {
        let bomb = TransferError(.dataLengthExceedsMaximum, "the body unpacks to more than 1000 times what was sent")
        #expect(bomb.whatHelps(.download) == ErrorName.cannotDecodeContentData.whatHelps)
    }

    /// Whoever meets another's file takes it away; a place that somebody else of this run has is nobody's to move.
    @Test(arguments: [
        ("/a is there already", "Remove what is there"),
        ("/a is already the file of the task `b`", "a `to` of its own"),
        ("/a is the report, and no task's file: let it go elsewhere", "a `to` of its own"),
    ])
    func aPlaceThatIsTakenIsNotToBeMoved(_ message: String, _ words: String) {
        #expect(TransferError(.destinationExists, message).whatHelps(.download).contains(words))
    }

    /// An object store says itself what is wrong, by a code.
    @Test(arguments: [
        ("404 Not Found: \"NoSuchBucket: The specified bucket does not exist\"", "Check the bucket's name"),
        ("403 Forbidden: \"InvalidAccessKeyId: no such key\"", "Check `accessKey`"),
        ("403 Forbidden: \"SignatureDoesNotMatch: no\"", "Check `secretKey`"),
        ("403 Forbidden: \"RequestTimeTooSkewed: no\"", "Set this machine's clock"),
        ("403 Forbidden: \"AccessDenied: no\"", "what the credential may do"),
        ("301 Moved Permanently; the bucket is in the region `eu-west-1`", "Set the credential's `region`"),
    ])
    func whatAnObjectStoreRefuses(_ status: String, _ words: String) {
        let error = TransferError(.unexpectedResponse, "PUT https://store.test/b/k: \(status)")
        #expect(error.whatHelps(.download).contains(words))
    }

    @Test func ofSeveralMissingURLs_whatTheyShareIsNamed() {
        let missing = TransferError(.unexpectedResponse, "GET https://a.test/f: 404 Not Found")
        #expect(missing.whatHelps(.download) == "Check the URL.")
        #expect(missing.whatHelps(.download, tasks: 2).contains("in common"))
    }

    @Test(arguments: [
        (ErrorName.cannotMoveFile, Int32(21), "/a is a folder", "End `to` in `/`"),
        (.cannotMoveFile, 95, "/dev/null is, or leads to, a device, pipe or socket", "`to: \"-\"`"),
        (.cannotMoveFile, 1, "/tmp/a is a link of another user, and is not followed", "Remove that link"),
        (
            .cannotCreateFile, 1, "cannot create a file in /tmp/a/b: /tmp/a is a link of another user, and",
            "Remove that"
        ),
        (.cannotMoveFile, 13, "naming /a failed: Permission denied", "Make that folder writable"),
        (.cannotCreateFile, 13, "cannot create a file in /a: Permission denied", "Make that folder writable"),
        (.cannotCreateFile, 30, "cannot create a file in /a: Read-only file system", "that can be written"),
        (.cannotCreateFile, 20, "cannot create a file in /a/b: Not a directory", "A file stands where"),
        (.cannotCreateFile, 24, "cannot create a file in /a: Too many open files", "`ulimit -Hn`"),
    ])
    func aFileThatCannotBeMadeHasItsAdvice(_ name: ErrorName, _ errno: Int32, _ message: String, _ words: String) {
        let advice = TransferError(name, message, errno: errno).whatHelps(.download)
        #expect(advice.contains(words) && !advice.contains("free space"))
    }

    @Test(arguments: [
        (
            ErrorName.unexpectedResponse,
            "GET http://a.test:443/f: 400 Bad Request: \"400 The plain HTTP request was sent to HTTPS port\"",
            "This port speaks TLS: try `https://`."
        ),
        (
            .unexpectedResponse,
            "GET http://a.test:443/f: 400 Bad Request: \"Client sent an HTTP request to an HTTPS server.\"",
            "This port speaks TLS: try `https://`."
        ),
        (
            .secureConnectionFailed, "GET https://a.test/: the server ended the connection in the TLS handshake",
            "try `http://`"
        ),
        (
            .serverCertificateUntrusted, "the file of CA certificates /a cannot be read: No such file or directory",
            "Correct `tls.trust.ca`"
        ),
        (.nextPageUnusable, "there are more than 3 pages, and `next.maximum` allows no more", "Raise `next.maximum`"),
        (
            .captureNotFound, "`t` was not captured: `$.a` leads to nothing\(TransferError.withheldBodyWords)",
            "Compare `capture` with what the server's documentation says"
        ),
        (
            .groupNotPublished, "4 of the 4 files in /a\(TransferError.removalsWords)1",
            "raise `maximumRemovals` of the group"
        ),
        (
            .dataLengthExceedsMaximum, "the pages come to more than 64 MiB, \(TransferError.manyRowsWords)",
            "make it a download: `to: \"page-${page}.json\"`"
        ),
        (
            .unexpectedResponse,
            "expected 1000 bytes, the server announced 41; the server had redirected to https://a.test/login",
            "Correct `expect.size` if 41 bytes are right."
        ),
        (
            .unexpectedResponse, "POST http://a.test/f: 401 Unauthorized; the secret `pw` was sent in the body",
            "Check the token or the password"
        ),
    ])
    func aMistakeOfTheJobHasItsAdvice(_ name: ErrorName, _ message: String, _ words: String) {
        #expect(TransferError(name, message).whatHelps(.data).contains(words))
    }

    /// Where there are no files, nothing is said of any.
    @Test func pagesOfADataTask_areNotThere() {
        let error = TransferError(.nextPageUnusable, "page 1 names itself as the next page")
        #expect(!error.whatHelps(.data).contains("are there") && error.whatHelps(.download).contains("are there"))
    }

    /// How much had come is each task's own.
    @Test(arguments: ["97.7 of 293.0 KiB", "4 B: Connection reset by peer"])
    func connectionsThatWereCut_haveOneCause(_ part: String) {
        let message = "GET https://a.test/f: \(TransferError.cutWords)\(part)"
        #expect(
            TransferError.commonWords(message, of: .networkConnectionLost)
                == "the connection was cut in the middle of the body")
    }

    @Test(
        arguments: [
            (100_000, 300_000, "97.7 of 293.0 KiB"), (4, 10, "4 of 10 B"), (4, 1 << 20, "4 B of 1.0 MiB"),
            ((1 << 20) - 1, 1 << 20, "1048575 of 1048576 bytes"), (0, 10, "0 of 10 B"),
        ] as [(Int64, Int64, String)])
    func aPartOfASizeIsToldInOneUnit(_ part: Int64, _ all: Int64, _ text: String) {
        #expect(SizeText.part(part, of: all) == text)
    }

    @Test func allOthersHaveOneAdvice() {
        let several: [ErrorName] = [.timedOut, .dataLengthExceedsMaximum, .destinationExists]
        for name in ErrorName.allCases where !several.contains(name) {
            #expect(TransferError(name, "it broke").whatHelps(.data) == name.whatHelps)
        }
    }
}
