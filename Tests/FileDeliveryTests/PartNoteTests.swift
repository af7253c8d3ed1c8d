import Digests
import FileDelivery
import SystemIO
import TestSupport
import Testing
import TransferModel

/// What is noted of a body at each write, and what of it counts in a later run.
@Suite struct PartNoteTests {
    private static let body = Script.patternBytes(3 << 20)
    private let task = TaskIndex(raw: 3)

    private func sum(_ count: Int) -> [UInt8] {
        let sum = QuickSum()
        Self.body[..<count].withUnsafeBytes { sum.update($0) }
        return sum.soFar
    }

    /// A body that comes in ranges, as a killed process leaves it: the last note, and the file.
    private func leave(_ ranges: [Range<Int>], in tree: TemporaryTree) throws -> PartNote {
        let notes = Mailbox<PartNote>()
        let desk = try Desk(run: "earlier")
        let id = desk.staging()
        desk.submit(.keepPart(id, task), .notePart(id) { notes.post($0) })
        for range in ranges {
            desk.submit(
                .append(
                    .init(
                        id, BodyPlacement(tree.path), .bytes(Array(Self.body[range])), at: Int64(range.lowerBound))))
        }
        // What is asked after them is answered after them.
        desk.submit(.inspect(.init(task, path: tree.path("none"), nil)))
        while true { if case .inspected = try desk.next() { break } }
        let all = notes.takeAll()
        #expect(all.count == ranges.count)
        let last = try #require(all.last)
        // The process ends without a word.
        let bytes = try tree.bytes(last.part.name)
        desk.submit(.discard(id))
        desk.finish()
        try tree.write(last.part.name, bytes)
        return last
    }

    private func adopt(
        _ part: PartFile, in tree: TemporaryTree, _ desk: Desk, _ id: StagingID
    ) throws -> AdoptedPart {
        desk.submit(.adopt(.init(id, task, BodyPlacement(tree.path, written: .sha256), part, keeping: part.size)))
        guard case .adopted(task, let adopted) = try desk.next() else { throw Desk.Silence() }
        return adopted
    }

    @Test func eachWriteIsNotedWithItsSum() throws {
        let tree = try TemporaryTree()
        let note = try leave([0..<300_000, 300_000..<600_000, 900_000..<1_000_000], in: tree)
        #expect(note.part.size == 600_000 && note.part.sum == sum(600_000))
        #expect(note.part.earlier == [PartFile.Beginning(size: 300_000, sum: sum(300_000))])
        #expect(note.beyond == [900_000..<1_000_000])
        #expect(note.part.name.hasPrefix(".transfer-run-earlier-"))
    }

    /// After a power cut the file may be shorter than noted, or end in zeros or in anything: what is continued has its sum.
    @Test func whatAPowerCutTookIsNotBelieved() throws {
        var random = Seeded("whatAPowerCutTookIsNotBelieved")
        for _ in 0..<Rounds.scaled(30) {
            let tree = try TemporaryTree()
            var ranges: [Range<Int>] = []
            var place = 0
            for _ in 0..<(2 + random.below(12)) {
                let end = place + 1 + random.below(100_000)
                ranges.append(place..<end)
                place = end
            }
            var part = try leave(ranges, in: tree).part
            let whole = random.below(place)
            var bytes = try tree.bytes(part.name)
            switch random.below(3) {
            case 0: bytes.removeLast(place - whole)
            case 1: for index in whole..<place { bytes[index] = 0 }
            default: bytes[whole] ^= 1
            }
            try tree.write(part.name, bytes)
            part.scattered = nil
            let desk = try Desk()
            let expected = part.earlier.last { $0.size <= whole }
            switch try adopt(part, in: tree, desk, desk.staging()) {
            case .taken(let size, let beyond):
                #expect(size == expected?.size && beyond.isEmpty)
                #expect(try tree.bytes(part.name) == Array(Self.body[..<Int(size)]))
            case .useless(let why): #expect(expected == nil, "\(why)")
            }
            desk.finish()
        }
    }

