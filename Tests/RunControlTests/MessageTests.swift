import JobRunner
import RunControl
import TestSupport
import Testing
import TransferModel

/// What goes over the socket, as bytes.
struct MessageTests {
    private func refusal(_ line: String) -> String? {
        do {
            _ = try ControlMessage.parse(Array(line.utf8))
            return nil
        } catch { return error.message }
    }

    @Test func requestsAreReadAsTheyAreWritten() throws {
        let all = ControlMessage(.suspend)
        let some = ControlMessage(.cancel, patterns: ["a", "b-*"], keepPartial: true)
        #expect(String(decoding: all.line, as: UTF8.self) == "{\"version\":1,\"command\":\"suspend\",\"tasks\":[]}\n")
        for message in [all, some, ControlMessage(.resume, patterns: ["\u{1F600}\"\\"])] {
            #expect(try ControlMessage.parse(message.line) == message)
        }
        #expect(try ControlMessage.parse(Array(#"{"command":"resume","version":1}"#.utf8)) == ControlMessage(.resume))
    }

    @Test(arguments: [
        ("", "not JSON"), ("x", "not JSON"), ("{", "not JSON"), ("[[[[1]]]]", "nested more than 3 deep"),
        ("[]", "a request is an object: {\"version\":1"), ("{}", "`version` must be 1"),
        (#"{"version":2,"command":"suspend"}"#, "`version` must be 1"),
        (#"{"version":"1","command":"suspend"}"#, "`version` must be 1"),
        (#"{"version":1}"#, "`command` must be one of `suspend`, `resume`, `cancel`, `status`"),
        (#"{"version":1,"command":"stop"}"#, "`command` must be one of"),
        (#"{"version":1,"command":["cancel"]}"#, "`command` must be one of"),
        (#"{"version":1,"command":"suspend","tasks":"a"}"#, "`tasks` must be a list of ids"),
        (#"{"version":1,"command":"suspend","tasks":[1]}"#, "`tasks` must be a list of ids"),
        (#"{"version":1,"command":"suspend","tasks":[""]}"#, "`tasks` must be a list of ids"),
        (#"{"version":1,"command":"suspend","task":["a"]}"#, "`suspend` has no `task`: it has `version`"),
        (#"{"version":1,"command":"suspend","resumable":true}"#, "`suspend` has no `resumable`"),
        (#"{"version":1,"command":"cancel","resumable":1}"#, "`resumable` must be `true` or `false`"),
    ]) func whatIsWrongIsSaid(line: String, words: String) {
        let said = refusal(line)
        #expect(said?.contains(words) == true, "\(said ?? "accepted")")
    }

    @Test func namesAreCounted() {
        let names = { (count: Int) in "[" + repeatElement("\"a\"", count: count).joined(separator: ",") + "]" }
        #expect(refusal(#"{"version":1,"command":"suspend","tasks":\#(names(256))}"#) == nil)
        #expect(refusal(#"{"version":1,"command":"suspend","tasks":\#(names(257))}"#)?.contains("256") == true)
    }

    @Test func answersAreReadAsTheyAreWritten() {
        let status = RunStatus(
            job: "nightly \"1\"", startedAt: WallTime(nanoseconds: 1_800_000_000_000_000_000),
            counts: [.waiting: 2, .running: 1, .suspended: 0, .finished: 7],
            tasks: [
                .init(id: "a", state: .running, bytesReceived: 7, bytesSent: 8, expected: 9, attempts: 2),
                .init(id: "b", state: .waiting, waitingFor: .hostLimit),
                .init(id: "c", state: .waiting, waitingFor: .network, lacks: "a network: there is none"),
                .init(
                    id: "d", state: .waiting, waitingFor: .backoff, attempts: 2,
                    error: TransferError(
                        .dataNotAllowed, "a \"word\"", curl: 7, errno: 111, reason: .cellular),
                    nextAttemptAt: WallTime(nanoseconds: 1_800_000_000_123_000_000)),
                .init(id: "e", state: .running, startedOver: "the server's file changed"),
            ])
        let replies: [ControlReply] = [
            .changed([]), .changed(["a", "b-1"]), .refused("no such \"task\"\n"), .status(status),
        ]
        for reply in replies {
            #expect(ControlReply(line: reply.line) == reply)
            #expect(reply.line.last == 0x0A && !reply.line.dropLast().contains(0x0A))
        }
        for text in [
            #"{"ok":true,"run":{}}"#, #"{"ok":false,"run":null}"#, "", "{}", "{\"ok\":true}",
            "{\"ok\":true,\"tasks\":[1]}", "{\"ok\":false}", "[]", "{\"ok\":tr",
        ] {
            #expect(ControlReply(line: Array(text.utf8)) == nil, "\(text)")
        }
    }

    /// However the bytes are cut up: the first line, or what is wrong with its length.
    @Test func linesAreFoundInAnyPieces() {
        var random = Seeded("linesAreFoundInAnyPieces")
        for _ in 0..<Rounds.scaled(400) {
            let limit = RequestReader.limit
            let length = random.pick([0, 1, 100, limit - 1, limit, limit + 1, limit * 2])
            let line = random.bytes(length).map { $0 == 0x0A ? 0x20 : $0 }
            let hasEnd = !random.oneIn(4)
            var rest = (line + (hasEnd ? [0x0A] + random.bytes(random.below(50)) : []))[...]
            var reader = RequestReader()
            var progress = RequestReader.Progress.more
            while progress == .more, !rest.isEmpty {
                let piece = rest.prefix(1 + random.below(random.oneIn(2) ? 20_000 : 300))
                rest = rest.dropFirst(piece.count)
                progress = reader.take(piece)
            }
            if length > limit {
                #expect(progress == .tooLong)
            } else if hasEnd {
                #expect(progress == .line(line))
            } else {
                #expect(progress == .more && reader.end() == (line.isEmpty ? nil : line))
            }
        }
    }

    /// Bytes that a request became by accident or malice: understood as what they say, or refused in words.
    @Test func damagedRequestsAreRefusedInWords() throws {
        var random = Seeded("damagedRequestsAreRefusedInWords")
        let whole = ControlMessage(.cancel, patterns: ["a-*", "b"], keepPartial: true).line.dropLast()
        for _ in 0..<Rounds.scaled(3000) {
            var bytes = Array(whole)
            for _ in 0...random.below(4) {
                let place = random.below(bytes.count)
                switch random.below(3) {
                case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
                case 1: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: place)
                default: if bytes.count > 1 { bytes.remove(at: place) }
                }
            }
            do {
                let read = try ControlMessage.parse(bytes)
                #expect(try ControlMessage.parse(Array(read.line.dropLast())) == read)
            } catch { #expect(!error.message.isEmpty && !error.message.utf8.contains(0x0A)) }
        }
    }
}

struct TaskChoiceTests {
    private func job(_ ids: [String]) -> Job {
        var job = Job(name: "j", file: "j", baseDirectory: "/")
        job.tasks = ids.map { id in
            TaskSpecification(
                id: id, type: .data, session: SessionIndex(raw: 0), location: .awaitingCapture(SecretText("")),
                destination: nil, line: 1, options: TaskOptions(TaskOptions.Values(policies: TransferPolicies())))
        }
        return job
    }

    private func chosen(_ patterns: [String]) -> [UInt32] {
        TaskChoice(patterns.map { TaskPattern($0) }, of: job(["a", "b-1", "b-2", "c"])).tasks.map { $0.raw }
    }

    @Test func patternsStandForTasksInTheJobsOrder() {
        #expect(chosen([]) == [0, 1, 2, 3])
        #expect(chosen(["c", "a"]) == [0, 3])
        #expect(chosen(["b-*", "b-1"]) == [1, 2])
        let patterns = ["a", "x", "y*"].map { TaskPattern($0) }
        #expect(TaskChoice(patterns, of: job(["a"])).unmatched == TaskPattern("x"))
        #expect(TaskChoice([TaskPattern("*")], of: job(["a"])).unmatched == nil)
    }
}
