import AttemptLife
import HTTPRules
import TestSupport
import Testing
import TransferModel

/// What must hold of an answer, and in which order it is asked.
struct VerificationTests {
    private func life(
        type: TaskType = .download, requireLength: Bool = false, maximumSize: Int64? = nil,
        _ change: (inout Expectations) -> Void = { _ in }
    ) throws -> AttemptLife {
        var expect = Expectations()
        change(&expect)
        return AttemptLife(
            try ResourceURL.parse("https://a.test/x"),
            AttemptRules(
                type: type, method: "GET", expect: expect, maximumSize: maximumSize, requireLength: requireLength))
    }

    /// The whole of an answer.
    private func step(
        _ life: inout AttemptLife, _ body: String, _ lines: [(String, String)] = [], status: Int = 200,
        version: HTTPProtocol = .http1
    ) -> NextStep {
        var received: Int64 = 0
        if life.head(status: status, version: version, headers: HeaderBlock(lines)) == .keep {
            for byte in body.utf8 {
                received += 1
                if life.watchesBody, !life.began([byte]) { break }
            }
        }
        return life.ended(TransportEnd(error: nil, received: received, sawCloseNotify: true))
    }

    private func failure(_ step: NextStep) -> ErrorName? {
        if case .fail(let error, _) = step { error.name } else { nil }
    }

    @Test func lengthComesBeforeTypeAndTypeBeforeTheBeginning() throws {
        let lines = [("Content-Length", "5"), ("Content-Type", "text/html"), ("X", "y")]
        func end(_ change: (inout Expectations) -> Void) throws -> ErrorName? {
            var life = try life {
                $0.notHTML = true
                $0.magic = .gzip
                change(&$0)
            }
            return failure(step(&life, "<p>..", lines))
        }
        #expect(try end { $0.size = 6 } == .unexpectedResponse)
        #expect(try end { $0.mimeType = "image/*" } == .unexpectedResponse)
        #expect(try end { $0.headers = [.init(name: "x", pattern: "z")] } == .unexpectedHTML)
        #expect(try end { _ in } == .unexpectedHTML)
        #expect(try end { $0.mimeType = "text/*" } == .magicMismatch)
        #expect(
            try end {
                $0.mimeType = "text/html"
                $0.headers = [.init(name: "x", pattern: "z")]
            } == .unexpectedResponse)
    }

    @Test func theBeginningIsJudgedBeforeTheRestComes() throws {
        let life = try life { $0.magic = .gzip }
        let decision = life.head(status: 200, version: .http1, headers: HeaderBlock([("Content-Length", "1000")]))
        #expect(decision == .keep && life.watchesBody)
        let fits = [life.began([0x1F]), life.began([0x8C])]
        #expect(fits == [true, false])
        let cut = TransportEnd(
            error: TransferError(.networkConnectionLost, "cut"), received: 2, sawCloseNotify: false)
        #expect(failure(life.ended(cut)) == .magicMismatch)
    }

    @Test func aBodyThatIsOverTooSoonHasNoMagic() throws {
        var short = try life { $0.magic = .gzip }
        #expect(failure(step(&short, "", [("Content-Length", "0")])) == .magicMismatch)
        var cut = try life { $0.magic = .gzip }
        #expect(failure(step(&cut, "\u{1F}", [("Content-Length", "9")])) == .networkConnectionLost)
    }

    /// A redirect's own body, and a status that is not wanted, are not what was asked for.
    @Test func onlyTheResultIsLookedAt() throws {
        var redirected = try life {
            $0.notHTML = true
            $0.headers = [.init(name: "x", pattern: "y")]
        }
        let next = step(&redirected, "<html>", [("Location", "/y"), ("Content-Type", "text/html")], status: 302)
        guard case .send = next else {
            Issue.record("not followed")
            return
        }
        #expect(failure(step(&redirected, "ok", [("X", "y"), ("Content-Length", "2")])) == nil)
        var missing = try life { $0.notHTML = true }
        #expect(failure(step(&missing, "<html>", status: 404)) == .unexpectedResponse)
    }

    private static let digest = [("Repr-Digest", "md5=:kAFQmDzST7DWlj99KOF/cg==:")]

    @Test func aDigestThatTheServerSentProvesTheEnd() throws {
        for version in [HTTPProtocol.http1, .http2] {
            var life = try life(requireLength: true)
            guard case .deliver(lengthUnverified: false, _) = step(&life, "abc", Self.digest, version: version) else {
                Issue.record("not delivered as proved")
                return
            }
            #expect(life.sentDigest?.header == "Repr-Digest")
        }
        var without = try life()
        guard case .send = step(&without, "abc", version: .http2) else {
            Issue.record("an unproven stream is not asked for again")
            return
        }
    }

    @Test func aDigestIsOfADownloadsBodyOnly() throws {
        var data = try life(type: .data)
        _ = step(&data, "abc", Self.digest)
        #expect(data.sentDigest == nil)
        var empty = try life()
        _ = step(&empty, "", Self.digest, status: 204)
        #expect(empty.sentDigest == nil)
        // What an earlier hop said is over.
        var redirected = try life()
        _ = step(&redirected, "", Self.digest + [("Location", "/y")], status: 302)
        _ = step(&redirected, "abc", [("Content-Length", "3")])
        #expect(redirected.sentDigest == nil)
    }

    @Test func sourcesWithoutAConnectionMeetTheSame() throws {
        func miss(_ mimeType: String?, _ body: String, _ change: (inout Expectations) -> Void) -> ErrorName? {
            var expect = Expectations()
            change(&expect)
            let rules = AttemptRules(type: .data, method: "GET", expect: expect)
            let headers = HeaderBlock(mimeType.map { [("Content-Type", $0)] } ?? [])
            return rules.miss(headers, size: Int64(body.utf8.count), start: Array(body.utf8))?.name
        }
        #expect(miss(nil, "abc") { _ in } == nil)
        #expect(miss(nil, "abc") { $0.size = 4 } == .unexpectedResponse)
        #expect(miss("text/plain", "abc") { $0.mimeType = "text/*" } == nil)
        #expect(miss("text/plain", "abc") { $0.mimeType = "image/*" } == .unexpectedResponse)
        #expect(miss(nil, "<html>") { $0.notHTML = true } == .unexpectedHTML)
        #expect(miss("text/html", "abc") { $0.notHTML = true } == .unexpectedHTML)
        #expect(miss(nil, "abc") { $0.magic = .pdf } == .magicMismatch)
        #expect(miss(nil, "%PDF-1.7") { $0.magic = .pdf } == nil)
        #expect(miss(nil, "abc") { $0.headers = [.init(name: "ETag", pattern: "")] } == .unexpectedResponse)
    }
}
