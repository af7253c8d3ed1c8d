import BackgroundService
import JobRunner
import TestSupport
import Testing
import TextFormats
import TransferModel

/// Messages as values, as frames, and as what others write instead.
struct ProtocolTests {
    private static let wishes: [ServiceWish] = [
        .ring(nil), .ring("org.example.nightly"), .status(nil), .status("ü \"x\"\n"), .follow("a", after: 0),
        .follow("a", after: .max), .control(ServiceControl(.suspend, of: "a")),
        .control(ServiceControl(.resume, of: "a", patterns: ["x", "debs-*"])),
        .control(ServiceControl(.cancel, of: "a", patterns: ["x"], keepPartial: true)), .stop,
    ]

    private static func json(_ frame: [UInt8]) -> [UInt8] { Array(frame.dropFirst(4)) }

    private func problem(_ text: String) -> String? {
        do throws(ServiceProblem) {
            _ = try ServiceRequest.parse(Array(text.utf8))
            return nil
        } catch { return error.description }
    }

    @Test(arguments: [
        (ServiceFailure.silent(.seconds(5)), "it said nothing for 5 seconds"), (.refused("no"), "no"),
        (.gone, "it went away before it answered"),
    ])
    func whatWentWrongIsSaidInWords(_ failure: ServiceFailure, _ words: String) { #expect("\(failure)" == words) }

    // MARK: Round trips

    @Test(arguments: wishes) func requestsComeBack(_ wish: ServiceWish) throws {
        let request = ServiceRequest(77, wish)
        #expect(try ServiceRequest.parse(Self.json(request.frame)) == request)
    }

    @Test func hellosComeBack() throws {
        let hello = ServiceHello(
            version: "0.1.0", protocols: 2...5, process: 42, started: WallTime(nanoseconds: 1_700_000_000_123_000_000),
            state: "/home/ü/state")
        #expect(try ServiceHello.parse(Self.json(hello.frame)) == hello)
        let short = ServiceHello(version: "1", protocols: 1...1, process: 7)
        #expect(try ServiceHello.parse(Self.json(short.frame)) == short)
        // What a later version adds is passed over.
        let later = Array(#"{"type":"hello","protocol":[1,9],"version":"9","pid":3,"colour":"red"}"#.utf8)
        #expect(try ServiceHello.parse(later) == ServiceHello(version: "9", protocols: 1...9, process: 3))
    }

    @Test func newsComeBack() throws {
        let all: [ServiceNews] = [
            .events("a", upTo: 42), .events("a", upTo: 0, trouble: "the disk is \"full\""), .leaving("signal 15"),
            .progress(Self.progress("t", 7, .sent)), .progress(Self.progress("t", 7, expected: .max)),
        ]
        for news in all { #expect(try ServiceMessage.parse(Self.json(news.frame)) == .news(news)) }
    }

    static func progress(
        _ task: String, _ bytes: Int64, _ direction: TaskProgress.Direction = .received, expected: Int64? = nil,
        of identifier: String = "a", after: UInt64 = 3
    ) -> TaskProgress {
        TaskProgress(
            identifier: identifier, task: task, direction, bytes: bytes, expected: expected, after: after,
            at: WallTime(nanoseconds: 1_800_000_000_123_000_000))
    }

    static func status(_ identifier: String, _ job: String = "j", _ tasks: [RunStatus.Task] = []) -> SessionStatus {
        var counts = Dictionary(uniqueKeysWithValues: RunStatus.State.allCases.map { ($0, 0) })
        for task in tasks { counts[task.state, default: 0] += 1 }
        return SessionStatus(
            identifier,
            RunStatus(
                job: job, startedAt: WallTime(nanoseconds: 1_800_000_000_000_000_000), counts: counts, tasks: tasks))
    }

    private func parts(_ answer: ServiceAnswer) throws -> [ServiceMessage] {
        var parts = AnswerParts(9, answer)
        var messages: [ServiceMessage] = []
        while let frame = parts.next() {
            #expect(frame.count - 4 <= ServiceProtocol.maximumFrame)
            var reader = FrameReader()
            let progress = reader.receive(frame)
            #expect(progress.problem == nil && reader.isBetweenFrames && progress.frames.count == 1)
            messages += try progress.frames.map { try ServiceMessage.parse($0) }
        }
        return messages
    }

    @Test func shortAnswersAreOneFrame() throws {
        let run = Self.status(
            "a", "nightly",
            [
                RunStatus.Task(id: "t", state: .running, bytesReceived: 5, bytesSent: 6, expected: 7, attempts: 8),
                RunStatus.Task(id: "u", state: .waiting, waitingFor: .network, lacks: "a network: there is none"),
                RunStatus.Task(
                    id: "v", state: .waiting, waitingFor: .backoff, error: TransferError(.timedOut, "no byte came"),
                    nextAttemptAt: WallTime(nanoseconds: 1_800_000_000_123_000_000)),
            ])
        let empty = Self.status("b", "b")
        let answers: [ServiceAnswer] = [
            .done, .following(5), .refused("no \"such\" task"), .changed([]), .changed(["a", "b"]), .status([]),
            .status([run]),
        ]
        for answer in answers { #expect(try parts(answer) == [.part(9, answer, isLast: true)]) }
        let two = try parts(.status([run, empty]))
        #expect(two == [.part(9, .status([run]), isLast: false), .part(9, .status([empty]), isLast: true)])
    }

    @Test func longAnswersComeInParts() throws {
        let ids = (0..<10_000).map { "a-task-with-a-long-name-\($0)" }
        let changed = try parts(.changed(ids))
        #expect(changed.count > 5)
        var gathered: [String] = []
        for (index, message) in changed.enumerated() {
            guard case .part(9, .changed(let some), let isLast) = message else { throw ServiceTrouble("another") }
            gathered += some
            #expect(isLast == (index == changed.count - 1))
        }
        #expect(gathered == ids)
        let tasks = ids.map { RunStatus.Task(id: $0, state: .running, bytesReceived: 1) }
        let runs = ["a", "b"].map { Self.status($0, $0, tasks) }
        var told: [String: Int] = [:]
        for message in try parts(.status(runs)) {
            guard case .part(9, .status(let some), _) = message else { throw ServiceTrouble("another") }
            for run in some { told[run.identifier, default: 0] += run.run.tasks.count }
        }
        #expect(told == ["a": 10_000, "b": 10_000])
    }

    /// Whatever ids and identifiers a job has, no frame is longer than the other side takes.
    @Test func nothingMakesAFrameTooLong() throws {
        let worst = String(repeating: "\u{1}", count: 100_000)
        let identifier = String(repeating: "\u{1}", count: ServiceProtocol.maximumIdentifier)
        let task = RunStatus.Task(
            id: worst, state: .suspended, waitingFor: .suspended, lacks: worst, bytesReceived: .max, bytesSent: .max,
            expected: .max, attempts: .max)
        let run = Self.status(identifier, worst, Array(repeating: task, count: 20))
        for answer: ServiceAnswer in [
            .changed(Array(repeating: worst, count: 30)), .refused(worst), .status([run, run]),
        ] {
            #expect(try !parts(answer).isEmpty)
        }
        let progress = Self.progress(worst, .max, expected: .max, of: identifier, after: .max)
        for news: ServiceNews in [
            .leaving(worst), .progress(progress), .events(identifier, upTo: .max, trouble: worst),
        ] {
            #expect(news.frame.count - 4 <= ServiceProtocol.maximumFrame)
        }
    }

    // MARK: Versions

    @Test func versionsAgreeOrSayWhoMustGo() {
        #expect(ServiceProtocol.agree(1...1, own: 1...1) == .speaking(1))
        #expect(ServiceProtocol.agree(1...3, own: 2...5) == .speaking(3))
        #expect(ServiceProtocol.agree(2...9, own: 1...4) == .speaking(4))
        #expect(ServiceProtocol.agree(1...1, own: 2...3) == .otherIsOlder)
        #expect(ServiceProtocol.agree(4...5, own: 2...3) == .otherIsNewer)
    }

    // MARK: What is wrong

    @Test func mistakesAreNamed() {
        #expect(problem("x") == "a frame is no JSON: a value is wanted here (byte 0)")
        #expect(problem("[]") == "a message is an object with a `type`")
        #expect(problem(#"{"id":1}"#) == "a message is an object with a `type`")
        #expect(
            problem(#"{"type":"dance"}"#)
                == "no request is called `dance`: there are `control`, `follow`, `ring`, `status`, `stop`")
        #expect(problem(#"{"type":"stop"}"#) == "`id` of `stop` must be a whole number from 0 to 4294967295")
        #expect(problem(#"{"type":"stop","id":-1}"#)?.contains("whole number") == true)
        #expect(problem(#"{"type":"stop","id":4294967296}"#)?.contains("whole number") == true)
        #expect(problem(#"{"type":"stop","id":1,"id":2}"#) == "`stop` has `id` twice")
        #expect(problem(#"{"type":"stop","id":1,"now":true}"#) == "`stop` has no `now`: it has `id`")
        #expect(
            problem(#"{"type":"ring","id":1,"identifier":""}"#)
                == "`identifier` of `ring` must be a session's identifier of 1 to 1024 bytes")
        #expect(problem(#"{"type":"follow","id":1,"after":0}"#)?.contains("`identifier` of `follow`") == true)
        #expect(problem(#"{"type":"follow","id":1,"identifier":"a"}"#)?.contains("`after` of `follow`") == true)
        #expect(
            problem(#"{"type":"control","id":1,"command":"status","identifier":"a"}"#)
                == "`command` of `control` must be one of `suspend`, `resume`, `cancel`")
        #expect(
            problem(#"{"type":"control","id":1,"command":"cancel","identifier":"a","tasks":[1]}"#)
                == "`tasks` of `control` must be a list of texts")
        // What means nothing for a command is no member of it.
        #expect(
            problem(#"{"type":"control","id":1,"command":"suspend","identifier":"a","tasks":[],"resumable":true}"#)
                == "`control` has no `resumable`: it has `id`, `command`, `identifier`, `tasks`")
        let many = Array(repeating: #""a""#, count: 257).joined(separator: ",")
        #expect(
            problem(#"{"type":"control","id":1,"command":"cancel","identifier":"a","tasks":[\#(many)]}"#)
                == "`tasks` of `control` must be a list of at most 256")
        let deep = String(repeating: "[", count: 40_000)
        #expect(problem(#"{"type":"stop","id":"# + deep)?.contains("nested more than 4 deep") == true)
        let wide = "[" + Array(repeating: "0", count: 30_000).joined(separator: ",") + "]"
        #expect(problem(#"{"type":"stop","id":"# + wide)?.contains("more than 8192 values") == true)
    }

    // MARK: Frames

    @Test func framesComeTogetherHoweverTheyAreCut() {
        var random = Seeded("framesComeTogetherHoweverTheyAreCut")
        for _ in 0..<Rounds.scaled(100) {
            let texts = (0..<random.below(20)).map { _ in random.bytes(1 + random.below(random.oneIn(5) ? 65_536 : 300))
            }
            var stream = texts.flatMap { Frame.around($0) }[...]
            var reader = FrameReader()
            var found: [[UInt8]] = []
            while !stream.isEmpty {
                let count = min(stream.count, 1 + random.below(random.oneIn(2) ? 5 : 20_000))
                let progress = reader.receive(Array(stream.prefix(count)))
                #expect(progress.problem == nil)
                found += progress.frames
                stream = stream.dropFirst(count)
            }
            #expect(found == texts && reader.isBetweenFrames)
        }
    }

    @Test func wrongLengthsAreRefusedBeforeAnythingIsKept() {
        for length: [UInt8] in [[0, 0, 0, 0], [0, 1, 0, 1], [0xFF, 0xFF, 0xFF, 0xFF], [0x7F, 0, 0, 0]] {
            var reader = FrameReader()
            let before = Frame.around([1, 2, 3])
            let progress = reader.receive(before + length)
            #expect(progress.frames == [[1, 2, 3]])
            #expect(progress.problem?.description.contains("it must have 1 to 65536") == true)
        }
        var reader = FrameReader()
        #expect(reader.receive([0, 1, 0, 0]).problem == nil)
        #expect(!reader.isBetweenFrames)
    }

    /// Any bytes and any damage to right ones: a value or a plain error.
    @Test func hostileFramesNeverTrap() {
        var random = Seeded("hostileFramesNeverTrap")
        let right =
            Self.wishes.map { Self.json(ServiceRequest(1, $0).frame) } + [
                Self.json(ServiceHello(version: "1", protocols: 1...2, process: 1).frame),
                Self.json(ServiceNews.leaving("x").frame), Self.json(ServiceNews.events("x", upTo: 1).frame),
            ]
        var understood = 0
        for _ in 0..<Rounds.scaled(20_000) {
            var bytes = random.oneIn(10) ? random.bytes(random.below(200)) : random.pick(right)
            for _ in 0..<random.below(4) where !bytes.isEmpty {
                let place = random.below(bytes.count)
                switch random.below(4) {
                case 0: bytes[place] = UInt8(random.below(256))
                case 1: bytes.remove(at: place)
                case 2: bytes.insert(contentsOf: random.bytes(random.below(4)), at: place)
                default: bytes.insert(contentsOf: Array("{}[]\",:0e-9".utf8).shuffled(using: &random), at: place)
                }
            }
            if (try? ServiceRequest.parse(bytes)) != nil { understood += 1 }
            if (try? ServiceHello.parse(bytes)) != nil { understood += 1 }
            if (try? ServiceMessage.parse(bytes)) != nil { understood += 1 }
        }
        // Or nothing was tested.
        #expect(understood > 100)
    }
}
