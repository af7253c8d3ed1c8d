import Records
import TestSupport
import Testing
import TransferModel

@Suite struct EventCodecTests {
    private func bytes(_ line: String) -> [UInt8] {
        let digits = Array(line)
        return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
    }

    /// To the last field, and to the last byte: what comes back is written as it was.
    private func expectWhole(_ event: Event) throws {
        let bytes = EventCodec.encode(event)
        let back = try EventCodec.decode(bytes)
        #expect(ValueLines.of(back) == ValueLines.of(event))
        #expect(EventCodec.encode(back) == bytes)
    }

    @Test func everyEventComesBackWhole() throws {
        var random = Seeded("everyEventComesBackWhole")
        var events = RandomEvents(Seeded(seed: random.next()))
        for kind in 0..<RandomEvents.allKinds {
            for _ in 0..<Rounds.scaled(40) { try expectWhole(events.next(kind: kind)) }
        }
        for event in RandomEvents.filled() { try expectWhole(event) }
    }

    /// A field that is new stands in the sample with nothing in it, until somebody fills it; and once it is filled, it must
    /// come back.
    @Test func noFieldOfAnyRecordIsForgotten() {
        // Which file it is the store alone keeps: nobody asks a journal for it.
        let kept = [".kind.fileFinished.stamp.identity. = nil", ".kind.pageFinished.file.stamp.identity. = nil"]
        for event in RandomEvents.filled() {
            // The tasks that a template becomes are made anew of the job, and not kept.
            if case .expanded = event.kind { continue }
            let empty = ValueLines.empty(in: event).filter { !kept.contains($0) }
            #expect(empty == [], "fill it in RandomEvents, and carry it in EventCodec")
        }
    }

    /// The sample has one event of each kind: the first word of its lines says which.
    @Test func theSampleKnowsEveryKind() {
        let kinds = Set(RandomEvents.filled().map { "\($0.kind)".prefix { $0 != "(" } })
        #expect(kinds.count == RandomEvents.allKinds)
    }

    @Test func everyCaseHasItsNumber() {
        #expect(Set(Coded.taskOutcomes.list) == Set(TaskOutcome.allCases))
        #expect(Set(Coded.runOutcomes.list) == Set(RunOutcome.allCases))
        #expect(Set(Coded.sources.list) == Set(ResultSource.allCases))
        #expect(Set(Coded.waitReasons.list) == Set(WaitReason.allCases))
        #expect(Set(Coded.redirectActions.list) == Set(RedirectRecord.Action.allCases))
        #expect(Set(Coded.fetchTypes.list) == Set(TransactionMetrics.FetchType.allCases))
        #expect(Set(Coded.digests.list) == Set(DigestAlgorithm.allCases + [.xxh3]))
        #expect(Set(Coded.connectionReasons.list) == Set(ConnectionStep.Reason.allCases))
        #expect(Set(Coded.objections.list) == Set(NetworkObjection.allCases))
    }

