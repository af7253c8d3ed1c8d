import HTTPRules
import TestSupport
import Testing
import TextFormats
import TransferModel

@Suite struct RevalidationTests {
    private let stamp = FileStamp(size: 100, modifiedNanoseconds: 1_577_880_000_000_000_000)
    private let date = "Wed, 01 Jan 2020 12:00:00 GMT"

    private func options(_ change: (inout TaskOptions.Values) -> Void = { _ in }) -> TaskOptions.Values {
        var values = TaskOptions.Values(policies: TransferPolicies())
        change(&values)
        return values
    }

    private func kept(
        etag: String? = "\"1\"", lastModified: String? = nil, _ options: TaskOptions.Values? = nil
    ) -> KeptValidators {
        KeptValidators(
            url: "https://a.test/x", etag: etag, lastModified: lastModified,
            shape: Revalidation.shape(of: options ?? self.options()), file: stamp)
    }

    private func line(_ condition: RequestCondition?) -> String? {
        condition.map { "\($0.url ?? "any") \($0.header.name): \($0.header.value.revealed)" }
    }

    /// Of a file that the server named, the next run must know which one is the task's own.
    @Test(arguments: [(nil, true), ("f", true), ("f", false)] as [(String?, Bool)])
    func answerWithoutValidators_isKept_whereTheServerNamedTheFile(_ name: String?, _ isProven: Bool) {
        var answer = FiledAnswer(
            url: "https://a.test/x", status: 200, headers: .empty, shape: 1, file: stamp, name: name,
            checksum: checksum(2), boot: 1)
        answer.isProven = isProven
        #expect((answer.kept != nil) == (name != nil) && answer.kept?.name == name)
        #expect(answer.kept?.etag == nil && answer.kept?.lastModified == nil)
        #expect(Revalidation.condition(answer.kept, file: stamp, found: checksum(2), boot: 1, options()) == nil)
    }

    @Test func theETagIsAskedWithBeforeTheDate() {
        func asked(_ etag: String?, _ date: String?) -> String? {
            line(Revalidation.condition(kept(etag: etag, lastModified: date), file: stamp, options()))
        }
        #expect(asked("\"1\"", nil) == "https://a.test/x If-None-Match: \"1\"")
        #expect(asked("W/\"1\"", date) == "https://a.test/x If-None-Match: W/\"1\"")
        #expect(asked(nil, date) == "https://a.test/x If-Modified-Since: \(date)")
        #expect(asked(nil, nil) == nil)
    }

    /// A file that stays as it is would never get it.
    @Test func aTimeThatIsWantedOnlyNowIsFetched() {
        let without = options { $0.preserveTime = false }
        #expect(Revalidation.condition(kept(without), file: stamp, options()) == nil)
        #expect(Revalidation.condition(kept(without), file: stamp, without) != nil)
    }

    @Test func onlyTheFileThatWasKeptIsAskedAbout() {
        func isAsked(_ file: FileStamp?) -> Bool { Revalidation.condition(kept(), file: file, options()) != nil }
        #expect(isAsked(stamp))
        #expect(!isAsked(nil))
        #expect(!isAsked(FileStamp(size: 99, modifiedNanoseconds: stamp.modifiedNanoseconds)))
        #expect(!isAsked(FileStamp(size: 100, modifiedNanoseconds: stamp.modifiedNanoseconds + 1)))
        #expect(Revalidation.condition(nil, file: stamp, options()) == nil)
    }

    /// A file of the same size and time in the place of the one that was kept is asked about when it holds the same.
    @Test func anotherFileInItsPlaceIsReadFirst() {
        var known = kept()
        known.file.identity = 1
        var here = stamp
        func isAsked(_ sum: UInt8? = nil) -> Bool {
            Revalidation.condition(known, file: here, found: sum.map { checksum($0) }, boot: 7, options()) != nil
        }
        // Rows of earlier versions know no identity.
        #expect(isAsked())
        here.identity = 1
        #expect(isAsked() && Revalidation.confirmed(known, file: here, boot: 7) == nil)
        here.identity = 2
        #expect(!isAsked() && !isAsked(5))
        (known.checksum, known.boot) = (checksum(5), 7)
        #expect(!isAsked() && !isAsked(6) && isAsked(5))
        let confirmed = Revalidation.confirmed(known, file: here, boot: 8)
        #expect(confirmed?.file == here && confirmed?.checksum == checksum(5) && confirmed?.boot == 8)
        here.identity = 1
        let survived = Revalidation.confirmed(known, file: here, boot: 8)
        #expect(survived != nil && survived?.boot == nil)
    }

