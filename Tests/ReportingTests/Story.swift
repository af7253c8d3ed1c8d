import TestSupport
import TransferModel

/// A made-up run: a job and the events of it, in an order that a run could have given, with texts of every kind.
///
/// With a secret, texts hold it in one encoding or another, and `embedded` says in which spellings.
struct Story {
    private(set) var random: Seeded
    let secret: String?
    private(set) var embedded: Set<String> = []
    private(set) var job = Job(name: "story", file: "jobs.yaml", baseDirectory: "/srv/job")
    private(set) var events: [Event] = []
    private var clock: Int64 = 1_795_244_400_000_000_000

    init(random: Seeded, tasks: Int, secret: String? = nil) {
        self.random = random
        self.secret = secret
        if let secret { embedded.insert(secret) }
        makeJob(tasks)
        makeEvents()
    }

    // MARK: Texts

    mutating func text() -> String {
        let plain = [
            "", "a", "GET", "x y", "é€😀", "\"quoted\" \\ back", "line\nbreak\u{0}\u{1B}[31m", "::error::x", "100%",
        ]
        guard secret != nil, random.oneIn(2) else { return random.pick(plain) }
        return random.pick(plain) + spelledSecret() + random.pick(["", ".", "&x=1", " tail"])
    }

    mutating func optionalText() -> String? { random.oneIn(3) ? nil : text() }

    private mutating func spelledSecret() -> String {
        guard let secret else { return "" }
        let spelling =
            switch random.below(8) {
            case 0: Spelled.percent(secret, upper: true, keeping: "")
            case 1: Spelled.percent(secret, upper: false, keeping: "")
            case 2: Spelled.percent(secret, upper: true, keeping: "!$&'()*+,;=:@/?")
            case 3: Spelled.form(secret)
            case 4: Spelled.json(secret, all: false)
            case 5: Spelled.json(secret, all: true)
            case 6: secret
            default: base64()
            }
        embedded.insert(spelling)
        return spelling
    }

    /// Only the characters that hold bits of the secret are its spelling.
    private mutating func base64() -> String {
        let before = random.bytes(random.below(5))
        let bytes = before + Array((secret ?? "").utf8) + random.bytes(random.below(5))
        let text = Array(Spelled.base64(bytes, urlSafe: random.oneIn(2)))
        let first = before.count * 8 / 6
        let end = ((before.count + (secret ?? "").utf8.count) * 8 + 5) / 6
        embedded.insert(String(text[first..<end]))
        return String(text)
    }

    // MARK: Job

    private mutating func makeJob(_ tasks: Int) {
        if let secret { job.secrets = [KnownSecret(name: "S", value: secret)] }
        job.sessions = [SessionConfiguration(name: "default"), SessionConfiguration(name: "other")]
        job.variables = [.init(name: "release", value: .number("3.10")), .init(name: "v", value: .string(text()))]
        job.variables.append(.init(name: "odd", value: .list([.number("0x1F"), .null, .boolean(true), .map([])])))
        job.groups = [GroupSpecification(name: "site", to: "site")]
        for index in 0..<tasks { job.tasks.append(task(index)) }
    }

    private mutating func task(_ index: Int) -> TaskSpecification {
        var values = TaskOptions.Values(policies: TransferPolicies())
        values.description = optionalText()
        if random.oneIn(4) { values.labels = [.init(name: "team", value: .string(text()))] }
        let location: TaskSpecification.Location =
            random.oneIn(5)
            ? .awaitingCapture(SecretText(pieces: [.capture(task: "t0", name: "url", escaping: .none)]))
            : .url(Self.url(index))
        return TaskSpecification(
            id: "t\(index)", type: random.pick(TaskType.allCases), session: SessionIndex(raw: UInt16(random.below(2))),
            location: location, destination: nil, line: UInt32(index + 1), options: TaskOptions(values))
    }

    private static func url(_ index: Int) -> ResourceURL {
        do {
            return try ResourceURL.parse("https://example.org/\(index)")
        } catch {
            preconditionFailure("the story's own URL is none: \(error)")
        }
    }

    // MARK: Events

