import FileDelivery
import Glibc
import SystemIO
import TestSupport
import Testing
import TransferModel

/// Bodies whose pieces come in any order, each to its own place of the file.
@Suite struct PlacedPiecesTests {
    /// What a download of several streams orders for its pieces.
    private struct Body {
        let desk: Desk
        let id: StagingID
        let destination: Destination

        func put(_ bytes: ArraySlice<UInt8>, at offset: Int?) {
            desk.submit(
                .append(
                    .init(
                        id,
                        BodyPlacement(
                            destination.folder, written: destination.checksum?.algorithm,
                            sent: destination.sent?.checksum.algorithm), .bytes(Array(bytes)),
                        at: offset.map { Int64($0) })))
        }

        func publish() throws -> Result<FileRecord, TransferError> {
            desk.submit(
                .publish(.init(TaskIndex(raw: 7), id, destination, rest: .none, lengthUnverified: false)))
            return try desk.outcome()
        }
    }

    private func body(in tree: TemporaryTree, sum: Checksum? = nil) throws -> Body {
        let desk = try Desk()
        var destination = Destination(path: tree.path("f"))
        destination.checksum = sum
        return Body(desk: desk, id: desk.staging(), destination: destination)
    }

    private func sum(_ bytes: [UInt8], in tree: TemporaryTree) throws -> Checksum {
        try tree.write("sum", bytes)
        defer { tree.remove("sum") }
        let text = try Binary(program: "/usr/bin/sha256sum").run(tree.path("sum")).outputText.prefix(64)
        let digits = Array(text)
        let digest = try stride(from: 0, to: 64, by: 2).map { place in
            try #require(UInt8(String(digits[place...(place + 1)]), radix: 16))
        }
        return Checksum(algorithm: .sha256, bytes: digest)
    }

    /// One stream appends from the front, others write further on; the digest is of the whole in order.
    @Test func anyOrderMakesTheSameFile() throws {
        var random = Seeded("anyOrderMakesTheSameFile")
        for round in 0..<Rounds.scaled(30) {
            let tree = try TemporaryTree()
            let bytes = random.bytes(1 + random.below(200_000))
            let isHashed = round % 3 > 0
            let body = try body(in: tree, sum: isHashed ? sum(bytes, in: tree) : nil)
            let front = random.below(bytes.count + 1)
            var cuts =
                [front, bytes.count] + (0..<random.below(12)).map { _ in front + random.below(bytes.count - front + 1) }
            cuts.sort()
            var pieces: [(Int?, ArraySlice<UInt8>)] = zip(cuts, cuts.dropFirst()).map { ($0, bytes[$0..<$1]) }
            pieces.shuffle(using: &random)
            // What is appended stays in order among the others.
            var place = 0
            for _ in 0...random.below(4) { pieces.insert((nil, []), at: random.below(pieces.count + 1)) }
            for (offset, piece) in pieces {
                if offset != nil {
                    body.put(piece, at: offset)
                } else {
                    let end = place + random.below(front - place + 1)
                    body.put(bytes[place..<end], at: nil)
                    place = end
                }
            }
            body.put(bytes[place..<front], at: nil)
            let record = try body.publish().get()
            #expect(record.bytes == Int64(bytes.count))
            #expect(try tree.bytes("f") == bytes)
            if isHashed { #expect(record.checksum == body.destination.checksum) }
            body.desk.finish()
        }
    }

    @Test func aHoleIsNoFile() throws {
        let tree = try TemporaryTree()
        let body = try body(in: tree)
        body.put([1, 2, 3], at: nil)
        body.put([7, 8], at: 5)
        guard case .failure = try body.publish() else {
            Issue.record("a file with a hole was published")
            return
        }
        #expect(tree.list().isEmpty)
    }

    /// The next attempt goes on from the first hole, and nothing of what lay beyond is left.
    @Test func whatLiesBeyondAHoleGoes() throws {
        let tree = try TemporaryTree()
        let bytes = bytes("abcdefgh")
        let body = try body(in: tree, sum: sum(bytes, in: tree))
        body.put(bytes[..<2], at: nil)
        body.put(bytes[2..<4], at: 2)
        body.put([0x58, 0x58, 0x58, 0x58], at: 6)
        body.desk.submit(.settle(body.id))
        body.put(bytes[4...], at: nil)
        #expect(try body.publish().get().bytes == 8)
        #expect(try tree.bytes("f") == bytes)
    }

    @Test func aWrongByteAnywhereIsSeen() throws {
        let tree = try TemporaryTree()
        let bytes = bytes("abcdefgh")
        let body = try body(in: tree, sum: sum(bytes, in: tree))
        body.put([0x65, 0x66, 0x67, 0x58], at: 4)
        body.put(bytes[..<4], at: nil)
        guard case .failure(let error) = try body.publish() else {
            Issue.record("the wrong bytes were published")
            return
        }
        #expect(error.name == .checksumMismatch && tree.list().isEmpty)
    }
}
