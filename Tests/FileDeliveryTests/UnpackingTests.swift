import Digests
import FileDelivery
import SystemIO
import TestSupport
import Testing
import TransferModel

/// Downloads that are unpacked on their way to disk.
@Suite(.serialized) struct UnpackingTests {
    private let tree: TemporaryTree
    init() throws { tree = try TemporaryTree("unpacking") }

    private let task = TaskIndex(raw: 7)

    /// Hands `body` over in pieces and gives back what came of it.
    private func publish(
        _ desk: Desk, _ body: [UInt8], _ decoding: BodyDecoding, pieceLength: Int = 64 << 10, pooled: Bool = false,
        unverified: Bool = false, _ change: (inout Destination) -> Void = { _ in }
    ) throws -> Result<FileRecord, TransferError> {
        var destination = Destination(path: tree.path("f"))
        change(&destination)
        let id = desk.staging()
        desk.submit(.decode(id, task, decoding))
        var rest = body[...]
        while rest.count > pieceLength {
            let piece = desk.piece(Array(rest.prefix(pieceLength)), pooled: pooled)
            desk.submit(
                .append(.init(id, BodyPlacement(destination.folder, written: destination.checksum?.algorithm), piece)))
            rest = rest.dropFirst(pieceLength)
        }
        desk.submit(
            .publish(
                .init(
                    task, id, destination, rest: desk.piece(Array(rest), pooled: pooled), lengthUnverified: unverified))
        )
        return try desk.outcome()
    }

    private func failure(
        _ desk: Desk, _ body: [UInt8], _ decoding: BodyDecoding, pieceLength: Int = 64 << 10, unverified: Bool = false
    ) throws -> ErrorName? {
        let result = try publish(desk, body, decoding, pieceLength: pieceLength, unverified: unverified)
        if case .failure(let error) = result { return error.name }
        return nil
    }

    @Test(arguments: [false, true]) func whatIsWrittenAndHashedIsUnpacked(pooled: Bool) throws {
        let desk = try Desk()
        let content = Script.patternBytes(1_000_000)
        let checksum = try Checksum.of(content, .sha256)
        let record = try publish(
            desk, Encoder.brotli(Encoder.gzip(content)), BodyDecoding([.gzip, .br]), pieceLength: 1_000, pooled: pooled
        ) { $0.checksum = checksum }.get()
        #expect(record.bytes == 1_000_000 && record.changed && record.checksum == checksum)
        #expect(try tree.bytes("f") == content)
        let again = try publish(desk, Encoder.zstd(content), BodyDecoding([.zstd])).get()
        #expect(!again.changed)
        let wrong = try publish(desk, Encoder.zstd([1]), BodyDecoding([.zstd])) { $0.checksum = checksum }
        #expect(throws: TransferError.self) { try wrong.get() }
        #expect(try tree.contents() == ["f": content])
    }

    @Test func theEmptyBody() throws {
        let desk = try Desk()
        let checksum = try Checksum.of([], .sha256)
        for body in [[], Encoder.gzip([])] {
            let record = try publish(desk, body, BodyDecoding([.gzip])) { $0.checksum = checksum }.get()
            #expect(record.bytes == 0 && record.checksum == checksum)
        }
        #expect(try failure(desk, [], BodyDecoding([.gzip]), unverified: true) == .cannotDecodeRawData)
        #expect(try failure(desk, Encoder.gzip([]), BodyDecoding([.gzip]), unverified: true) == nil)
    }

    @Test func whatIsCutOrWrongLeavesTheOldFile() throws {
        let desk = try Desk()
        try tree.write("f", "old")
        let packed = Encoder.gzip(Script.patternBytes(100_000))
        for length in [10, 64 << 10] {
            let cut = Array(packed.dropLast(3))
            #expect(try failure(desk, cut, BodyDecoding([.gzip]), pieceLength: length) == .cannotDecodeRawData)
            let long = packed + [1]
            #expect(try failure(desk, long, BodyDecoding([.gzip]), pieceLength: length) == .cannotDecodeRawData)
            let short = SizeBounds(maximum: 99_999)
            #expect(
                try failure(desk, packed, BodyDecoding([.gzip], sizes: short), pieceLength: length)
                    == .dataLengthExceedsMaximum)
            for bounds in [SizeBounds(exact: 99_999), SizeBounds(least: 100_001)] {
                #expect(
                    try failure(desk, packed, BodyDecoding([.gzip], sizes: bounds), pieceLength: length)
                        == .unexpectedResponse)
            }
        }
        #expect(try tree.contents() == ["f": bytes("old")])
        // Exactly as long as may be.
        let fitting = SizeBounds(maximum: 100_000, exact: 100_000, least: 100_000)
        #expect(try failure(desk, packed, BodyDecoding([.gzip], sizes: fitting)) == nil)
    }

    @Test func aBombIsToldWhileItComesAndOnlyOnce() throws {
        let desk = try Desk()
        let bomb = Encoder.zstd(Array(repeating: 0, count: 24 << 20))
        let id = desk.staging()
        desk.submit(
            .decode(id, task, BodyDecoding([.zstd])), .append(.init(id, BodyPlacement(tree.path), .bytes(bomb))))
        guard case .failed(let told, let error) = try desk.next() else {
            Issue.record("a bomb went off")
            return
        }
        #expect(told == task && error.name == .dataLengthExceedsMaximum)
        desk.submit(
            .append(.init(id, BodyPlacement(tree.path), .bytes(bomb))),
            .publish(.init(task, id, Destination(path: tree.path("f")), rest: .bytes([]), lengthUnverified: false)),
            .inspect(.init(TaskIndex(raw: 1), path: tree.path("f"), nil)))
        guard case .inspected(_, _, nil, nil) = try desk.next() else {
            Issue.record("it was told twice, or became a file")
            return
        }
        #expect(tree.list() == [])
    }

    /// Attempts that break off and others beside them share nothing.
    @Test func manyAtOnce() throws {
        var random = Seeded("manyAtOnce")
        let desk = try Desk()
        for round in 0..<Rounds.scaled(10) {
            var bodies: [(StagingID, String, [UInt8], [UInt8])] = []
            for number in 0..<8 {
                let content = random.bytes(random.below(50_000))
                let id = desk.staging()
                desk.submit(.decode(id, task, BodyDecoding([.gzip])))
                bodies.append((id, "\(round)-\(number)", content, Encoder.gzip(content)))
            }
            var open = Array(bodies.indices)
            while !open.isEmpty {
                let chosen = random.below(open.count)
                let index = open[chosen]
                let piece = Array(bodies[index].3.prefix(1 + random.below(9_000)))
                bodies[index].3.removeFirst(piece.count)
                desk.submit(.append(.init(bodies[index].0, BodyPlacement(tree.path), .bytes(piece))))
                if bodies[index].3.isEmpty { open.remove(at: chosen) }
            }
            for (id, name, content, _) in bodies {
                if random.oneIn(4) {
                    desk.submit(.discard(id))
                    continue
                }
                let place = Destination(path: tree.path(name))
                desk.submit(.publish(.init(task, id, place, rest: .none, lengthUnverified: false)))
                _ = try desk.outcome().get()
                #expect(try tree.bytes(name) == content)
            }
        }
    }
}
