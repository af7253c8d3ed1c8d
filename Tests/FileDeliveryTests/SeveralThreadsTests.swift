import FileDelivery
import SystemIO
import TestSupport
import Testing
import TransferModel

/// What holds of one thread holds of several.
struct SeveralThreadsTests {
    private static let threads = 3
    private let tree: TemporaryTree
    init() throws { tree = try TemporaryTree("threads") }

    private func task(_ number: Int) -> TaskIndex { TaskIndex(raw: UInt32(number)) }

    private func publish(
        _ number: Int, _ id: StagingID, _ destination: Destination, _ rest: [UInt8] = []
    ) -> DeliveryOrder {
        .publish(.init(task(number), id, destination, rest: .bytes(rest), lengthUnverified: false))
    }

    /// Pieces of forty bodies, mixed, in batches, and nobody who waits for an answer before the end. The temporary names
    /// of all threads lie in one folder.
    @Test(arguments: [false, true]) func eachFileIsWhole(lacksUnnamedFiles: Bool) throws {
        var random = Seeded("eachFileIsWhole")
        for round in 0..<Rounds.scaled(10) {
            let desk = try Desk(lacksUnnamedFiles: lacksUnnamedFiles, run: "w\(round)", threads: Self.threads)
            var contents = [[UInt8]](repeating: [], count: 40)
            let ids = contents.indices.map { StagingID(UInt32($0 + 1), of: task($0), isGrouped: false) }
            func destination(_ number: Int) -> Destination { Destination(path: tree.path("r\(round)/f\(number)")) }
            for _ in 0..<400 {
                let number = random.below(contents.count)
                let piece = random.bytes(random.below(200))
                contents[number] += piece
                desk.submit(
                    .append(
                        .init(
                            ids[number], BodyPlacement(tree.path("r\(round)")),
                            desk.piece(piece, pooled: random.oneIn(2)))))
            }
            for number in contents.indices { desk.submit(publish(number, ids[number], destination(number))) }
            for _ in contents {
                guard case .published(let task, let record, _) = try desk.next() else { throw Desk.Silence() }
                #expect(record.bytes == Int64(contents[Int(task.raw)].count))
            }
            desk.finish()
            for number in contents.indices {
                #expect(try tree.bytes("r\(round)/f\(number)") == contents[number])
            }
            #expect(tree.list("r\(round)").count == contents.count)
        }
    }

    /// Whatever their tasks' numbers are, a group's members meet in one tree.
    @Test func aGroupIsPublishedAsOne() throws {
        let desk = try Desk(threads: Self.threads)
        let group = GroupPlace(index: GroupIndex(raw: 0), folder: tree.path("site"))
        for number in 0..<12 {
            let isMember = number % 4 != 3
            var destination = Destination(path: tree.path(isMember ? "site/m\(number)" : "alone\(number)"))
            if isMember { destination.group = group }
            let id = StagingID(UInt32(number + 1), of: task(number), isGrouped: isMember)
            desk.submit(
                .append(.init(id, BodyPlacement(destination.folder, group: destination.group), .bytes([1]))),
                publish(number, id, destination, [2]))
        }
        var staged = 0
        for _ in 0..<12 {
            switch try desk.next() {
            case .staged: staged += 1
            case .published: break
            default: throw Desk.Silence()
            }
        }
        #expect(staged == 9 && !tree.list().contains("site/"))
        desk.submit(.publishGroup(group))
        guard case .groupPublished(_, nil, _) = try desk.next() else { throw Desk.Silence() }
        #expect(tree.list("site").count == 9)
        #expect(Set(tree.list().filter { !$0.hasPrefix("site/m") }) == ["alone3", "alone7", "alone11", "site/"])
    }

