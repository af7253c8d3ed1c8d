import HTTPRules
import TestSupport
import Testing
import TransferModel

@Suite struct ResumableUploadTests {
    private let url: ResourceURL
    private let now = WallTime(nanoseconds: 0)

    init() throws { url = try ResourceURL.parse("https://example.org/files?x=1") }

    private func begun(
        _ dialect: UploadDialect = .draft6, length: Int64 = 100, mayRepeat: Bool = true, _ more: [(String, String)] = []
    ) -> Machine {
        let upload = Machine(length: length, dialect: dialect, mayRepeat: mayRepeat)
        #expect(upload.interim(interim(dialect.rawValue, more), from: url, at: now) == nil)
        return upload
    }

    private func interim(_ version: Int, _ more: [(String, String)] = []) -> HeaderBlock {
        HeaderBlock([("Upload-Draft-Interop-Version", "\(version)"), ("Location", "/uploads/a")] + more)
    }

    private func next(_ upload: Machine) -> Machine {
        Machine(length: 100, dialect: .draft6, point: upload.point, mayRepeat: true)
    }

    private func lines(_ upload: Machine) -> [String] {
        upload.headers.map { "\($0.name): \($0.value.revealed)" }
    }

    // MARK: No success where the server says that something is missing

    /// The 104 never came, or not through the proxy: the answer says that there is but a beginning, and where.
    @Test(arguments: [true, false]) func anAnswerThatHasLessIsNoSuccess(hasPlace: Bool) throws {
        for words in [[("Upload-Complete", "?0"), ("Upload-Offset", "60")], [("Upload-Offset", "60")]] {
            let upload = Machine(length: 100, dialect: .draft6, mayRepeat: hasPlace)
            upload.noteSent(100)
            let place = hasPlace ? [("Location", "/uploads/a")] : []
            let version = [("Upload-Draft-Interop-Version", "6")]
            let step = upload.answered(201, HeaderBlock(words + version + place), from: url)
            if hasPlace {
                #expect(step == .ask && upload.point?.place == "https://example.org/uploads/a")
            } else if case .fail(let error)? = step {
                #expect(error.name == .uploadNotResumed)
            } else {
                Issue.record("\(String(describing: step)) is no failure")
            }
        }
    }