    /// What a task says decides: the table of who asks.
    @Test(arguments: [
        ("nothing", true), ("replace", false), ("skip", false), ("fail", false), ("checksum", false), ("HEAD", false),
        ("GET", true), ("POST", false), ("body", false), ("range", false), ("own condition", false), ("accept", true),
        ("capture", false), ("404", false), ("onResponse", false), ("reload", false), ("authorization", true),
    ])
    func someTasksAlwaysFetch(_ what: String, _ asks: Bool) {
        let options = options { values in
            func header(_ name: String) { values.headers = [HeaderField(name: name, value: "x")] }
            switch what {
            case "replace": values.existing = .replace
            case "skip": values.existing = .skip
            case "404": values.expect.status = StatusSet(404)
            case "fail": values.existing = .fail
            case "checksum": values.checksum = .literal(Checksum(algorithm: .md5, bytes: Array(0..<16)))
            case "HEAD", "GET", "POST": values.method = what
            case "body": values.body = .data("x")
            case "range": header("Range")
            case "own condition": header("if-none-MATCH")
            case "accept": header("Accept")
            case "authorization": header("Authorization")
            case "capture": values.captures = [Capture(name: "a", source: .header("ETag"))]
            case "onResponse": values.onResponse = [ResponseRule(action: .cancel)]
            case "reload": values.policies.cachePolicy = .reloadIgnoringCacheData
            default: break
            }
        }
        #expect(Revalidation.applies(to: options) == asks)
        #expect((Revalidation.condition(kept(options), file: stamp, options) != nil) == asks)
    }

    /// What was not flushed counts after a new start of the system only by what is in it.
    @Test func anotherStartAsksForTheContent() {
        func isAsked(boot: Int64?, kept sum: UInt8? = nil, found: UInt8? = nil) -> Bool {
            var known = kept()
            (known.checksum, known.boot) = (sum.map { checksum($0) }, boot)
            return Revalidation.condition(known, file: stamp, found: found.map { checksum($0) }, boot: 1, options())
                != nil
        }
        #expect(isAsked(boot: nil) && isAsked(boot: 1) && isAsked(boot: nil, kept: 7))
        #expect(isAsked(boot: 2, kept: 7, found: 7))
        #expect(!isAsked(boot: 2, kept: 7, found: 8) && !isAsked(boot: 2, kept: 7))
        #expect(!isAsked(boot: 2))
    }

    private func checksum(_ byte: UInt8) -> Checksum {
        Checksum(algorithm: .xxh3, bytes: Array(repeating: byte, count: 16))
    }

    private func kept(_ options: TaskOptions.Values) -> KeptValidators { kept(etag: "\"1\"", options) }

    @Test func aFileThatBreaksTodaysExpectationsIsFetched() {
        func isAsked(_ change: (inout TaskOptions.Values) -> Void) -> Bool {
            let options = options(change)
            return Revalidation.condition(kept(options), file: stamp, options) != nil
        }
        #expect(isAsked { $0.expect.size = 100 } && !isAsked { $0.expect.size = 99 })
        #expect(isAsked { $0.expect.minimumSize = 100 } && !isAsked { $0.expect.minimumSize = 101 })
        #expect(isAsked { $0.maximumSize = 100 } && !isAsked { $0.maximumSize = 99 })
    }

    /// The same URL gives another file when it is asked otherwise, decoded otherwise or judged otherwise.
    @Test func whatWasAskedForOtherwiseIsNotKnownAgain() {
        let changes: [(inout TaskOptions.Values) -> Void] = [
            { _ in }, { $0.decompress = .answer }, { $0.decompress = .file }, { $0.expect.notHTML = true },
            { $0.expect.mimeType = "text/*" },
            { $0.expect.magic = .gzip }, { $0.expect.bodyContains = "a" }, { $0.expect.bodyMatches = "a" },
            { $0.expect.headers = [Expectations.HeaderMatch(name: "a", pattern: "b")] },
            { $0.expect.bodyJSON = [Expectations.JSONMatch(path: "$", value: .null)] },
            { $0.headers = [HeaderField(name: "Accept-Language", value: "de")] },
            { $0.headers = [HeaderField(name: "Accept-Language", value: "fr")] },
            { $0.headers = [HeaderField(name: "ACCEPT", value: "de")] },
        ]
        let shapes = changes.map { Revalidation.shape(of: options($0)) }
        #expect(Set(shapes).count == changes.count)
        for (place, change) in changes.enumerated() {
            let isAsked = Revalidation.condition(kept(), file: stamp, options(change)) != nil
            #expect(isAsked == (place == 0))
        }
        // Others may change from run to run.
        let other = options { $0.headers = [HeaderField(name: "Authorization", value: "x")] }
        #expect(Revalidation.shape(of: other) == shapes[0])
        // It is kept on disk: another program's must be the same.
        #expect(shapes[0] == Int64(bitPattern: 0xCBF2_9CE4_8422_2325))
    }

    private func validators(
        _ lines: [(String, String)], status: Int = 200, askedAt: WallTime? = ManualClock().wall
    ) -> String? {
        let found = Revalidation.validators(of: HeaderBlock(lines), status: status, askedAt: askedAt)
        return found.map { $0.etag ?? $0.lastModified ?? "neither" }
    }

    @Test(arguments: ["\"1\"", "W/\"1\"", "\"\"", "\"a,b\"", "\"grüße\""])
    func entityTagsAreKeptAsSent(_ tag: String) {
        #expect(validators([("ETag", tag), ("Last-Modified", date)]) == tag)
    }

