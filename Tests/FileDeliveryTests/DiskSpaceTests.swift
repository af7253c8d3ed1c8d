import FileDelivery
import Glibc
import SystemIO
import TestSupport
import Testing
import TransferModel

/// Room that is promised, and room that must stay.
@Suite(.serialized) struct DiskSpaceTests {
    private let tree: TemporaryTree
    init() throws { tree = try TemporaryTree("space") }

    private static let terabyte: Int64 = 1 << 40
    private static let mebibyte = 1 << 20

    /// A filesystem of so many mebibytes at `small`, for the time of `body`.
    private func onSmallDisk(_ size: Int, _ body: (_ folder: String) throws -> Void) throws {
        let folder = try tree.makeFolder("small")
        try #require(mount("tmpfs", folder, "tmpfs", 0, "size=\(size)m") == 0)
        defer { umount2(folder, Int32(MNT_DETACH)) }
        try body(folder)
    }

    private func failure(_ desk: Desk) throws -> (task: TaskIndex, error: TransferError) {
        guard case .failed(let task, let error) = try desk.next() else { throw Desk.Silence() }
        return (task, error)
    }

    /// Whether nothing was answered so far.
    private func isSilent(_ desk: Desk) throws -> Bool {
        desk.submit(.inspect(.init(TaskIndex(raw: 999), path: "/none", nil)))
        guard case .inspected = try desk.next() else { return false }
        return true
    }

    /// A child that another test of this process starts just now has the file open for a moment.
    private func awaitFree(_ bytes: Int64, _ folder: String) throws {
        var space = statvfs()
        for _ in 0..<500 {
            try #require(statvfs(folder, &space) == 0)
            if Int64(space.f_bavail) * Int64(space.f_frsize) >= bytes { return }
            usleep(10_000)
        }
    }

    private func append(_ id: StagingID, _ folder: String, reserve: Int64 = 0, _ count: Int) -> DeliveryOrder {
        .append(.init(id, BodyPlacement(folder, reserve: reserve), .bytes([UInt8](repeating: 7, count: count))))
    }

    /// Ten terabytes: no machine that runs this has them free. Nothing is written and nothing made.
    @Test func aClaimThatFitsNowhereFailsAtOnce() throws {
        let desk = try Desk()
        let id = desk.staging()
        let folder = tree.path("not/there/yet")
        let free = try FreeSpace.at(tree.path).bytes
        let claim = max(10 * Self.terabyte, free + Self.terabyte)
        desk.submit(.announce(.init(id, TaskIndex(raw: 5), folder: folder, length: claim, reserve: 0)))
        let (task, error) = try failure(desk)
        #expect(task.raw == 5 && error.name == .notEnoughDiskSpace && !error.name.canHeal)
        #expect(error.message.contains(folder) && error.message.contains("\(SizeText.of(claim)) needed"))
        // Whatever comes for it after that is neither written nor answered.
        desk.submit(append(id, folder, 100_000))
        desk.submit(
            .publish(
                .init(
                    TaskIndex(raw: 5), id, Destination(path: folder + "/f"), rest: .bytes([1]), lengthUnverified: false)
            ))
        #expect(try isSilent(desk))
        #expect(tree.list() == [])
        // The number is free again.
        #expect(try desk.publish([[1], [2]], to: tree.path("f")).get().bytes == 2)
    }

    @Test(arguments: [0, .max] as [Int64]) func numbersThatOverflow(reserve: Int64) throws {
        let desk = try Desk()
        desk.submit(
            .announce(.init(desk.staging(), TaskIndex(raw: 1), folder: tree.path, length: .max, reserve: reserve)),
            .announce(.init(desk.staging(), TaskIndex(raw: 2), folder: tree.path, length: 0, reserve: .max)),
            .announce(.init(desk.staging(), TaskIndex(raw: 3), folder: tree.path, length: .min, reserve: 0)))
        #expect(try failure(desk).task.raw == 1)
        #expect(try failure(desk).task.raw == 2)
        #expect(try isSilent(desk))
    }

    @Test(.enabled(if: Mounting.isAllowed)) func claimsAreCountedTogether() throws {
        try onSmallDisk(8) { folder in
            let desk = try Desk()
            let ids = (0..<7).map { _ in desk.staging() }
            let mebibyte = Int64(Self.mebibyte)
            func announce(_ number: Int, _ length: Int64) {
                desk.submit(
                    .announce(
                        .init(ids[number], TaskIndex(raw: UInt32(number)), folder: folder, length: length, reserve: 0)))
            }
            announce(0, 5 * mebibyte)
            announce(1, 4 * mebibyte)
            let refused = try failure(desk)
            #expect(refused.task.raw == 1 && refused.error.message.contains("(5.0 MiB of it promised"))
            // What is written is no longer promised, and no longer free: all the same.
            desk.submit(append(ids[0], folder, 3 * Self.mebibyte))
            announce(2, 4 * mebibyte)
            #expect(try failure(desk).task.raw == 2)
            announce(3, 3 * mebibyte)
            #expect(try isSilent(desk))
            // Announced anew it counts once, and what is over is not promised any more.
            announce(3, 3 * mebibyte)
            desk.submit(.discard(ids[0]))
            #expect(try isSilent(desk))
            try awaitFree(8 * mebibyte, folder)
            announce(4, 5 * mebibyte)
            #expect(try isSilent(desk))
            announce(5, mebibyte)
            #expect(try failure(desk).task.raw == 5)
            let destination = Destination(path: folder + "/f")
            desk.submit(
                .publish(.init(TaskIndex(raw: 3), ids[3], destination, rest: .bytes([1]), lengthUnverified: false)))
            #expect(try desk.outcome().get().bytes == 1)
            announce(6, 2 * mebibyte)
            #expect(try isSilent(desk))
        }
    }

