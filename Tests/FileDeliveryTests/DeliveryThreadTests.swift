import FileDelivery
import Glibc
import SystemIO
import TestSupport
import Testing
import TransferModel

struct DeliveryThreadTests {
    private let tree: TemporaryTree
    init() throws { tree = try TemporaryTree("delivery") }

    // MARK: Flushing

    private func order(_ desk: Desk, _ number: Int) -> DeliveryOrder {
        var destination = Destination(path: tree.path("f\(number)"))
        destination.flush = true
        return .publish(
            .init(
                TaskIndex(raw: UInt32(number)), desk.staging(), destination, rest: .bytes([1]), lengthUnverified: false)
        )
    }

    @Test func flushesComeAfterTheirFilesAndInOneBatch() throws {
        let desk = try Desk()
        let begin = Clocks.instant()
        for number in 0..<5 { desk.submit(order(desk, number)) }
        for number in 0..<5 {
            guard case .published(let task, _, _) = try desk.next() else { throw Desk.Silence() }
            #expect(task.raw == number)
        }
        for number in 0..<5 {
            guard case .flushed(let task) = try desk.next() else { throw Desk.Silence() }
            #expect(task.raw == number)
        }
        #expect((Clocks.instant() - begin).nanoseconds >= 100_000_000)
    }

    /// Without it each batch stays open for 200 ms. The flush of a busy disk may take its time, but not each time.
    @Test func hurryDoesNotWaitForMore() throws {
        let desk = try Desk()
        var times: [TimeSpan] = []
        for number in 0..<50 {
            let begin = Clocks.instant()
            desk.submit(order(desk, number), .hurry)
            guard case .published = try desk.next(), case .flushed = try desk.next() else { throw Desk.Silence() }
            times.append(Clocks.instant() - begin)
            if let last = times.last, last < .milliseconds(150) { break }
        }
        #expect(times.contains { $0 < .milliseconds(150) }, "\(times.map(\.seconds))")
        desk.submit(.hurry)
    }

    @Test func theEndFlushesWhatIsOpen() throws {
        let desk = try Desk()
        desk.submit(order(desk, 0))
        desk.finish()
        guard case .published = try desk.next(), case .flushed = try desk.next() else { throw Desk.Silence() }
    }

    @Test func aThousandFilesCloseABatch() throws {
        let desk = try Desk()
        for number in 0..<1_001 { desk.submit(order(desk, number)) }
        desk.finish()
        var published = 0
        var flushed = 0
        for _ in 0..<2_002 {
            switch try desk.next() {
            case .published: published += 1
            case .flushed:
                flushed += 1
                #expect(flushed <= published)
            default: throw Desk.Silence()
            }
        }
        #expect(published == 1_001 && flushed == 1_001)
    }

    // MARK: Files of this machine

    @Test func inspect() throws {
        let desk = try Desk()
        try tree.write("f", "four")
        desk.submit(.inspect(.init(TaskIndex(raw: 1), path: tree.path("f"), nil)))
        guard case .inspected(_, path: _, size: 4, matches: nil) = try desk.next() else { throw Desk.Silence() }
        desk.submit(.inspect(.init(TaskIndex(raw: 1), path: tree.path("none"), nil)))
        guard case .inspected(_, path: _, size: nil, matches: nil) = try desk.next() else { throw Desk.Silence() }
        let wrong = Checksum(algorithm: .sha256, bytes: [UInt8](repeating: 0, count: 32))
        desk.submit(.inspect(.init(TaskIndex(raw: 1), path: tree.path("f"), wrong)))
        guard case .inspected(_, path: _, size: 4, matches: false) = try desk.next() else { throw Desk.Silence() }
        // A folder must not pass for a file that is there already.
        desk.submit(.inspect(.init(TaskIndex(raw: 1), path: tree.path, nil)))
        guard case .failed(_, let error) = try desk.next() else { throw Desk.Silence() }
        #expect(error.name == .cannotMoveFile)
    }