    /// The last piece was sent, and the server tells that it has less.
    @Test func anAppendThatFellShortIsNoSuccess() throws {
        let upload = begun()
        upload.noteSent(100)
        let again = next(upload)
        #expect(
            again.answered(204, HeaderBlock([("Upload-Offset", "40"), ("Upload-Complete", "?0")])) == .append(40..<100))
        #expect(again.answered(204, HeaderBlock([("Upload-Offset", "70")])) == .ask)
        #expect(
            again.answered(204, HeaderBlock([("Upload-Offset", "70"), ("Upload-Complete", "?0")])) == .append(70..<100))
        #expect(again.answered(204, HeaderBlock([("Upload-Offset", "100")])) == nil)
    }

    // MARK: What each draft says

    static let creations: [(UploadDialect, [String])] = [
        (.draft3, ["Upload-Draft-Interop-Version: 3", "Upload-Incomplete: ?0"]),
        (.draft5, ["Upload-Draft-Interop-Version: 5", "Upload-Complete: ?1"]),
        (.draft6, ["Upload-Draft-Interop-Version: 6", "Upload-Complete: ?1", "Upload-Length: 100"]),
        (.draft8, ["Upload-Draft-Interop-Version: 8", "Upload-Complete: ?1", "Upload-Length: 100"]),
        (.standard, ["Upload-Complete: ?1", "Upload-Length: 100"]),
    ]

    @Test(arguments: creations) func aBeginningSaysWhatItsDraftWants(_ dialect: UploadDialect, _ wanted: [String]) {
        let upload = Machine(length: 100, dialect: dialect, mayRepeat: true)
        #expect(lines(upload) == wanted)
        #expect(upload.method == nil)
    }

    static let appends: [(UploadDialect, [String])] = [
        (.draft3, ["Upload-Draft-Interop-Version: 3", "Upload-Offset: 40", "Upload-Incomplete: ?0"]),
        (.draft5, ["Upload-Draft-Interop-Version: 5", "Upload-Offset: 40", "Upload-Complete: ?1"]),
        (
            .draft8,
            [
                "Upload-Draft-Interop-Version: 8", "Upload-Offset: 40", "Upload-Complete: ?1", "Upload-Length: 100",
                "Content-Type: application/partial-upload",
            ]
        ),
    ]

    @Test(arguments: appends) func theRestFollowsTheQuestion(_ dialect: UploadDialect, _ wanted: [String]) {
        let first = begun(dialect)
        first.noteSent(60)
        let upload = next(first)
        #expect(upload.method == "HEAD")
        #expect(lines(upload) == ["Upload-Draft-Interop-Version: \(dialect.rawValue)"])
        #expect(upload.answered(204, HeaderBlock([("Upload-Offset", "40")])) == .append(40..<100))
        #expect(upload.method == "PATCH")
        #expect(lines(upload) == wanted)
        #expect(upload.resumedFrom == 40)
        #expect(upload.answered(200, .empty) == nil)
        #expect(upload.point == nil)
    }

    @Test func theNumberOfTheServerDecides() {
        let upload = Machine(length: 100, dialect: .draft6, mayRepeat: true)
        #expect(upload.interim(interim(3), from: url, at: now) == nil)
        #expect(upload.point?.dialect == .draft3)
        // One that names no number speaks the standard to come.
        let other = Machine(length: 100, dialect: .draft6, mayRepeat: true)
        #expect(other.interim(HeaderBlock([("Location", "/u")]), from: url, at: now) == nil)
        #expect(other.point?.dialect == .standard)
        for headers in [interim(99), HeaderBlock([("Upload-Draft-Interop-Version", "6")])] {
            let none = Machine(length: 100, dialect: .draft6, mayRepeat: true)
            #expect(none.interim(headers, from: url, at: now) == nil)
            #expect(none.point == nil)
        }
    }

    @Test func aServerThatSpeaksAnotherDraftIsAskedInThatOnce() {
        let upload = Machine(length: 100, dialect: .draft6, mayRepeat: false)
        let refusal = HeaderBlock([("Upload-Draft-Interop-Version", "8")])
        #expect(upload.answered(400, refusal) == .create)
        #expect(upload.dialect == .draft8)
        #expect(upload.answered(400, refusal) == nil)
        #expect(upload.answered(400, HeaderBlock([("Upload-Draft-Interop-Version", "6")])) == nil)
    }

    // MARK: Whom to believe

    @Test(arguments: [
        "https://elsewhere.example/u", "http://example.org/u", "https://example.org:8443/u", "//evil.example/u",
        "https://me:secret@example.org/u", "file:///etc/passwd", "",
    ])
    func aPlaceElsewhereIsNone(_ location: String) {
        let upload = Machine(length: 100, dialect: .draft6, mayRepeat: true)
        let headers = HeaderBlock([("Upload-Draft-Interop-Version", "6"), ("Location", location)])
        #expect(upload.interim(headers, from: url, at: now) == nil)
        #expect(upload.point == nil)
    }

    @Test func aRequestThatIsSentAgainHasAnotherPlace() {
        let upload = begun()
        upload.begin()
        #expect(upload.point == nil)
        let other = HeaderBlock([("Upload-Draft-Interop-Version", "6"), ("Location", "/uploads/b")])
        #expect(upload.interim(other, from: url, at: now) == nil)
        #expect(upload.point?.place == "https://example.org/uploads/b")
    }

    @Test func twoPlacesAreNone() {
        let upload = begun()
        let other = HeaderBlock([("Upload-Draft-Interop-Version", "6"), ("Location", "/uploads/b")])
        #expect(upload.interim(other, from: url, at: now) == nil)
        #expect(upload.point == nil)
        #expect(upload.interim(interim(6), from: url, at: now) == nil)
        #expect(upload.point == nil)
    }

    @Test(arguments: [
        ("61", "60 were sent"), ("101", "101 bytes of 100"), ("-1", "does not say"), ("4.5", "does not say"),
        ("40, 41", "does not say"), ("x", "does not say"), ("99999999999999999999", "does not say"),
    ])
    func anOffsetThatCannotBeStartsOver(_ offset: String, _ reason: String) {
        let first = begun()
        first.noteSent(60)
        let upload = next(first)
        #expect(upload.answered(200, HeaderBlock([("Upload-Offset", offset)])) == .create)
        #expect(upload.startedOver?.contains(reason) == true, "\(upload.startedOver ?? "")")
        #expect(upload.point == nil)
        #expect(upload.resumedFrom == 0)
    }

    @Test func aKilledRunKnowsNoBoundButTheLength() {
        let first = begun()
        first.noteSent(60)
        var point = first.point
        point?.sent = nil
        let upload = Machine(length: 100, dialect: .draft6, point: point, mayRepeat: true)
        #expect(upload.answered(204, HeaderBlock([("Upload-Offset", "90")])) == .append(90..<100))
    }

    @Test func anotherLengthIsAnotherUpload() {
        let upload = next(begun())
        let headers = HeaderBlock([("Upload-Offset", "0"), ("Upload-Length", "99")])
        #expect(upload.answered(204, headers) == .create)
    }

    @Test(arguments: [404, 410, 400, 302]) func whatTheServerForgotStartsOver(_ status: Int) {
        let upload = next(begun())
        #expect(upload.answered(status, .empty) == .create)
        #expect(upload.startedOver != nil)
        let post = Machine(length: 100, dialect: .draft6, point: begun().point, mayRepeat: false)
        guard case .fail(let error) = post.answered(status, .empty) else {
            Issue.record("a POST is sent twice")
            return
        }
        #expect(error.name == .uploadNotResumed)
    }

    /// What somebody else began is no reason not to begin; who may not do that either has lost nothing of his own.
    @Test(arguments: [201, 401, 403, 500]) func whatIsBarredStartsOver(_ status: Int) {
        let first = begun()
        first.noteSent(60)
        let upload = next(first)
        #expect(upload.answered(403, .empty) == .create)
        #expect(upload.startedOver?.contains("403") == true && upload.point == nil)
        upload.noteSent(90)
        #expect(upload.answered(status, .empty) == nil)
        upload.noteSent(100)
        #expect(upload.point == (status == 401 || status == 403 ? first.point : nil))
        // Who is heard after all begins anew.
        upload.begin()
        #expect(upload.interim(interim(6), from: url, at: now) == nil)
        #expect(upload.point?.sent == 0)
    }

    /// A POST that was cut a moment ago is not sent twice, and waits for who may ask.
    @Test func aPOSTThatIsBarredWaits() {
        let post = Machine(length: 100, dialect: .draft6, point: begun().point, mayRepeat: false)
        guard case .fail(let error) = post.answered(403, .empty) else {
            Issue.record("a POST is sent twice")
            return
        }
        #expect(error.name == .uploadNotResumed && post.point == begun().point)
    }

    @Test func aConflictGoesOnWhereTheServerIs() {
        let first = begun()
        first.noteSent(100)
        let upload = next(first)
        #expect(upload.answered(204, HeaderBlock([("Upload-Offset", "40")])) == .append(40..<100))
        #expect(upload.answered(409, HeaderBlock([("Upload-Offset", "30")])) == .append(30..<100))
        #expect(upload.answered(409, .empty) == .ask)
    }

    @Test func whoNeverComesForwardIsLeft() {
        let first = begun()
        first.noteSent(100)
        let upload = next(first)
        var steps: [ResumableUpload.Step?] = [upload.answered(204, HeaderBlock([("Upload-Offset", "40")]))]
        for _ in 0..<20 {
            steps.append(upload.answered(409, HeaderBlock([("Upload-Offset", "40")])))
            if case .fail? = steps.last ?? nil { return }
        }
        Issue.record("it goes on for ever")
    }

    /// A server may store less than it was sent, as long as it comes forward.
    @Test func whoComesForwardIsNotLeft() {
        let first = begun()
        first.noteSent(100)
        let upload = next(first)
        #expect(upload.answered(204, HeaderBlock([("Upload-Offset", "5")])) == .append(5..<100))
        for offset in stride(from: 10, to: 100, by: 5) {
            let partial = HeaderBlock([("Upload-Complete", "?0"), ("Upload-Offset", "\(offset)")])
            #expect(upload.answered(200, partial) == .ask)
            #expect(upload.answered(204, partial) == .append(Int64(offset)..<100))
        }
        #expect(upload.answered(201, .empty) == nil)
    }

    /// Neither does one that takes pieces, and says of each that nothing came.
    @Test func whoTakesPiecesAndKeepsNoneIsLeft() {
        let upload = Machine(length: 100, dialect: .draft8, mayRepeat: true)
        #expect(upload.interim(interim(8, [("Upload-Limit", "max-append-size=40")]), from: url, at: now) == .ask)
        upload.noteSent(100)
        var step = upload.answered(204, HeaderBlock([("Upload-Offset", "10")]))
        for _ in 0..<20 {
            if case .fail? = step { return }
            step = upload.answered(204, HeaderBlock([("Upload-Offset", "10"), ("Upload-Complete", "?0")]))
        }
        Issue.record("it goes on for ever")
    }

    // MARK: Ends

    /// What it was for has failed, and nobody said that it succeeded since.
    @Test(arguments: [500, 503, 429]) func allOfItIsNoSuccessAfterARefusal(_ status: Int) {
        let complete = HeaderBlock([("Upload-Complete", "?1"), ("Upload-Offset", "100")])
        let first = begun()
        first.noteSent(100)
        #expect(first.answered(status, .empty) == nil)
        #expect(first.point?.refused == status)
        let put = next(first)
        #expect(put.answered(204, complete) == .create)
        #expect(put.startedOver?.contains("\(status)") == true)
        let post = Machine(length: 100, dialect: .draft6, point: first.point, mayRepeat: false)
        switch post.answered(204, complete) {
        // It did not begin with it.
        case .create?: #expect(status != 500)
        case .fail(let error)?:
            #expect(status == 500 && error.name == .uploadNotResumed && error.message.contains("500"))
        default: Issue.record("a refused POST is taken for done")
        }
        // What is sent after it has an answer of its own.
        let rest = next(first)
        #expect(rest.answered(204, HeaderBlock([("Upload-Offset", "90")])) == .append(90..<100))
        let last = next(rest)
        #expect(last.answered(204, complete) == nil)
    }

    @Test func whatIsCompleteNeedsNoRest() {
        for header in [("Upload-Complete", "?1"), ("Upload-Incomplete", "?0")] {
            let first = begun()
            first.noteSent(100)
            let upload = next(first)
            #expect(upload.answered(204, HeaderBlock([header, ("Upload-Offset", "100")])) == nil)
            #expect(upload.point == nil)
            #expect(upload.resumedFrom == 100)
        }
    }

    /// That all is there is a word like any other.
    @Test(arguments: [
        (60, [("Upload-Offset", "100")], "60 were sent"), (100, [], "does not say how much"),
        (100, [("Upload-Offset", "99")], "99 bytes of 100"), (100, [("Upload-Offset", "101")], "101 bytes of 100"),
        (100, [("Upload-Offset", "100"), ("Upload-Length", "99")], "99 bytes there, and not of 100"),
    ])
    func whatCannotBeCompleteStartsOver(_ sent: Int64, _ headers: [(String, String)], _ reason: String) {
        for complete in [("Upload-Complete", "?1"), ("Upload-Incomplete", "?0")] {
            let first = begun()
            first.noteSent(sent)
            let upload = next(first)
            #expect(upload.answered(204, HeaderBlock([complete] + headers)) == .create)
            #expect(upload.startedOver?.contains(reason) == true, "\(upload.startedOver ?? "")")
            #expect(upload.point == nil && upload.resumedFrom == 0)
        }
    }

    /// Who contradicts itself after the last byte is asked, or where there is no place to ask at gets it once more.
    @Test func aLastAnswerThatContradictsItselfIsNoEnd() {
        let doubtful = HeaderBlock([("Upload-Complete", "?1"), ("Upload-Offset", "40")])
        let created = begun()
        #expect(created.answered(201, doubtful) == .ask)
        let first = begun()
        first.noteSent(50)
        let appended = next(first)
        #expect(appended.answered(204, HeaderBlock([("Upload-Offset", "50")])) == .append(50..<100))
        #expect(appended.answered(200, doubtful) == .ask)
        let plain = Machine(length: 100, dialect: .draft6, mayRepeat: true)
        #expect(plain.answered(201, doubtful) == .create)
        let whole = Machine(length: 100, dialect: .draft6, mayRepeat: true)
        #expect(whole.answered(201, HeaderBlock([("Upload-Complete", "?1"), ("Upload-Offset", "100")])) == nil)
    }

    /// After these answers the next attempt asks; after others there is nothing to ask about.
    @Test(arguments: [
        (500, [("a", "b")], true), (503, [("a", "b")], true), (429, [("a", "b")], true), (400, [("a", "b")], false),
        (403, [("a", "b")], false), (500, [("Upload-Complete", "?1")], false), (201, [("a", "b")], false),
    ])
    func anAnswerSaysWhetherWhatIsThereIsOfUse(_ status: Int, _ headers: [(String, String)], _ isKept: Bool) {
        let created = begun()
        #expect(created.answered(status, HeaderBlock(headers)) == nil)
        #expect((created.point != nil) == isKept)
        let first = begun()
        first.noteSent(50)
        let appended = next(first)
        _ = appended.answered(204, HeaderBlock([("Upload-Offset", "50")]))
        #expect(appended.answered(status, HeaderBlock(headers)) == nil)
        #expect((appended.point != nil) == isKept)
    }

    // MARK: Limits

    @Test func aServerThatTakesLittleAtATimeGetsLittleAtATime() {
        let upload = Machine(length: 100, dialect: .draft8, mayRepeat: true)
        let limits = interim(8, [("Upload-Limit", "max-append-size=40, max-age=60")])
        #expect(upload.interim(limits, from: url, at: now) == .ask)
        #expect(upload.point?.expires == now + .seconds(60))
        upload.noteSent(100)
        #expect(upload.answered(204, HeaderBlock([("Upload-Offset", "10")])) == .append(10..<50))
        #expect(lines(upload).contains("Upload-Complete: ?0"))
        #expect(upload.answered(204, HeaderBlock([("Upload-Complete", "?0")])) == .append(50..<90))
        #expect(upload.answered(204, HeaderBlock([("Upload-Offset", "90")])) == .append(90..<100))
        #expect(lines(upload).contains("Upload-Complete: ?1"))
        #expect(upload.answered(200, .empty) == nil)
        // It began in this attempt.
        #expect(upload.resumedFrom == 0)
    }

    /// Of a body that comes in pieces only the last makes a whole, whatever the server says of one before.
    @Test func aPieceIsNotAllOfIt() {
        for words in [
            [("Upload-Complete", "?1")], [("Upload-Complete", "?1"), ("Upload-Offset", "100")],
            [("Upload-Incomplete", "?0")],
        ] {
            let upload = Machine(length: 100, dialect: .draft6, mayRepeat: true)
            #expect(
                upload.interim(interim(6, [("Upload-Limit", "max-append-size=40")]), from: url, at: now) == .ask)
            #expect(upload.answered(204, HeaderBlock([("Upload-Offset", "0")])) == .append(0..<40))
            upload.noteSent(40)
            #expect(upload.answered(200, HeaderBlock(words)) == .ask, "\(words)")
            #expect(upload.answered(204, HeaderBlock([("Upload-Offset", "40")])) == .append(40..<80))
        }
    }

    @Test func aBodyThatIsTooLongIsNotSent() {
        let upload = Machine(length: 100, dialect: .draft8, mayRepeat: true)
        let step = upload.interim(interim(8, [("Upload-Limit", "max-size=99")]), from: url, at: now)
        guard case .fail(let error)? = step else {
            Issue.record("it is sent")
            return
        }
        #expect(error.name == .dataLengthExceedsMaximum)
        // A malformed field says nothing.
        let other = Machine(length: 100, dialect: .draft8, mayRepeat: true)
        #expect(other.interim(interim(8, [("Upload-Limit", "max-size=99,")]), from: url, at: now) == nil)
        #expect(other.point != nil)
    }

    // MARK: Any course

    struct Course: Sendable, CustomTestStringConvertible {
        let version: Int?
        let honesty: UploadServerModel.Honesty
        var testDescription: String { "\(version.map { "\($0)" } ?? "none") \(honesty)" }
    }
    static let courses = [nil, 0, 3, 5, 6, 8].flatMap { version in
        UploadServerModel.Honesty.allCases.map { Course(version: version, honesty: $0) }
    }

    /// Whatever the server speaks and however often it is cut: what it takes for a whole body is the body.
    @Test(arguments: courses) func whatArrivesIsTheBodyOrNothing(_ course: Course) {
        var random = Seeded("whatArrivesIsTheBodyOrNothing \(course)")
        for _ in 0..<Rounds.scaled(60) {
            let body = random.bytes(1 + random.below(200))
            var server = UploadServerModel(
                version: course.version, honesty: course.honesty, length: body.count,
                maximumAppend: course.version == 8 && random.oneIn(3) ? 20 + random.below(100) : nil, random: random)
            let delivered = UploadClient(body: body, url: url).run(&server)
            #expect(server.finished.allSatisfy { $0 == body }, "something else was taken for the body")
            #expect(!delivered || !server.finished.isEmpty)
            _ = random.next()
        }
    }
}

