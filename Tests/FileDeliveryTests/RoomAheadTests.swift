import FileDelivery
import Glibc
import SystemIO
import TestSupport
import Testing
import TransferModel

/// Room on the disk that is taken before the bytes come.
@Suite struct RoomAheadTests {
    /// Whatever comes in whatever order, each byte of the disk is counted once, and room is asked for once: no more than was
    /// announced, and no more than the bound.
    @Test func eachByteIsTakenOnce() throws {
        var random = Seeded("eachByteIsTakenOnce")
        for _ in 0..<Rounds.scaled(300) {
            let length = Int64(1 + random.below(random.oneIn(2) ? 64 << 20 : 3 << 30))
            var room = RoomAhead()
            room.expect(length)
            let isRefused = random.oneIn(4)
            // As many streams as a download in segments has, each with its own stretch of the file.
            let bounds = [0] + (0..<random.below(4)).map { _ in Int64(random.below(Int(length))) }.sorted() + [length]
            var streams = zip(bounds, bounds.dropFirst()).map { $0..<$1 }.filter { !$0.isEmpty }
            var taken: Int64 = 0
            var asked: [Range<Int64>] = []
            while let index = streams.indices.randomElement(using: &random) {
                let stream = streams[index]
                let longest = max(600_000, Int(length) / 40)
                let range =
                    stream.lowerBound..<min(stream.upperBound, stream.lowerBound + Int64(1 + random.below(longest)))
                let size = streams[0].lowerBound
                var step = room.step(to: range, size: size)
                if let new = step.asked {
                    #expect(new.upperBound <= length && new.count >= RoomAhead.smallest && new.count <= RoomAhead.most)
                    asked.append(new)
                    if isRefused {
                        room.wasRefused(new)
                        step = room.step(to: range, size: size)
                    }
                }
                taken += step.count
                streams[index] = range.upperBound..<stream.upperBound
                if streams[index].isEmpty { streams.remove(at: index) }
            }
            #expect(taken == length)
            #expect(asked.count <= 1 && asked.isEmpty == (length < RoomAhead.smallest))
            #expect(!room.goesBeyond(length))
        }
    }

    @Test func whatNobodyAnnouncedTakesWhatItWrites() {
        var room = RoomAhead()
        #expect(room.step(to: 0..<(1 << 20), size: 0) == RoomAhead.Step(count: 1 << 20))
        room.expect(3 << 20)
        // A server that sends more than it said.
        let step = room.step(to: (1 << 20)..<(2 << 20), size: 1 << 20)
        #expect(step == RoomAhead.Step(count: 2 << 20, asked: (1 << 20)..<(3 << 20)))
        #expect(room.step(to: (2 << 20)..<(4 << 20), size: 2 << 20) == RoomAhead.Step(count: 1 << 20))
        #expect(room.goesBeyond(2 << 20) && !room.goesBeyond(3 << 20))
        room.wasCut(at: 1 << 20)
        #expect(!room.goesBeyond(1 << 20))
    }

    /// Whoever announces ten terabytes is given a gibibyte; what comes after that takes its room as it is written.
    @Test(arguments: [10 << 40, Int64.max]) func aLongLengthIsNotBelieved(_ length: Int64) {
        var room = RoomAhead()
        room.expect(length)
        #expect(room.step(to: 0..<1, size: 0) == RoomAhead.Step(count: 1 << 30, asked: 0..<(1 << 30)))
        #expect(room.step(to: 1..<(1 << 30), size: 1) == RoomAhead.Step(count: 0))
        #expect(room.step(to: (1 << 30)..<(2 << 30), size: 1 << 30) == RoomAhead.Step(count: 1 << 30))
    }

    // MARK: On a disk

    private static let mebibyte = 1 << 20

    /// On an ext4 of so many mebibytes.
    private func onDisk(
        _ size: Int, features: String? = nil, _ body: (_ tree: TemporaryTree) throws -> Void
    ) throws {
        let images = try TemporaryTree("image")
        try MountedFolder.makeImage(images.path("disk"), size: size * Self.mebibyte, features: features)
        let tree = try TemporaryTree("room")
        let disk = try MountedFolder.image(images.path("disk"), at: tree.path)
        try withExtendedLifetime(disk) { try body(tree) }
    }

    private func append(_ id: StagingID, _ tree: TemporaryTree, _ count: Int, at offset: Int? = nil) -> DeliveryOrder {
        .append(
            .init(
                id, BodyPlacement(tree.path), .bytes([UInt8](repeating: 7, count: count)), at: offset.map { Int64($0) })
        )
    }

