import Diagnostics
import LockFiles
import TestSupport
import Testing
import TransferModel

/// Locks and saved plans as text and back, and what is said of broken ones.
@Suite struct LockFileTests {
    private func entry(_ id: String, _ random: inout Seeded) -> LockFile.Entry {
        let texts = [
            "", "a", "é\u{301}", "\"q\"", "W/\"x\"", "a: b # c", "- [x]", "null", "tab\there", "line\nfeed", "🧪",
        ]
        func text() -> String? { random.oneIn(3) ? nil : random.pick(texts) }
        var answer = HeldAnswer(url: "https://example.org/\(random.below(1000))")
        if !random.oneIn(3) { answer.size = Int64(random.below(1 << 40)) }
        (answer.etag, answer.lastModified, answer.mimeType, answer.certificate) = (text(), text(), text(), text())
        if random.oneIn(2) {
            answer.sha256 = Checksum(algorithm: .sha256, bytes: (0..<32).map { _ in UInt8(random.below(256)) })
        }
        return LockFile.Entry(id: id, path: text(), answer: answer)
    }

    @Test func whatIsWrittenIsRead() throws {
        var random = Seeded("whatIsWrittenIsRead")
        for _ in 0..<Rounds.scaled(200) {
            let ids = Set((0..<random.below(20)).map { _ in "t-\(random.below(50)).x" })
            let file = LockFile(
                random.oneIn(2) ? .lock : .plan, job: random.pick(["nightly", "a \"b\": c", "true"]),
                entries: ids.map { entry($0, &random) })
            let (read, problems) = LockFileReader.read(SourceText(name: "x.lock", bytes: file.yaml))
            #expect(problems.items.isEmpty, "\(problems.items.map(\.message))")
            #expect(read == file)
        }
    }

    @Test func entriesAreSortedByTheBytesOfTheirIds() {
        let entries = ["b", "a", "B", "a-1"].map { LockFile.Entry(id: $0, answer: HeldAnswer(url: "u")) }
        #expect(LockFile(.lock, job: "j", entries: entries).entries.map(\.id) == ["B", "a", "a-1", "b"])
    }

    /// Bytes of any kind end in a file or in errors with a place.
    @Test func anyTextIsReadOrRefused() {
        var random = Seeded("anyTextIsReadOrRefused")
        let pieces = [
            "format: ", "transfer-run/lock", "\n", "version: 1\n", "files:", "  a:\n", "    url: u\n", "    size: -1\n",
            "    sha256: zz\n", "{", "}", "[", "]", "&x", "*x", "\t", "\u{0}", "'", "\"", "job: x\n", "- ", "null",
        ]
        for _ in 0..<Rounds.scaled(3000) {
            let text = (0..<random.below(14)).map { _ in random.pick(pieces) }.joined()
            let (file, problems) = LockFileReader.read(SourceText(name: "x.lock", bytes: Array(text.utf8)))
            #expect((file == nil) == problems.hasErrors, "\(text.debugDescription)")
        }
    }

    @Test(arguments: [
        ("not-a-map", "- a\n"),
        ("empty", ""),
        ("plan-for-lock", "format: transfer-run/server-plan\nversion: 1\nfiles: {}\n"),
        (
            "many-mistakes",
            """
            format: transfer-run/lock
            version: 2
            jop: x
            files:
              a: { url: u, sise: 5, sha256: "12ab" }
              b: { size: many }
              c: [1]

            """
        ),
        ("no-format", "version: 1\n"),
    ])
    func mistakesAreToldAtTheirPlace(_ name: String, _ text: String) throws {
        let (file, problems) = LockFileReader.read(
            SourceText(name: "job.lock", bytes: Array(text.utf8)), wanting: .lock)
        #expect(file == nil && problems.hasErrors)
        try Snapshot.check(DiagnosticRenderer.text(problems.sorted(), color: false), "Golden/\(name).txt")
    }
}

/// What a run is held to.
@Suite struct HeldAnswerTests {
    private func held(_ kind: HeldAnswers.Kind, _ change: (inout HeldAnswer) -> Void = { _ in }) -> HeldAnswers {
        var answer = HeldAnswer(url: "https://cdn.example.org/a")
        (answer.size, answer.etag) = (5, "\"v1\"")
        change(&answer)
        return HeldAnswers(kind, file: "job.lock", ["a": answer], redactor: .none)
    }

    /// A task that comes later is held to the lock of its day, the others to theirs.
    @Test func answersOfALaterFile_areForTheTasksThatTheFirstHasNot() throws {
        var other = HeldAnswer(url: "https://cdn.example.org/b")
        other.size = 7
        let later = HeldAnswers(.plan, file: "later.plan", ["a": other, "b": other, "c": other], redactor: .none)
        let both = held(.lock).followed(by: later.only(for: ["a", "b"]))
        #expect(both["a"]?.size == 5 && both["b"]?.size == 7 && both["c"] == nil)
        #expect(both.objection(to: response(size: 6), of: "a")?.name == .lockMismatch)
        let moved = both.objection(to: response("https://cdn.example.org/b", size: 6), of: "b")
        #expect(moved?.name == .movedSincePlan && moved?.message.contains("later.plan") == true)
        #expect(both.objection(to: response(size: 6), of: "c") == nil)
    }

    private func response(
        _ url: String = "https://cdn.example.org/a?sig=new", size: Int64? = 5, etag: String? = "\"v1\""
    ) -> HeldAnswers.Response {
        var response = HeldAnswers.Response(url: url, original: "https://example.org/a")
        (response.size, response.etag) = (size, etag)
        return response
    }

    @Test func sameAnswer_isAccepted() {
        for kind in [HeldAnswers.Kind.lock, .plan] {
            #expect(held(kind).objection(to: response(), of: "a") == nil)
            #expect(held(kind).objection(to: response(size: nil, etag: nil), of: "a") == nil)
            #expect(held(kind).objection(to: response("https://other.example/x"), of: "not-held") == nil)
        }
    }

    @Test func otherPlaceOrSize_isRefusedWithWhatWasAndWhatCame() {
        let lock = held(.lock)
        let moved = lock.objection(to: response("https://evil.example/a"), of: "a")
        #expect(moved?.name == .lockMismatch)
        #expect(moved?.message.contains("https://evil.example/a") == true)
        #expect(moved?.message.contains("https://cdn.example.org/a") == true)
        #expect(lock.objection(to: response(size: 6), of: "a")?.message.contains("6 bytes") == true)
    }

    @Test func otherValidator_countsForAPlanOnly() {
        let other = response(etag: "\"v2\"")
        #expect(held(.plan).objection(to: other, of: "a")?.name == .movedSincePlan)
        #expect(held(.lock).objection(to: other, of: "a") == nil)
        #expect(held(.plan).objection(to: response(etag: "W/\"v1\""), of: "a") == nil)
    }

    @Test func theTasksOwnQuery_counts() {
        let own = HeldAnswer.recorded("https://example.org/a?v=1", of: "https://example.org/a?v=1", .none)
        #expect(own == "https://example.org/a?v=1")
        let led = HeldAnswer.recorded("https://cdn.example.org/a?sig=1", of: "https://example.org/a", .none)
        #expect(led == "https://cdn.example.org/a")
    }
}