    @Test func copies() throws {
        let desk = try Desk()
        var random = Seeded("copies")
        let content = random.bytes(2_500_000)
        try tree.write("source", content)
        var destination = Destination(path: tree.path("to/copy"))
        destination.modificationTime = WallTime(nanoseconds: 0)
        desk.submit(.copy(.init(TaskIndex(raw: 1), from: tree.path("source"), destination, maximum: nil)))
        #expect(try desk.outcome().get().bytes == 2_500_000)
        #expect(try tree.bytes("to/copy") == content)
        let times = try ["source", "to/copy"].map { try FileFacts.of(tree.path($0)).modifiedNanoseconds }
        #expect(times[0] == times[1])
        // Onto itself: the same file again.
        desk.submit(
            .copy(
                .init(
                    TaskIndex(raw: 1), from: tree.path("source"), Destination(path: tree.path("source")), maximum: nil))
        )
        #expect(try !desk.outcome().get().changed)
        // What `/proc` says has no size, but an end.
        desk.submit(
            .copy(
                .init(TaskIndex(raw: 1), from: "/proc/version", Destination(path: tree.path("version")), maximum: nil)))
        #expect(try desk.outcome().get().bytes > 10)
    }

    @Test func whatCannotBeCopied() throws {
        let desk = try Desk()
        try tree.write("source", "12345")
        #expect(mkfifo(tree.path("pipe"), 0o600) == 0)
        let wanted: [(String, Int64?, ErrorName)] = [
            (tree.path("none"), nil, .fileDoesNotExist), (tree.path, nil, .fileIsDirectory),
            (tree.path("pipe"), nil, .cannotOpenFile), (tree.path("source"), 4, .dataLengthExceedsMaximum),
            ("/proc/version", 4, .dataLengthExceedsMaximum),
        ]
        for (source, maximum, name) in wanted {
            desk.submit(
                .copy(.init(TaskIndex(raw: 1), from: source, Destination(path: tree.path("x")), maximum: maximum)))
            guard case .failure(let error) = try desk.outcome() else { throw Desk.Silence() }
            #expect(error.name == name, "\(source)")
            desk.submit(.read(.init(TaskIndex(raw: 1), path: source, maximum: maximum ?? 100)))
            guard case .failed(_, let again) = try desk.next() else { throw Desk.Silence() }
            #expect(again.name == name, "\(source)")
        }
        desk.submit(.read(.init(TaskIndex(raw: 1), path: tree.path("source"), maximum: 5)))
        guard case .contents(_, let read) = try desk.next() else { throw Desk.Silence() }
        #expect(read == bytes("12345"))
        #expect(tree.list() == ["pipe", "source"])
    }

    // MARK: The loop and the disk

    /// A named temporary file shows how far the disk is: never more than the bound behind.
    @Test func aLoopThatIsFasterThanItsDiskWaits() throws {
        let desk = try Desk(lacksUnnamedFiles: true)
        let id = desk.staging()
        let piece = [UInt8](repeating: 7, count: 4 << 20)
        for count in 1...15 {
            desk.submit(.append(.init(id, BodyPlacement(tree.path, written: .sha512), .bytes(piece))))
            let written = (try? FileFacts.of(tree.path(".transfer-run-test0000state-1")).size) ?? 0
            #expect(Int64(count * piece.count) - written <= Int64(desk.thread.maximumOutstanding))
        }
        desk.submit(
            .publish(
                .init(
                    TaskIndex(raw: 1), id, Destination(path: tree.path("big")), rest: .bytes([1]),
                    lengthUnverified: false)))
        #expect(try desk.outcome().get().bytes == 15 * (4 << 20) + 1)
    }