    private mutating func makeEvents() {
        append(nil, SessionIndex(raw: 0), .sessionStarted)
        var queues = job.tasks.indices.map { life(of: $0) }
        var open = Array(queues.indices)
        while !open.isEmpty {
            let place = random.below(open.count)
            let task = open[place]
            append(TaskIndex(raw: UInt32(task)), job.tasks[task].session, queues[task].removeFirst())
            if queues[task].isEmpty { open.remove(at: place) }
        }
        append(nil, SessionIndex(raw: 0), .sessionFinishedEvents)
        let host = SessionRecord.Host(
            origin: Origin(scheme: "https", host: text(), port: 443), peakConnections: 2, tasks: 3)
        append(
            nil, SessionIndex(raw: 0),
            .sessionInvalidated(SessionRecord(connectionsOpened: 1, connectionsReused: 2, hosts: [host])))
        let removed = RemovedFiles(count: 3, named: [text(), text()])
        append(nil, nil, .groupPublished(GroupRecord(name: "site", removed: removed)))
        let group = RunRecord.Group(name: "site", published: true, error: nil)
        append(
            nil, nil,
            .runFinished(
                RunRecord(outcome: .failed, exitStatus: 1, duration: .milliseconds(1234), groups: [group])))
    }

    private mutating func append(_ task: TaskIndex?, _ session: SessionIndex?, _ kind: Event.Kind) {
        clock += Int64(random.below(90_000_000))
        events.append(
            Event(
                time: WallTime(nanoseconds: clock), sequence: UInt64(events.count + 1), session: session, task: task,
                kind: kind))
    }

    private mutating func life(of task: Int) -> [Event.Kind] {
        var kinds: [Event.Kind] = [.taskCreated]
        if random.oneIn(5) { return kinds + [.taskFinished(end([.skipped, .deferred, .cancelled]))] }
        kinds.append(.taskResumed)
        if random.oneIn(2) { kinds.append(.waiting(random.pick(WaitReason.allCases))) }
        for number in 1...(1 + random.below(3)) { kinds += attempt(number) }
        return kinds + [.taskFinished(end([.succeeded, .failed, .cancelled]))]
    }

    private mutating func attempt(_ number: Int) -> [Event.Kind] {
        var kinds: [Event.Kind] = [.attemptStarted(AttemptStart(number: number, url: text()))]
        if random.oneIn(3) { kinds.append(.challenge(challenge())) }
        if random.oneIn(3) { kinds.append(.redirect(redirect())) }
        if random.oneIn(3) { kinds.append(.resumedAtOffset(.init(bytes: 7, expected: nil))) }
        if !random.oneIn(4) { kinds.append(.response(response())) }
        if random.oneIn(4) { kinds += [.becameDownload, .needNewBodyStream, .cacheStored] }
        for bytes in 0..<random.below(6) {
            kinds.append(.receivedData(.init(bytes: Int64(bytes), expected: 5)))
            kinds.append(.sentBodyData(.init(bytes: Int64(bytes), expected: nil)))
        }
        if random.oneIn(3) { kinds.append(.fileFinished(file())) }
        return kinds + [.attemptFinished(attemptEnd(number))]
    }

    private mutating func challenge() -> ChallengeRecord {
        ChallengeRecord(
            method: text(), host: text(), realm: optionalText(), level: text(), disposition: text(),
            previousFailureCount: random.below(3))
    }

    private mutating func redirect() -> RedirectRecord {
        RedirectRecord(
            status: 302, from: text(), to: text(), method: text(),
            action: random.pick([.followed, .refused, .accepted]),
            stripped: [text()])
    }

    private mutating func response() -> ResponseRecord {
        let headers = (0..<random.below(5)).map { ("X-\($0)", headerValue()) }
        return ResponseRecord(
            status: random.oneIn(5) ? nil : 200, url: text(), method: text(), mimeType: optionalText(),
            charset: optionalText(), expectedLength: random.oneIn(2) ? nil : 5, suggestedFilename: optionalText(),
            contentEncoding: optionalText(), headers: HeaderBlock(headers))
    }

    /// A line break would end the header, as it does on the wire.
    private mutating func headerValue() -> String {
        String(text().unicodeScalars.map { $0 == "\n" ? " " : Character($0) })
    }

    private mutating func file() -> FileRecord {
        FileRecord(
            path: (random.oneIn(2) ? "/srv/job/out/" : "/elsewhere/") + text(), bytes: 10,
            checksum: random.oneIn(2) ? nil : Checksum(algorithm: .sha256, bytes: random.bytes(32)),
            changed: random.oneIn(2), lengthUnverified: random.oneIn(4))
    }

    private mutating func error() -> TransferError? {
        random.oneIn(2)
            ? nil : TransferError(random.pick(ErrorName.allCases), text(), curl: random.oneIn(2) ? nil : 56, errno: nil)
    }