    private func announce(_ id: StagingID, _ tree: TemporaryTree, _ length: Int) -> DeliveryOrder {
        .announce(.init(id, TaskIndex(raw: 1), folder: tree.path, length: Int64(length), reserve: 0))
    }

    /// Bytes that nobody has by now; what was ordered before is done.
    private func free(_ tree: TemporaryTree, _ desk: Desk) throws -> Int {
        desk.submit(.inspect(.init(TaskIndex(raw: 999), path: "/none", nil)))
        guard case .inspected = try desk.next() else { throw Desk.Silence() }
        return Int(try FreeSpace.at(tree.path).bytes)
    }

    private func blocks(_ path: String) -> Int {
        var facts = stat()
        return stat(path, &facts) == 0 ? Int(facts.st_blocks) * 512 : -1
    }

    private func publish(_ id: StagingID, _ tree: TemporaryTree, _ name: String, _ desk: Desk) throws -> FileRecord {
        desk.submit(
            .publish(
                .init(TaskIndex(raw: 1), id, Destination(path: tree.path(name)), rest: .none, lengthUnverified: false)))
        return try desk.outcome().get()
    }

    /// All of it before the first byte, and of a length that the server does not keep to, nothing in the end.
    @Test(.enabled(if: MountedFolder.takesImages)) func whatWasAnnouncedIsTakenAhead() throws {
        try onDisk(64) { tree in
            let desk = try Desk()
            let before = try free(tree, desk)
            let id = desk.staging()
            desk.submit(announce(id, tree, 40 * Self.mebibyte), append(id, tree, Self.mebibyte))
            let taken = before - (try free(tree, desk))
            let slack = Self.mebibyte / 4
            #expect(abs(taken - 40 * Self.mebibyte) < slack)
            for _ in 0..<10 { desk.submit(append(id, tree, Self.mebibyte)) }
            #expect(abs(before - (try free(tree, desk)) - 40 * Self.mebibyte) < slack)
            // As if it had said less: what comes with no length proves nothing.
            let record = try publish(id, tree, "f", desk)
            #expect(record.bytes == Int64(11 * Self.mebibyte))
            #expect(abs(blocks(tree.path("f")) - 11 * Self.mebibyte) < slack)
            #expect(try tree.bytes("f") == [UInt8](repeating: 7, count: 11 * Self.mebibyte))
            let other = desk.staging()
            desk.submit(announce(other, tree, 30 * Self.mebibyte), append(other, tree, Self.mebibyte), .discard(other))
            #expect(abs(before - (try free(tree, desk)) - 11 * Self.mebibyte) < slack)
        }
    }

    /// What is taken ahead is not counted again as what is still to come.
    @Test(.enabled(if: MountedFolder.takesImages)) func theDiskMayBecomeFull() throws {
        try onDisk(48) { tree in
            let desk = try Desk()
            let rest = try free(tree, desk) - 24 * Self.mebibyte - Self.mebibyte / 2
            try #require(rest > 0)
            let ids = (0..<2).map { _ in desk.staging() }
            for id in ids { desk.submit(announce(id, tree, 12 * Self.mebibyte)) }
            // One has its room, and the other is promised it.
            desk.submit(append(ids[0], tree, Self.mebibyte))
            // There is room for them and for this, and for nothing else.
            let last = desk.staging()
            desk.submit(announce(last, tree, rest), append(last, tree, rest))
            let tooMuch = desk.staging()
            desk.submit(announce(tooMuch, tree, Self.mebibyte))
            guard case .failed(_, let error) = try desk.next() else { throw Desk.Silence() }
            #expect(error.name == .notEnoughDiskSpace && error.message.contains("promised"))
            desk.submit(append(ids[0], tree, 11 * Self.mebibyte), append(ids[1], tree, 12 * Self.mebibyte))
            for id in ids + [last] { _ = try publish(id, tree, "f\(id.raw)", desk) }
        }
    }

    /// An attempt that goes on where another was cut needs no more than what that one had not taken yet.
    @Test(.enabled(if: MountedFolder.takesImages), arguments: [1, 9, 20])
    func anotherAttemptTakesTheRest(_ cut: Int) throws {
        try onDisk(48) { tree in
            let desk = try Desk()
            let (first, second) = (desk.staging(), desk.staging())
            let rest = try free(tree, desk) - 24 * Self.mebibyte - Self.mebibyte / 2
            try #require(rest > 0)
            desk.submit(announce(first, tree, 24 * Self.mebibyte))
            for _ in 0..<cut { desk.submit(append(first, tree, Self.mebibyte)) }
            desk.submit(.settle(first), announce(first, tree, (24 - cut) * Self.mebibyte))
            // There is room for both, and both find it.
            desk.submit(announce(second, tree, rest), append(second, tree, rest))
            for _ in cut..<24 { desk.submit(append(first, tree, Self.mebibyte)) }
            #expect(try publish(second, tree, "second", desk).bytes == Int64(rest))
            #expect(try publish(first, tree, "first", desk).bytes == Int64(24 * Self.mebibyte))
        }
    }