/// The state machine behind a reference: what `#expect` looks at may change.
private final class Machine {
    private var upload: ResumableUpload
    init(length: Int64, dialect: UploadDialect, point: UploadPoint? = nil, mayRepeat: Bool) {
        upload = ResumableUpload(length: length, dialect: dialect, point: point, mayRepeat: mayRepeat)
    }
    var headers: [HeaderField] { upload.headers }
    var method: String? { upload.method }
    var dialect: UploadDialect { upload.dialect }
    var point: UploadPoint? { upload.point }
    var startedOver: String? { upload.startedOver }
    var resumedFrom: Int64 { upload.resumedFrom }
    func noteSent(_ offset: Int64) { upload.noteSent(offset) }
    func begin() { upload.begin() }
    func interim(_ headers: HeaderBlock, from url: ResourceURL, at now: WallTime) -> ResumableUpload.Step? {
        upload.interim(headers, from: url, at: now)
    }
    private static let home = try! ResourceURL.parse("https://example.org/files")

    func answered(_ status: Int, _ headers: HeaderBlock, from url: ResourceURL? = nil) -> ResumableUpload.Step? {
        upload.answered(status, headers, from: url ?? Self.home)
    }
}

/// What an engine does around `ResumableUpload`, without one.
private struct UploadClient {
    let body: [UInt8]
    let url: ResourceURL