    private mutating func attemptEnd(_ number: Int) -> AttemptRecord {
        AttemptRecord(
            number: number, url: text(), outcome: random.pick([.succeeded, .failed, .cancelled]), resumedFrom: 0,
            startedAt: WallTime(nanoseconds: clock), duration: .microseconds(Int64(random.below(1_000_000))),
            error: error(), backoff: random.oneIn(2) ? nil : .milliseconds(1300),
            transactions: (0..<random.below(3)).map { _ in transaction() })
    }

    private mutating func transaction() -> TransactionMetrics {
        var metrics = TransactionMetrics(method: text(), url: text(), fetchStart: WallTime(nanoseconds: clock))
        if random.oneIn(2) { metrics.connectStart = WallTime(nanoseconds: clock + 1_000_000) }
        if random.oneIn(2) { metrics.status = 404 }
        if random.oneIn(2) { metrics.tlsVersion = 0x0304 }
        metrics.networkProtocolName = optionalText()
        metrics.remoteAddress = optionalText()
        metrics.responseBodyBytesReceived = 10
        return metrics
    }

    private mutating func end(_ outcomes: [TaskOutcome]) -> TaskRecord {
        let outcome = random.pick(outcomes)
        let body: [UInt8]? =
            switch random.below(4) {
            case 0: Array(text().utf8)
            case 1: random.bytes(random.below(40)) + [0xFF]
            default: nil
            }
        return TaskRecord(
            outcome: outcome, tolerated: outcome == .failed && random.oneIn(4),
            changed: random.pick([nil, true, false]), source: random.pick([nil] + ResultSource.allCases),
            waits: [.init(reason: random.pick(WaitReason.allCases), duration: .milliseconds(100))],
            error: outcome == .succeeded ? nil : error(), body: body, lengthUnverified: random.oneIn(5),
            captures: [.init(name: "c", value: .string(text())), .init(name: "n", value: .number("12"))],
            duration: .microseconds(Int64(random.below(9_000_000))),
            explanation: outcome == .succeeded ? nil : optionalText(),
            parts: random.oneIn(4) ? (0..<3).map { _ in part() } : [])
    }

    private mutating func part() -> AnswerPart {
        AnswerPart(headers: HeaderBlock([("X-Part", headerValue())]), body: Array(text().utf8))
    }
}

/// A secret in the spellings that encoders have for it, made by other means than the redactor's.
enum Spelled {
    static func percent(_ text: String, upper: Bool, keeping: String) -> String {
        text.utf8.map { byte in
            let scalar = Unicode.Scalar(byte)
            let isKept =
                scalar.isASCII
                && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil
                    || ("-._~" + keeping).unicodeScalars.contains(scalar))
            return isKept ? String(scalar) : "%" + hex(byte, upper)
        }.joined()
    }

    static func form(_ text: String) -> String {
        percent(text, upper: true, keeping: " ").map { $0 == " " ? "+" : String($0) }.joined()
    }

    static func json(_ text: String, all: Bool) -> String {
        text.utf16.map { unit in
            switch unit {
            case 0x22: "\\\""
            case 0x5C: "\\\\"
            case 0x2F where all: "\\/"
            case _ where all || unit > 0x7E:
                "\\u" + hex(UInt8(unit >> 8), false) + hex(UInt8(unit & 255), true)
            default: String(Unicode.Scalar(UInt8(unit)))
            }
        }.joined()
    }

    /// With names, or with numbers to that base.
    static func html(_ text: String, numeric base: Int?) -> String {
        text.unicodeScalars.map { scalar in
            switch (base, scalar) {
            case (nil, "&"): "&amp;"
            case (nil, "<"): "&lt;"
            case (nil, ">"): "&gt;"
            case (nil, "\""): "&quot;"
            case (nil, "'"): "&apos;"
            case (10, _): "&#\(scalar.value);"
            case (16, _): "&#x" + String(scalar.value, radix: 16) + ";"
            default: String(scalar)
            }
        }.joined()
    }

    static func base64(_ bytes: [UInt8], urlSafe: Bool) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + (urlSafe ? "-_" : "+/"))
        let bits = bytes.flatMap { byte in (0..<8).map { byte >> (7 - $0) & 1 } }
        return stride(from: 0, to: bits.count, by: 6).map { start in
            let group = bits[start..<min(start + 6, bits.count)]
            let value = group.reduce(0) { $0 << 1 | Int($1) } << (6 - group.count)
            return String(alphabet[value])
        }.joined()
    }

    private static func hex(_ byte: UInt8, _ upper: Bool) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: upper)
    }
}
