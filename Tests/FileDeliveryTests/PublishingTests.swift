import FileDelivery
import Glibc
import SystemIO
import TestSupport
import Testing
import TransferModel

/// With unnamed files, and on filesystems that know none.
@Suite(.serialized) struct PublishingTests {
    private let tree: TemporaryTree
    init() throws { tree = try TemporaryTree("delivery") }

    @Test(arguments: [false, true]) func newFiles(lacksUnnamedFiles: Bool) throws {
        let desk = try Desk(lacksUnnamedFiles: lacksUnnamedFiles)
        let record = try desk.publish([bytes("one"), bytes("two"), bytes("three")], to: tree.path("a/b/c.txt")).get()
        #expect(record.bytes == 11 && record.changed)
        #expect(try tree.text("a/b/c.txt") == "onetwothree")
        #expect(try desk.publish([], to: tree.path("a/empty")).get().bytes == 0)
        #expect(tree.list() == ["a/", "a/b/", "a/b/c.txt", "a/empty"])
    }

    @Test(arguments: [false, true]) func theOldStaysUntilTheNewIsWhole(lacksUnnamedFiles: Bool) throws {
        let desk = try Desk(lacksUnnamedFiles: lacksUnnamedFiles)
        try tree.write("f", "old")
        let id = desk.staging()
        desk.submit(.append(.init(id, BodyPlacement(tree.path), .bytes(bytes("new")))))
        desk.submit(.inspect(.init(TaskIndex(raw: 1), path: tree.path("f"), nil)))
        _ = try desk.next()
        #expect(try tree.text("f") == "old")
        desk.submit(
            .publish(
                .init(
                    TaskIndex(raw: 7), id, Destination(path: tree.path("f")), rest: .bytes(bytes("er")),
                    lengthUnverified: true)))
        let record = try desk.outcome().get()
        #expect(record.changed && record.lengthUnverified)
        #expect(try tree.text("f") == "newer")
        #expect(try !desk.publish([bytes("newer")], to: tree.path("f")).get().changed)
        #expect(try desk.publish([bytes("newes")], to: tree.path("f")).get().changed)
        #expect(tree.list() == ["f"])
    }

    /// By way of a symlink, a `..` behind it or a mount: the folder is the same.
    @Test(arguments: [false, true]) func anotherTasksFileIsNotReplaced(lacksUnnamedFiles: Bool) throws {
        let desk = try Desk(lacksUnnamedFiles: lacksUnnamedFiles)
        try tree.makeFolder("real")
        try tree.link("link", to: "real")
        try tree.write("real/old", "old")
        func publish(_ path: String, as task: UInt32, _ text: String) throws -> ErrorName? {
            let destination = Destination(path: tree.path(path))
            desk.submit(
                .publish(
                    .init(
                        TaskIndex(raw: task), desk.staging(), destination, rest: .bytes(bytes(text)),
                        lengthUnverified: false)))
            if case .failure(let error) = try desk.outcome() { return error.name } else { return nil }
        }
        for name in ["old", "new"] {
            #expect(try publish("real/\(name)", as: 1, "one") == nil)
            #expect(try publish("link/\(name)", as: 2, "two") == .destinationExists)
            #expect(try publish("link/\(name)", as: 1, "again") == nil)
            #expect(try tree.text("real/\(name)") == "again")
            // Somebody took it away: then it is in nobody's place.
            tree.remove("real/\(name)")
            #expect(try publish("link/\(name)", as: 2, "two") == nil)
            #expect(try publish("real/\(name)", as: 1, "one") == .destinationExists)
            #expect(try tree.text("real/\(name)") == "two")
        }
    }

    @Test(arguments: [false, true]) func existing(lacksUnnamedFiles: Bool) throws {
        let desk = try Desk(lacksUnnamedFiles: lacksUnnamedFiles)
        try tree.write("f", "old")
        #expect(try desk.failure([bytes("new")], to: tree.path("f")) { $0.existing = .fail } == .destinationExists)
        let kept = try desk.publish([bytes("longer")], to: tree.path("f")) { $0.existing = .skip }.get()
        #expect(!kept.changed && kept.bytes == 3)
        #expect(try tree.contents() == ["f": bytes("old")])
        #expect(try desk.publish([bytes("new")], to: tree.path("f")) { $0.existing = .replace }.get().changed)
        #expect(try desk.publish([bytes("x")], to: tree.path("g")) { $0.existing = .fail }.get().changed)
        #expect(try tree.contents() == ["f": bytes("new"), "g": bytes("x")])
        try tree.link("dangling", to: "nowhere")
        #expect(try desk.failure([bytes("x")], to: tree.path("dangling")) { $0.existing = .skip } == .destinationExists)
    }