    /// What one thread's body was promised no other's gets. Which comes first is chance.
    @Test func roomIsPromisedOnce() throws {
        let desk = try Desk(threads: Self.threads)
        let most = try FreeSpace.at(tree.path).bytes / 3 * 2
        for number in 0..<Self.threads {
            let id = StagingID(1, of: task(number), isGrouped: false)
            desk.submit(.announce(.init(id, task(number), folder: tree.path, length: most, reserve: 0)))
        }
        for _ in 1..<Self.threads {
            guard case .failed(_, let error) = try desk.next() else { throw Desk.Silence() }
            #expect(error.name == .notEnoughDiskSpace && error.message.contains("\(SizeText.of(most)) of it promised"))
        }
        // Nothing more is refused.
        desk.submit(.inspect(.init(task(0), path: "/none", nil)))
        guard case .inspected = try desk.next() else { throw Desk.Silence() }
    }

    @Test func hurryIsForAll() throws {
        let desk = try Desk(threads: Self.threads)
        for number in 0..<Self.threads {
            var destination = Destination(path: tree.path("f\(number)"))
            destination.flush = true
            desk.submit(publish(number, StagingID(1, of: task(number), isGrouped: false), destination, [1]))
        }
        // A thread that was not told would flush by itself after a while.
        #expect(DeliveryOrder.hurry.thread(of: Self.threads) == nil)
        desk.submit(.hurry)
        var flushed: Set<UInt32> = []
        for _ in 0..<(2 * Self.threads) {
            if case .flushed(let task) = try desk.next() { flushed.insert(task.raw) }
        }
        #expect(flushed == [0, 1, 2])
    }

    /// Whichever thread met the folder.
    @Test func everyFolderIsSwept() throws {
        let desk = try Desk(threads: Self.threads)
        desk.submit(.sweep(keeping: []))
        for number in 0..<Self.threads {
            try tree.write("d\(number)/.transfer-run-dead0000state-1", "x")
            let id = StagingID(1, of: task(number), isGrouped: false)
            desk.submit(publish(number, id, Destination(path: tree.path("d\(number)/f")), [1]))
        }
        desk.finish()
        for number in 0..<Self.threads { #expect(tree.list("d\(number)") == ["f"]) }
    }

    /// Left by one thread while the first has still to sweep the folder, or meets it only then.
    @Test(arguments: ["old", "new"]) func whatWasLeftIsNotSwept(_ folder: String) throws {
        let desk = try Desk(threads: Self.threads)
        try tree.makeFolder("old")
        desk.submit(.sweep(keeping: []))
        let place = tree.path(folder)
        for number in 0..<Self.threads {
            let id = StagingID(1, of: task(number), isGrouped: false)
            desk.submit(
                .keepPart(id, task(number)),
                .append(.init(id, BodyPlacement(place), .bytes([UInt8](repeating: 7, count: 2 << 20)))),
                .leave(id, task(number)))
        }
        for _ in 0..<Self.threads {
            guard case .part(_, _, let part) = try desk.next() else { throw Desk.Silence() }
            #expect(part?.size == 2 << 20)
        }
        desk.finish()
        #expect(tree.list(folder).count == Self.threads)
    }

    /// Copies have numbers of their own, on whichever thread they are made.
    @Test func copiesDoNotMeetBodies() throws {
        let desk = try Desk(threads: Self.threads)
        try tree.write("source", [UInt8](repeating: 5, count: 3 << 20))
        let ids = (0..<12).map { StagingID(UInt32($0 + 1), of: task($0), isGrouped: false) }
        for number in 0..<12 {
            desk.submit(.append(.init(ids[number], BodyPlacement(tree.path), .bytes([8]))))
        }
        for number in 0..<12 {
            desk.submit(
                .copy(
                    .init(
                        task(number), from: tree.path("source"), Destination(path: tree.path("c\(number)")),
                        maximum: nil))
            )
            desk.submit(
                publish(100 + number, ids[number], Destination(path: tree.path("p\(number)")), [9]))
        }
        for _ in 0..<24 { _ = try desk.outcome().get() }
        for number in 0..<12 {
            #expect(try FileFacts.of(tree.path("c\(number)")).size == 3 << 20)
            #expect(try tree.bytes("p\(number)") == [8, 9])
        }
    }
}