    /// Nothing that would leave less than the reserve is written, announced or not, by one or by many.
    @Test(.enabled(if: Mounting.isAllowed)) func theReserveStaysFree() throws {
        try onSmallDisk(40) { folder in
            let desk = try Desk()
            let reserve = Int64(10 * Self.mebibyte)
            let ids = (0..<3).map { _ in desk.staging() }
            for _ in 0..<14 {
                for id in ids { desk.submit(append(id, folder, reserve: reserve, Self.mebibyte)) }
            }
            for id in ids {
                var destination = Destination(path: folder + "/f\(id.raw)")
                destination.reserve = reserve
                desk.submit(.publish(.init(TaskIndex(raw: 1), id, destination, rest: .none, lengthUnverified: false)))
            }
            let errors = try ids.map { _ in try desk.outcome() }.compactMap { result -> TransferError? in
                if case .failure(let error) = result { error } else { nil }
            }
            #expect(!errors.isEmpty && errors.allSatisfy { $0.name == .notEnoughDiskSpace && $0.errno == nil })
            #expect(errors[0].message.contains("\(SizeText.of(reserve)) must stay free"))
            // One body or two made it, for what the others had written was given back.
            #expect(errors.count < 3)
            #expect(try FreeSpace.at(folder).bytes >= reserve)
            // Small ones too, to the last page.
            var small = 0
            while small < 20_000 {
                let result = try desk.publish([[UInt8](repeating: 1, count: 4_096)], to: folder + "/s\(small)") {
                    $0.reserve = reserve
                }
                guard case .success = result else { break }
                small += 1
            }
            let free = try FreeSpace.at(folder).bytes
            #expect(small > 0 && free >= reserve && free < reserve + 4 * 4_096)
        }
    }

    /// Somebody else fills the disk in mid-transfer: noticed within 16 MiB, and told at once where it was announced.
    @Test(.enabled(if: Mounting.isAllowed)) func othersFillTheDisk() throws {
        try onSmallDisk(64) { folder in
            let desk = try Desk()
            let reserve = Int64(4 * Self.mebibyte)
            let id = desk.staging()
            desk.submit(
                .announce(
                    .init(id, TaskIndex(raw: 8), folder: folder, length: Int64(40 * Self.mebibyte), reserve: reserve)))
            for _ in 0..<4 { desk.submit(append(id, folder, reserve: reserve, Self.mebibyte)) }
            #expect(try isSilent(desk))
            let filler = try Descriptor.open(folder + "/filler", O_CREAT | O_RDWR, mode: 0o600)
            try #require(posix_fallocate(filler.raw, 0, 36 * Self.mebibyte) == 0)
            for _ in 0..<16 { desk.submit(append(id, folder, reserve: reserve, Self.mebibyte)) }
            let (task, error) = try failure(desk)
            #expect(task.raw == 8 && error.name == .notEnoughDiskSpace)
            #expect(try isSilent(desk))
            // What it had written is free again before anybody discards it.
            #expect(try FreeSpace.at(folder).bytes >= Int64(27 * Self.mebibyte))
            desk.submit(.discard(id))
        }
    }

    /// Nothing was announced: what still comes would be received in vain.
    @Test(.enabled(if: Mounting.isAllowed), arguments: [0, 64 << 20] as [Int64])
    func aBodyWithoutALength_failsAtItsFirstByteWithoutRoom(reserve: Int64) throws {
        try onSmallDisk(8) { folder in
            let desk = try Desk()
            let id = desk.staging()
            let placement = BodyPlacement(folder, reserve: reserve)
            let piece = BodyPiece.bytes([UInt8](repeating: 7, count: Self.mebibyte))
            for _ in 0..<16 { desk.submit(.append(.init(id, placement, piece, for: TaskIndex(raw: 4)))) }
            let (task, error) = try failure(desk)
            #expect(task.raw == 4 && error.name == .notEnoughDiskSpace)
            desk.submit(
                .publish(
                    .init(
                        TaskIndex(raw: 4), id, Destination(path: folder + "/f"), rest: .none, lengthUnverified: false)))
            #expect(try isSilent(desk))
            #expect(tree.list("small") == [])
        }
    }

    @Test(.enabled(if: Mounting.isAllowed)) func groupsAndCopiesKeepTheReserveToo() throws {
        try onSmallDisk(8) { folder in
            try tree.write("source", [UInt8](repeating: 1, count: 3 * Self.mebibyte))
            try tree.makeFolder("small/site")
            let desk = try Desk()
            let place = GroupPlace(index: GroupIndex(raw: 0), folder: folder + "/site")
            var destination = Destination(path: folder + "/site/a/b")
            destination.group = place
            destination.reserve = Int64(6 * Self.mebibyte)
            desk.submit(.copy(.init(TaskIndex(raw: 1), from: tree.path("source"), destination, maximum: nil)))
            #expect(try failure(desk).error.name == .notEnoughDiskSpace)
            destination.reserve = Int64(4 * Self.mebibyte)
            desk.submit(.copy(.init(TaskIndex(raw: 1), from: tree.path("source"), destination, maximum: nil)))
            guard case .staged = try desk.next() else { throw Desk.Silence() }
            // Announced for a folder that stands nowhere but in the staging.
            desk.submit(
                .announce(
                    .init(
                        desk.staging(), TaskIndex(raw: 2), folder: folder + "/site/c/d",
                        length: Int64(6 * Self.mebibyte), reserve: 0)))
            #expect(try failure(desk).task.raw == 2)
            desk.submit(.publishGroup(place))
            guard case .groupPublished(_, nil, _) = try desk.next() else { throw Desk.Silence() }
            #expect(tree.list("small/site") == ["a/", "a/b"])
        }
    }
}