    @Test(arguments: [false, true]) func whatNoFileReplaces(lacksUnnamedFiles: Bool) throws {
        let desk = try Desk(lacksUnnamedFiles: lacksUnnamedFiles)
        try tree.makeFolder("folder")
        #expect(mkfifo(tree.path("pipe"), 0o600) == 0)
        // As `/dev/stdout` is one.
        try tree.link("link", to: "pipe")
        for existing in ExistingPolicy.allCases {
            #expect(try desk.failure([bytes("x")], to: tree.path("link")) { $0.existing = existing } == .cannotMoveFile)
            #expect(
                try desk.failure([bytes("x")], to: tree.path("folder")) { $0.existing = existing } == .cannotMoveFile)
            #expect(try desk.failure([bytes("x")], to: tree.path("pipe")) { $0.existing = existing } == .cannotMoveFile)
        }
        for (name, isOdd) in [("link", true), ("folder", true), ("pipe", true), ("new", false), ("pipe/below", false)] {
            let folder = name == "pipe/below" ? tree.path("pipe") : tree.path
            desk.submit(
                .announce(
                    .init(
                        desk.staging(), TaskIndex(raw: 7), folder: folder, path: tree.path(name), length: 1, reserve: 0)
                ),
                .inspect(.init(TaskIndex(raw: 8), path: tree.path("new"), nil)))
            if isOdd {
                guard case .failed(let task, let error) = try desk.next() else { throw Desk.Silence() }
                #expect(task.raw == 7 && error.name == .cannotMoveFile)
            }
            guard case .inspected = try desk.next() else { throw Desk.Silence() }
        }
        #expect(try desk.failure([bytes("x")], to: tree.path("pipe/below")) == .cannotCreateFile)
        #expect(tree.list() == ["folder/", "link@", "pipe"])
    }

    /// The link is replaced, what it leads to is not touched.
    @Test(arguments: [false, true]) func aLinkIsNotFollowed(lacksUnnamedFiles: Bool) throws {
        let desk = try Desk(lacksUnnamedFiles: lacksUnnamedFiles)
        try tree.write("outside", "secret")
        for target in ["outside", "nowhere"] {
            try tree.link("link", to: target)
            #expect(try desk.publish([bytes("secret")], to: tree.path("link")).get().changed)
            #expect(tree.list() == ["link", "outside"])
            tree.remove("link")
        }
        #expect(try tree.text("outside") == "secret")
    }

    @Test(arguments: [false, true]) func aFolderThatVanishesIsMadeAgain(lacksUnnamedFiles: Bool) throws {
        let desk = try Desk(lacksUnnamedFiles: lacksUnnamedFiles)
        _ = try desk.publish([bytes("x")], to: tree.path("d/first")).get()
        tree.remove("d")
        #expect(try desk.publish([bytes("y")], to: tree.path("d/second")).get().changed)
        #expect(try tree.contents("d") == ["second": bytes("y")])
    }

    /// Nothing goes into the folder that was moved away, though it is still open.
    @Test(arguments: [false, true]) func aFolderThatIsMovedAwayGetsNothing(lacksUnnamedFiles: Bool) throws {
        let desk = try Desk(lacksUnnamedFiles: lacksUnnamedFiles)
        _ = try desk.publish([bytes("x")], to: tree.path("d/first")).get()
        let id = desk.staging()
        desk.submit(.append(.init(id, BodyPlacement(tree.path("d")), .bytes(bytes("y")))))
        desk.submit(.inspect(.init(TaskIndex(raw: 1), path: tree.path("d/first"), nil)))
        _ = try desk.next()
        #expect(rename(tree.path("d"), tree.path("old")) == 0)
        desk.submit(
            .publish(
                .init(
                    TaskIndex(raw: 1), id, Destination(path: tree.path("d/second")), rest: .bytes([]),
                    lengthUnverified: false))
        )
        #expect(try desk.outcome().get().bytes == 1)
        #expect(tree.list() == ["d/", "d/second", "old/", "old/first"])
    }

    @Test(arguments: [false, true]) func aWrongChecksumLeavesTheOldFile(lacksUnnamedFiles: Bool) throws {
        let desk = try Desk(lacksUnnamedFiles: lacksUnnamedFiles)
        try tree.write("f", "old")
        // Of "abc".
        let abc = Checksum(
            algorithm: .md5,
            bytes: [0x90, 0x01, 0x50, 0x98, 0x3C, 0xD2, 0x4F, 0xB0, 0xD6, 0x96, 0x3F, 0x7D, 0x28, 0xE1, 0x7F, 0x72])
        for pieces in [["abd"], ["ab", "d"], [""], ["ab"]] {
            #expect(try desk.failure(pieces.map(bytes), to: tree.path("f")) { $0.checksum = abc } == .checksumMismatch)
            #expect(try tree.contents() == ["f": bytes("old")])
        }
        for pieces in [["abc"], ["a", "b", "c"], ["abc", ""]] {
            let record = try desk.publish(pieces.map(bytes), to: tree.path("f")) { $0.checksum = abc }.get()
            #expect(record.checksum == abc)
        }
        desk.submit(.inspect(.init(TaskIndex(raw: 1), path: tree.path("f"), abc)))
        guard case .inspected(_, path: _, size: 3, matches: true) = try desk.next() else { throw Desk.Silence() }
    }

    @Test(arguments: [false, true]) func modesAndTimes(lacksUnnamedFiles: Bool) throws {
        let desk = try Desk(lacksUnnamedFiles: lacksUnnamedFiles)
        _ = try desk.publish([bytes("a"), bytes("b")], to: tree.path("f")) {
            $0.mode = 0o600
            $0.modificationTime = WallTime(nanoseconds: -1_500_000_000)
        }.get()
        #expect(tree.mode("f") == 0o600)
        #expect(try FileFacts.of(tree.path("f")).modifiedNanoseconds == -1_500_000_000)
        _ = try desk.publish([bytes("a")], to: tree.path("g")) { $0.mode = 0o777 }.get()
        #expect(tree.mode("g") == 0o777)
        _ = try desk.publish([bytes("a")], to: tree.path("h")).get()
        #expect(tree.mode("h") == 0o644 & ~(try Self.umask()))
    }

    /// Asking for it in C sets it, for every other test too.
    private static func umask() throws -> UInt32 {
        let status = String(decoding: try WholeFile.read("/proc/self/status", limit: 1 << 20), as: UTF8.self)
        let line = status.split(separator: "\n").first { $0.hasPrefix("Umask:") }
        return line.flatMap { UInt32($0.dropFirst(6).drop { $0 == "\t" }, radix: 8) } ?? 0
    }

    @Test(arguments: [false, true]) func discardLeavesNothing(lacksUnnamedFiles: Bool) throws {
        let desk = try Desk(lacksUnnamedFiles: lacksUnnamedFiles)
        let id = desk.staging()
        desk.submit(.append(.init(id, BodyPlacement(tree.path("d")), .bytes(bytes("x")))))
        desk.submit(.discard(id), .discard(desk.staging()))
        let left = desk.staging()
        desk.submit(.append(.init(left, BodyPlacement(tree.path("d")), .bytes(bytes("x")))))
        desk.finish()
        #expect(tree.list() == ["d/"])
    }

    /// A run of the same number was killed and left its temporary files.
    @Test func namesThatAreTakenArePassedOver() throws {
        for number in 1...3 { try tree.write(".transfer-run-test0000state-\(number)", "left") }
        try tree.write("f", "old")
        for lacks in [false, true] {
            let desk = try Desk(lacksUnnamedFiles: lacks)
            #expect(try desk.publish([bytes("new\(lacks)")], to: tree.path("f")).get().changed)
        }
        #expect(tree.list().count == 4)
        #expect(try tree.text(".transfer-run-test0000state-2") == "left")
    }

    @Test func manyFoldersStayWithinTheLimitOnOpenFiles() throws {
        let desk = try Desk()
        for number in 0..<300 {
            #expect(try desk.publish([bytes("x")], to: tree.path("d\(number)/f")).get().changed)
        }
        var open = 0
        for number in 0..<2_000 {
            var target = [CChar](repeating: 0, count: 4_096)
            let count = readlink("/proc/self/fd/\(number)", &target, target.count)
            let path = target.prefix(max(0, count)).map { UInt8(bitPattern: $0) }
            if path.starts(with: tree.path.utf8) { open += 1 }
        }
        #expect(open > 0 && open <= 128)
    }

    /// Two folders, and two names in one, that are one text for Swift; in one batch, and flushed together.
    @Test(arguments: [false, true]) func namesAreBytes(flush: Bool) throws {
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        let tree = try TemporaryTree("bytes")
        try tree.write("\(composed)/two", "precious")
        let desk = try Desk()
        let places = ["\(composed)/one", "\(decomposed)/two", "all/\(composed)", "all/\(decomposed)"]
        var orders: [DeliveryOrder] = []
        for (number, place) in places.enumerated() {
            var destination = Destination(path: tree.path(place))
            destination.existing = .replace
            destination.flush = flush
            orders.append(
                .publish(
                    .init(
                        TaskIndex(raw: UInt32(number)), desk.staging(), destination,
                        rest: .bytes(Array("\(number)".utf8)), lengthUnverified: false)))
        }
        desk.thread.submit(orders, bytes: 0)
        for _ in places { _ = try desk.outcome().get() }
        desk.finish()
        for (number, place) in places.enumerated() { #expect(try tree.text(place) == "\(number)") }
        #expect(try tree.text("\(composed)/two") == "precious")
    }
}