    @Test(arguments: ["counts", "another file", "too short", "overlaps"])
    func rangesBeyondCountInTheVeryFileAlone(_ kind: String) throws {
        let tree = try TemporaryTree()
        let note = try leave([0..<300_000, 900_000..<1_000_000], in: tree)
        let identity = try FileFacts.identifiedName(tree.path(note.part.name)).identity
        var part = note.part
        part.scattered = PartFile.Scattered(ranges: [900_000..<1_000_000], identity: identity, boot: 1)
        switch kind {
        case "another file": part.scattered?.identity ^= 1
        case "too short": part.scattered?.ranges = [900_000..<1_000_001]
        case "overlaps": part.scattered?.ranges = [299_999..<1_000_000]
        default: break
        }
        let desk = try Desk()
        let id = desk.staging()
        let adopted = try adopt(part, in: tree, desk, id)
        #expect(adopted == .taken(size: 300_000, beyond: kind == "counts" ? [900_000..<1_000_000] : []))
        #expect(try tree.bytes(part.name).count == (kind == "counts" ? 1_000_000 : 300_000))
        guard kind == "counts" else { return }
        // The rest comes, and all of it is hashed in its order.
        desk.submit(
            .append(
                .init(
                    id, BodyPlacement(tree.path, written: .sha256), .bytes(Array(Self.body[300_000..<900_000])),
                    at: 300_000)))
        var destination = Destination(path: tree.path("f"))
        destination.checksum = try Checksum.of(Self.body, .sha256)
        desk.submit(
            .publish(
                .init(task, id, destination, rest: .bytes(Array(Self.body[1_000_000...])), lengthUnverified: false)))
        #expect(try desk.outcome().get().bytes == Int64(Self.body.count))
        #expect(try tree.bytes("f") == Self.body)
    }

    /// A note holds until the next is made: what it names is not cut off meanwhile, for a later write would make zeros of it.
    @Test func whatWasNotedBeyondIsNotCutOff() throws {
        let tree = try TemporaryTree()
        let notes = Mailbox<PartNote>()
        let desk = try Desk()
        let id = desk.staging()
        func append(_ range: Range<Int>) -> DeliveryOrder {
            .append(.init(id, BodyPlacement(tree.path), .bytes(Array(Self.body[range])), at: Int64(range.lowerBound)))
        }
        desk.submit(
            .keepPart(id, task), .notePart(id) { notes.post($0) }, append(0..<200_000), append(400_000..<500_000),
            .settle(id), .inspect(.init(task, path: tree.path("none"), nil)))
        while true { if case .inspected = try desk.next() { break } }
        let all = notes.takeAll()
        #expect(all.last?.beyond == [] && all.contains { $0.beyond == [400_000..<500_000] })
        #expect(try tree.bytes(#require(all.last?.part.name)).count == 500_000)
        desk.submit(append(200_000..<500_000))
        desk.submit(
            .publish(
                .init(
                    task, id, Destination(path: tree.path("f")), rest: .bytes(Array(Self.body[500_000...])),
                    lengthUnverified: false)))
        #expect(try desk.outcome().get().bytes == Int64(Self.body.count))
        #expect(try tree.bytes("f") == Self.body)
    }

    /// Between a file's last write and its name the process may die: the note says under which name it may be found.
    @Test func theNameIsNotedBeforeItIsGiven() throws {
        let tree = try TemporaryTree()
        let notes = Mailbox<PartNote>()
        let desk = try Desk()
        let id = desk.staging()
        desk.submit(
            .keepPart(id, task), .notePart(id) { notes.post($0) },
            .append(.init(id, BodyPlacement(tree.path), .bytes(Array(Self.body[..<300_000])))))
        desk.submit(
            .publish(
                .init(
                    task, id, Destination(path: tree.path("f")), rest: .bytes(Array(Self.body[300_000...])),
                    lengthUnverified: false)))
        _ = try desk.outcome().get()
        let last = try #require(notes.takeAll().last)
        let found = try FileFacts.identifiedName(tree.path("f"))
        #expect(last.final?.name == "f" && last.final?.stamp.identity == found.identity)
        #expect(last.final?.stamp.size == Int64(Self.body.count) && last.part.sum == sum(Self.body.count))
        #expect(last.final?.stamp.modifiedNanoseconds == found.facts.modifiedNanoseconds)
    }
}