    /// More than the longest file, and less than nothing.
    @Test(.enabled(if: MountedFolder.takesImages)) func lengthsThatNoFileHas() throws {
        try onDisk(16) { tree in
            let desk = try Desk()
            let id = desk.staging()
            desk.submit(append(id, tree, Self.mebibyte), announce(id, tree, -1), announce(id, tree, .max))
            guard case .failed(_, let error) = try desk.next() else { throw Desk.Silence() }
            #expect(error.name == .notEnoughDiskSpace && error.message.contains("8.0 EiB needed"))
        }
    }

    /// What a later run goes on with takes no more than it holds.
    @Test(.enabled(if: MountedFolder.takesImages)) func whatIsLeftGivesItsRoomBack() throws {
        try onDisk(64) { tree in
            let desk = try Desk()
            let id = desk.staging()
            desk.submit(
                .keepPart(id, TaskIndex(raw: 1)), announce(id, tree, 40 * Self.mebibyte),
                append(id, tree, 3 * Self.mebibyte), .leave(id, TaskIndex(raw: 1)))
            guard case .part(_, _, let part?) = try desk.next() else { throw Desk.Silence() }
            #expect(part.size == Int64(3 * Self.mebibyte))
            #expect(abs(blocks(tree.path(part.name)) - 3 * Self.mebibyte) < Self.mebibyte / 4)
            // The rest of it takes its room from there.
            let next = desk.staging()
            desk.submit(
                .adopt(.init(next, TaskIndex(raw: 1), BodyPlacement(tree.path), part, keeping: part.size)))
            guard case .adopted(_, .taken) = try desk.next() else { throw Desk.Silence() }
            desk.submit(announce(next, tree, 20 * Self.mebibyte))
            for _ in 0..<20 { desk.submit(append(next, tree, Self.mebibyte)) }
            #expect(try publish(next, tree, "f", desk).bytes == Int64(23 * Self.mebibyte))
            #expect(abs(blocks(tree.path("f")) - 23 * Self.mebibyte) < Self.mebibyte / 4)
        }
    }

    /// A filesystem that gives no room ahead has promised it all the same.
    @Test(.enabled(if: MountedFolder.takesImages)) func whatIsNotGivenStaysPromised() throws {
        // As ext2 and ext3 have it.
        try onDisk(48, features: "^extent,^64bit") { tree in
            let desk = try Desk()
            let id = desk.staging()
            let before = try free(tree, desk)
            desk.submit(announce(id, tree, 24 * Self.mebibyte), append(id, tree, Self.mebibyte))
            #expect(before - (try free(tree, desk)) < 2 * Self.mebibyte)
            let other = desk.staging()
            desk.submit(announce(other, tree, before - 20 * Self.mebibyte))
            guard case .failed(_, let error) = try desk.next() else { throw Desk.Silence() }
            #expect(error.name == .notEnoughDiskSpace && error.message.contains("23.0 MiB of it promised"))
            desk.submit(append(id, tree, 23 * Self.mebibyte))
            #expect(try publish(id, tree, "f", desk).bytes == Int64(24 * Self.mebibyte))
        }
    }

    /// Streams that write further on have theirs too.
    @Test(.enabled(if: MountedFolder.takesImages)) func segmentsTakeTheirs() throws {
        try onDisk(64) { tree in
            let desk = try Desk()
            let before = try free(tree, desk)
            let id = desk.staging()
            desk.submit(announce(id, tree, 40 * Self.mebibyte))
            for start in [0, 20] { desk.submit(append(id, tree, Self.mebibyte, at: start * Self.mebibyte)) }
            #expect(abs(before - (try free(tree, desk)) - 40 * Self.mebibyte) < Self.mebibyte / 4)
            for start in 1..<40 where start != 20 {
                desk.submit(append(id, tree, Self.mebibyte, at: start * Self.mebibyte))
            }
            _ = try publish(id, tree, "f", desk)
            #expect(try tree.bytes("f") == [UInt8](repeating: 7, count: 40 * Self.mebibyte))
            #expect(abs(blocks(tree.path("f")) - 40 * Self.mebibyte) < Self.mebibyte / 4)
        }
    }
}