    /// Whose file stands is told while others of the same batch are still carried out.
    @Test func aLongBatchIsAnsweredInBetween() throws {
        let desk = try Desk()
        let (goOn, wasTold) = (WakeSignal(), Flag())
        desk.submit(
            .publish(
                .init(
                    TaskIndex(raw: 1), desk.staging(), Destination(path: tree.path("long")),
                    rest: .bytes([UInt8](repeating: 1, count: 300 << 10)), lengthUnverified: false)),
            .examine(TaskIndex(raw: 2)) { if goOn.wait(nanoseconds: 10_000_000_000) { wasTold.set() } })
        #expect(try desk.outcome().get().bytes == 300 << 10)
        goOn.signal()
        guard case .examined = try desk.next() else { throw Desk.Silence() }
        #expect(wasTold.isSet)
    }

    /// However an order ends, its buffer comes back empty for the next.
    @Test func buffersAreUsedAgain() throws {
        let desk = try Desk()
        let first = desk.thread.pool.take()
        for number in 0..<20 {
            let buffer = number == 0 ? first : desk.thread.pool.take()
            #expect(buffer === first && buffer.count == 0)
            [UInt8](repeating: UInt8(number), count: 100).withUnsafeBytes { buffer.append($0) }
            // Every other destination is a folder, where nothing can be published.
            let path = number % 2 == 0 ? tree.path("f") : tree.path
            desk.submit(
                .publish(
                    .init(
                        TaskIndex(raw: 1), desk.staging(), Destination(path: path), rest: .buffer(buffer),
                        lengthUnverified: false)))
            // The buffer is given back before the answer is handed over.
            let record = try? desk.outcome().get()
            #expect((record != nil) == (number % 2 == 0))
            if number % 2 == 0 { #expect(try tree.bytes("f") == [UInt8](repeating: UInt8(number), count: 100)) }
        }
    }

    /// On a filesystem of one mebibyte.
    @Test(.enabled(if: Mounting.isAllowed)) func aFullDiskLeavesNothing() throws {
        let small = try tree.makeFolder("small")
        try #require(mount("tmpfs", small, "tmpfs", 0, "size=1m") == 0)
        defer { umount2(small, Int32(MNT_DETACH)) }
        for lacks in [false, true] {
            let desk = try Desk(lacksUnnamedFiles: lacks)
            try tree.write("small/f", "old")
            let piece = [UInt8](repeating: 7, count: 400_000)
            guard case .failure(let error) = try desk.publish([piece, piece, piece, piece], to: small + "/f") else {
                throw Desk.Silence()
            }
            #expect(error.name == .notEnoughDiskSpace && error.errno == ENOSPC)
            #expect(error.message.contains(small))
            #expect(!error.name.canHeal)
            #expect(try tree.contents("small") == ["f": bytes("old")])
            #expect(try desk.publish([piece], to: small + "/g").get().bytes == 400_000)
            tree.remove("small/g")
        }
    }

    /// Root may write whatever a mode says, but not on a mount that is read-only.
    @Test(.enabled(if: Mounting.isAllowed)) func aFolderThatMayNotBeWritten() throws {
        let folder = try tree.makeFolder("locked")
        try tree.write("locked/f", "old")
        try #require(mount(folder, folder, nil, UInt(MS_BIND), nil) == 0)
        defer { umount2(folder, Int32(MNT_DETACH)) }
        try #require(mount("none", folder, nil, UInt(MS_BIND | MS_REMOUNT | MS_RDONLY), nil) == 0)
        let desk = try Desk()
        guard case .failure(let error) = try desk.publish([bytes("x"), bytes("y")], to: folder + "/f") else {
            throw Desk.Silence()
        }
        #expect(error.name == .cannotCreateFile && error.errno == EROFS)
        #expect(try tree.text("locked/f") == "old")
    }
}

/// Whether this process may mount a filesystem of its own.
enum Mounting {
    static let isAllowed: Bool = {
        guard let tree = try? TemporaryTree("mount"), mount("tmpfs", tree.path, "tmpfs", 0, "size=64k") == 0 else {
            return false
        }
        umount2(tree.path, Int32(MNT_DETACH))
        return true
    }()
}