    @Test(arguments: ["1", "\"", "w/\"1\"", "\"a b\"", "\"a\"b\"", "\"1\", \"2\"", "W/1", ""])
    func whatIsNoEntityTagIsPassedOver(_ tag: String) {
        #expect(validators([("ETag", tag), ("Last-Modified", date)]) == date)
        #expect(validators([("ETag", tag)]) == nil)
    }

    @Test func onlyAnUnambiguousWholeAnswerIsKept() {
        #expect(validators([("ETag", "\"1\""), ("ETag", "\"2\"")]) == nil)
        for status in [201, 203, 204, 206, 302, 404] { #expect(validators([("ETag", "\"1\"")], status: status) == nil) }
        #expect(validators([]) == nil)
        #expect(validators([("Last-Modified", "yesterday")]) == nil)
    }

    /// A file that may have changed again in the second in which it was sent.
    @Test(arguments: [("12:00:00", false), ("12:00:01", true), ("11:59:59", false), ("13:00:00", true)])
    func aDateOfThatVerySecondProvesNothing(_ clock: String, _ isKept: Bool) {
        let answered = ("Date", "Wed, 01 Jan 2020 \(clock) GMT")
        #expect((validators([("Last-Modified", date), answered]) != nil) == isKept)
        #expect(validators([("Last-Modified", date), answered, ("ETag", "\"1\"")]) == "\"1\"")
    }

    /// Where the server does not say when it answered, the clock here does, which need not be as the server's.
    @Test func withoutADateTheClockHereCounts() throws {
        let time = WallTime(nanoseconds: stamp.modifiedNanoseconds)
        func isKept(_ askedAt: WallTime?, _ more: [(String, String)] = []) -> Bool {
            validators([("Last-Modified", date)] + more, askedAt: askedAt) == date
        }
        #expect(!isKept(nil) && !isKept(time) && !isKept(time + .seconds(59)) && isKept(time + .seconds(60)))
        // What is no date says no more than none.
        #expect(!isKept(time, [("Date", "today")]) && isKept(time + .seconds(60), [("Date", "today")]))
    }

    // MARK: Nothing was kept

    private let day = WallTime(nanoseconds: 1_700_000_000_000_000_000)
    private var dayText: String { HTTPDate.format(day) }

    @Test(arguments: [(0, 61, true), (1, 61, false), (500_000_000, 61, false), (0, 59, false)])
    func aFileOfAWholeSecondAMinuteAgo_isAskedAboutByItsTime(_ fraction: Int64, _ age: Int64, _ asks: Bool) {
        let file = FileStamp(size: 5, modifiedNanoseconds: day.nanoseconds + fraction)
        let condition = Revalidation.condition(unknown: file, at: day + .seconds(age), options())
        #expect(line(condition) == (asks ? "any If-Modified-Since: \(dayText)" : nil))
    }

    @Test func whatKeepsItsOwnTime_isNotAskedAbout() {
        let file = FileStamp(size: 5, modifiedNanoseconds: day.nanoseconds)
        var own = options()
        own.preserveTime = false
        #expect(Revalidation.condition(unknown: file, at: day + .seconds(100), own) == nil)
        var replaced = options()
        replaced.existing = .replace
        #expect(Revalidation.condition(unknown: file, at: day + .seconds(100), replaced) == nil)
        var longer = options()
        longer.expect.size = 6
        #expect(Revalidation.condition(unknown: file, at: day + .seconds(100), longer) == nil)
    }

    @Test func a304_isBelievedWithDateAndLengthOnly() {
        let condition = RequestCondition(file: FileStamp(size: 5, modifiedNanoseconds: day.nanoseconds))
        let date = ("Last-Modified", dayText), other = ("Last-Modified", HTTPDate.format(day + .seconds(1)))
        func word(_ headers: [(String, String)]) -> RequestCondition.Word { condition.word(of: HeaderBlock(headers)) }
        #expect(word([date, ("Content-Length", "5")]) == .same)
        #expect(word([date]) == .unproven && word([]) == .unproven && word([("Content-Length", "5")]) == .unproven)
        #expect(word([other]) == .other && word([other, ("Content-Length", "5")]) == .other)
        #expect(word([date, ("Content-Length", "6")]) == .other)
        func isMet(_ status: Int, _ headers: [(String, String)]) -> Bool {
            condition.isMet(byHead: status, HeaderBlock(headers))
        }
        #expect(isMet(200, [date, ("Content-Length", "5")]))
        #expect(
            !isMet(200, [date]) && !isMet(200, [("Content-Length", "5")])
                && !isMet(404, [date, ("Content-Length", "5")]))
        #expect(!isMet(200, [other, ("Content-Length", "5")]) && !isMet(200, [date, ("Content-Length", "6")]))
        #expect(!isMet(200, [date, ("Content-Length", "5"), ("Content-Encoding", "gzip")]))
    }
}