    /// Many attempts; whether one of them came to a good end.
    func run(_ server: inout UploadServerModel) -> Bool {
        var point: UploadPoint?
        for number in 0..<40 {
            var upload = ResumableUpload(
                length: Int64(body.count), dialect: UploadDialect.tries[number % UploadDialect.tries.count],
                point: point, mayRepeat: true)
            if attempt(&upload, &server) { return true }
            point = upload.point
        }
        return false
    }

    private func attempt(_ upload: inout ResumableUpload, _ server: inout UploadServerModel) -> Bool {
        for _ in 0..<40 {
            let path = upload.isAtPlace ? (try? ResourceURL.parse(upload.point?.place ?? ""))?.path ?? "?" : "/files"
            let headers = upload.headers.map { ($0.name.lowercased(), $0.value.revealed) }
            let part =
                upload.method == "HEAD" ? [] : upload.range.map { Array(body[Int($0.lowerBound)..<Int($0.upperBound)]) }
            let start = upload.range?.lowerBound ?? 0
            let bytes = part ?? body
            let answer = server.answer(
                upload.method ?? "PUT", path, Dictionary(headers) { $1 }, bytes)
            upload.noteSent(start + Int64(answer.sent))
            var step: ResumableUpload.Step?
            if let interim = answer.interim { step = upload.interim(interim, from: url, at: WallTime(nanoseconds: 0)) }
            if step == nil {
                guard let final = answer.final else { return false }
                step = upload.answered(final.status, final.headers, from: url)
                if step == nil { return (200..<300).contains(final.status) }
            }
            if case .fail? = step { return false }
        }
        Issue.record("an attempt goes on for ever")
        return false
    }
}