    /// What lies on somebody's disk is read by every later version: when this differs, the format needs a new number.
    @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8, 9]) func theFormatStaysAsItWasReleased(_ format: Int) throws {
        let lines = RandomEvents.filled(format: format).map { event in
            EventCodec.encode(event).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
        try Snapshot.check(lines.joined(separator: "\n") + "\n", "Golden/events-\(format).txt")
    }

    @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8, 9]) func whatWasReleasedIsStillRead(_ format: Int) throws {
        let folder = #filePath.split(separator: "/").dropLast().joined(separator: "/")
        let file = "/\(folder)/Golden/events-\(format).txt"
        let text = String(decoding: try TemporaryTree.bytes(at: file), as: UTF8.self)
        let events = try text.split(separator: "\n").map { try EventCodec.decode(bytes(String($0))) }
        #expect(events.map { ValueLines.of($0) } == RandomEvents.filled(format: format).map { ValueLines.of($0) })
    }

    /// A file of which earlier versions recorded a short sum and the task whose file it was copied from.
    @Test func fileOfAnEarlierVersion_isReadWithoutItsSumAndSource() throws {
        let line =
            "089c8093b0a5d1fee9310f010701f0a2040e0b6c696e650a627265616b00c0d1d7b09e26010020123a768490c5a3192f694adf901f0dfdc4"
            + "4c9e6665e4ca6702a109e7bb795179010101d4b4f6db8024a2f59789b32c01fac8c7deaf2f07616e6f74686572"
        let event = try EventCodec.decode(bytes(line))
        guard case .fileFinished(let record) = event.kind else {
            Issue.record("\(event.kind)")
            return
        }
        #expect(record.path == "line\nbreak\u{0}" && record.checksum?.algorithm == .sha256 && record.stamp != nil)
    }

    /// So that an earlier program reads all but what it cannot know.
    @Test func onlyWhatNeedsItIsOfTheNewFormat() {
        let formats = RandomEvents.filled().map { EventCodec.encode($0)[0] }
        for new: UInt8 in [2, 3, 4, 6, 7, 9] { #expect(formats.filter { $0 == new }.count == 1, "\(new)") }
        #expect(formats.filter { $0 == 1 }.count == formats.count - 6)
    }

    // MARK: Other bytes

    @Test func cutBytesAreNoEvent() throws {
        for event in RandomEvents.filled() {
            let bytes = EventCodec.encode(event)
            for count in 0..<bytes.count {
                #expect(throws: RecordProblem.self) { try EventCodec.decode(Array(bytes.prefix(count))) }
            }
            let longer = #expect(throws: RecordProblem.self) { try EventCodec.decode(bytes + [0]) }
            #expect(longer?.kind == .leftover)
        }
    }

    @Test func anotherFormatIsUnknown() throws {
        var bytes = EventCodec.encode(RandomEvents.filled()[0])
        bytes[0] = 10
        let problem = #expect(throws: RecordProblem.self) { try EventCodec.decode(bytes) }
        #expect(problem?.kind == .unknown)
        #expect(problem?.description.contains("format 10") == true)
    }

    /// Whatever is changed, it ends in an event that can be written again or in an error.
    @Test func changedBytesNeverEndTheProgram() {
        var random = Seeded("changedBytesNeverEndTheProgram")
        var events = RandomEvents(Seeded(seed: random.next()))
        var (understood, refused) = (0, 0)
        for _ in 0..<Rounds.scaled(4_000) {
            var bytes = EventCodec.encode(events.next())
            for _ in 0...random.below(4) {
                switch random.below(4) {
                case 0: bytes[random.below(bytes.count)] = UInt8(random.below(256))
                case 1: bytes[random.below(bytes.count)] = random.pick([0, 1, 0x7F, 0x80, 0xFF])
                case 2: bytes.insert(contentsOf: random.bytes(1 + random.below(9)), at: random.below(bytes.count))
                default: bytes.removeLast(min(random.below(5), bytes.count - 1))
                }
            }
            do {
                let event = try EventCodec.decode(bytes)
                understood += 1
                #expect(throws: Never.self) { try EventCodec.decode(EventCodec.encode(event)) }
            } catch {
                refused += 1
                #expect(!error.description.isEmpty)
            }
        }
        #expect(understood > 0 && refused > 0)
    }

    @Test func noiseIsNoEvent() {
        var random = Seeded("noiseIsNoEvent")
        for _ in 0..<Rounds.scaled(4_000) {
            _ = try? EventCodec.decode([1] + random.bytes(random.below(300)))
        }
    }

    /// A nest of lists that a byte each opens: a decoder without a limit would run out of stack.
    @Test func aDeepValueIsRefused() throws {
        let kind = Event.Kind.taskFinished(
            TaskRecord(
                outcome: .succeeded, tolerated: false, changed: nil, source: nil, waits: [], error: nil, body: nil,
                lengthUnverified: false, captures: [.init(name: "deep", value: nest(200))], duration: .zero,
                explanation: nil))
        let event = Event(time: WallTime(nanoseconds: 0), sequence: 1, session: nil, task: nil, kind: kind)
        try expectWhole(event)
        let bytes = EventCodec.encode(event)
        let place = try #require(bytes.firstIndex(of: 4))
        let deeper = Array(bytes[..<place]) + (0..<100_000).flatMap { _ in [4, 1] as [UInt8] } + bytes[place...]
        let problem = #expect(throws: RecordProblem.self) { try EventCodec.decode(deeper) }
        #expect(problem?.kind == .malformed)
    }

    private func nest(_ depth: Int) -> PlainValue { (0..<depth).reduce(.null) { value, _ in .list([value]) } }

    /// Lengths that promise more than there is must not be believed before it came.
    @Test func aLongPromiseTakesNoMemory() {
        var writer = RecordWriter()
        writer.put(UInt64.max)
        for number in [UInt64.max, 1 << 62, 1 << 31] {
            var writer = RecordWriter()
            writer.put(number)
            var reader = RecordReader(writer.bytes + [0, 0])
            #expect(throws: RecordProblem.self) { try reader.blob() }
            reader = RecordReader(writer.bytes + [0, 0])
            #expect(throws: RecordProblem.self) { try reader.text() }
            reader = RecordReader(writer.bytes + [0, 0])
            #expect(throws: RecordProblem.self) {
                try reader.list { (reader) throws(RecordProblem) in try reader.byte() }
            }
        }
    }
}
