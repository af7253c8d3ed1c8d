import Digests
import FileDelivery
import Glibc
import SystemIO
import TestSupport
import Testing
import TransferModel

/// Bodies that a later run is to find, and what an earlier one left.
@Suite struct PartTests {
    private static let body = Script.patternBytes(9 << 20)
    private let task = TaskIndex(raw: 3)

    private func sum(_ bytes: some Collection<UInt8>) throws -> [UInt8] {
        let sum = QuickSum()
        Array(bytes).withUnsafeBytes { sum.update($0) }
        return sum.soFar
    }

    /// Pieces as they come from a download, and what is told of them on the way.
    private func append(_ bytes: [UInt8], to id: StagingID, in tree: TemporaryTree, _ desk: Desk) {
        desk.submit(.keepPart(id, task))
        for start in stride(from: 0, to: bytes.count, by: 256 << 10) {
            let piece = Array(bytes[start..<min(bytes.count, start + (256 << 10))])
            desk.submit(.append(.init(id, BodyPlacement(tree.path, written: .sha256), .bytes(piece))))
        }
    }

    private func part(_ desk: Desk) throws -> PartFile? {
        guard case .part(_, task, let part) = try desk.next() else { throw Desk.Silence() }
        return part
    }

    private func adoption(_ desk: Desk) throws -> String? {
        guard case .adopted(task, let part) = try desk.next() else { throw Desk.Silence() }
        guard case .useless(let problem) = part else { return nil }
        return problem
    }

    /// A half-done file as a run left it.
    private func leave(_ bytes: [UInt8], in tree: TemporaryTree, lacksUnnamedFiles: Bool = false) throws -> PartFile {
        let desk = try Desk(lacksUnnamedFiles: lacksUnnamedFiles, run: "earlier")
        let id = desk.staging()
        append(bytes, to: id, in: tree, desk)
        desk.submit(.leave(id, task))
        let last = try #require(try part(desk))
        desk.finish()
        #expect(last.name.hasPrefix(".transfer-run-earlier-"))
        #expect(try last == PartFile(name: last.name, size: Int64(bytes.count), sum: sum(bytes)))
        #expect(try tree.list() == [last.name] && tree.bytes(last.name) == bytes)
        return last
    }

    /// A process that is killed tells nothing at its end: how far it is was told before, whether or not more came.
    @Test func howFarItIsIsToldOnTheWay() throws {
        let tree = try TemporaryTree()
        let desk = try Desk()
        let id = desk.staging()
        append(Array(Self.body[..<(3 << 20)]), to: id, in: tree, desk)
        let first = try #require(try part(desk))
        #expect(try first == PartFile(name: first.name, size: 3 << 20, sum: sum(Self.body[..<(3 << 20)])))
        #expect(try tree.list() == [first.name] && tree.bytes(first.name) == Array(Self.body[..<(3 << 20)]))
        desk.submit(
            .append(
                .init(id, BodyPlacement(tree.path, written: .sha256), .bytes(Array(Self.body[(3 << 20)..<(4 << 20)])))))
        #expect(try part(desk)?.size == 4 << 20)
    }

    @Test(arguments: [false, true]) func whatIsLeftIsGoneOnWith(_ lacksUnnamedFiles: Bool) throws {
        let tree = try TemporaryTree()
        let part = try leave(Array(Self.body[..<(5 << 20)]), in: tree, lacksUnnamedFiles: lacksUnnamedFiles)
        let desk = try Desk(lacksUnnamedFiles: lacksUnnamedFiles)
        let id = desk.staging()
        desk.submit(
            .adopt(.init(id, task, BodyPlacement(tree.path, written: .sha256), part, keeping: part.size)))
        #expect(try adoption(desk) == nil)
        var destination = Destination(path: tree.path("f"))
        destination.checksum = try Checksum.of(Self.body, .sha256)
        desk.submit(
            .publish(
                .init(task, id, destination, rest: .bytes(Array(Self.body[(5 << 20)...])), lengthUnverified: false)))
        #expect(try desk.outcome().get().bytes == Int64(Self.body.count))
        #expect(try tree.list() == ["f"] && tree.bytes("f") == Self.body)
    }

    /// What lies behind the bytes that count goes, and so may some of these.
    @Test func itIsCutWhereItIsGoneOnWith() throws {
        let tree = try TemporaryTree()
        var part = try leave(Array(Self.body[..<(2 << 20)]), in: tree)
        try tree.write(part.name, Array(Self.body[..<(2 << 20)]) + [1, 2, 3])
        part.size = 2 << 20
        let desk = try Desk()
        let id = desk.staging()
        desk.submit(
            .adopt(.init(id, task, BodyPlacement(tree.path, sent: .sha256), part, keeping: part.size - 1)))
        #expect(try adoption(desk) == nil)
        #expect(try tree.bytes(part.name).count == 2 << 20 - 1)
        desk.submit(.leave(id, task))
        let left = try #require(try self.part(desk))
        #expect(try left.sum == sum(Self.body[..<(2 << 20 - 1)]))
    }

    @Test func tooLittleIsNotKept() throws {
        let tree = try TemporaryTree()
        let desk = try Desk()
        let id = desk.staging()
        append(Array(Self.body[..<1000]), to: id, in: tree, desk)
        desk.submit(.leave(id, task))
        #expect(try part(desk) == nil)
        #expect(tree.list().isEmpty)
    }

    @Test(arguments: ["changed", "shorter", "gone", "locked", "a link", "named otherwise"])
    func whatIsOfNoUseIsSaidToBe(_ kind: String) throws {
        let tree = try TemporaryTree()
        var part = try leave(Array(Self.body[..<(6 << 20)]), in: tree)
        var lock: Int32 = -1
        defer { if lock >= 0 { close(lock) } }
        switch kind {
        case "changed": try tree.write(part.name, Array(Self.body[1...(6 << 20)]))
        case "shorter": try tree.write(part.name, Array(Self.body[..<(5 << 20)]))
        case "gone": tree.remove(part.name)
        case "locked":
            lock = open(tree.path(part.name), O_RDONLY)
            #expect(flock(lock, LOCK_EX) == 0)
        case "a link":
            try tree.write("other", Self.body)
            tree.remove(part.name)
            try tree.link(part.name, to: "other")
        default:
            try tree.write("f", Self.body)
            part.name = "f"
        }
        let before = try tree.contents()
        let desk = try Desk()
        desk.submit(
            .adopt(.init(desk.staging(), task, BodyPlacement(tree.path), part, keeping: part.size)))
        #expect(try adoption(desk) != nil)
        desk.finish()
        // What is surely ours and of no use is removed; nothing else is touched.
        let isRemoved = kind == "changed" || kind == "shorter"
        #expect(try tree.contents() == (isRemoved ? [:] : before))
    }

    /// The task was stopped before all was read: what nobody wants goes, what somebody may want stays as it is.
    @Test(arguments: [true, false]) func anAdoptionCanBeCalledOff(_ isWanted: Bool) throws {
        let tree = try TemporaryTree()
        let part = try leave(Self.body, in: tree)
        let desk = try Desk()
        let id = desk.staging()
        desk.submit(
            .adopt(.init(id, task, BodyPlacement(tree.path), part, keeping: part.size)),
            isWanted ? .leave(id, nil) : .discard(id))
        desk.finish()
        #expect(try tree.contents() == (isWanted ? [part.name: Self.body] : [:]))
    }

    /// A group's tree and files under temporary names go when nobody has them locked; links when they are old or lead nowhere.
    @Test func leftoversAreSwept() throws {
        let tree = try TemporaryTree()
        let left = ".transfer-run-gone0000state-"
        try tree.write("\(left)1", "x")
        try tree.write("\(left)2", [UInt8](repeating: 0, count: 1 << 20))
        try tree.write("\(left)3/tree/deep/x", "x")
        try tree.link("\(left)4", to: "mirror\(left)5")
        try tree.link("\(left)6", to: "nowhere")
        try tree.makeFolder("mirror\(left)5")
        // Of a run with another state folder, whose next may go on with it.
        let other = ".transfer-run-gone0000other-2"
        try tree.write(other, [UInt8](repeating: 0, count: 1 << 20))
        let desk = try Desk()
        desk.submit(.sweep(keeping: nil))
        #expect(try desk.publish([[1]], to: tree.path("f")).get().bytes == 1)
        desk.finish()
        // Nobody knows whose the big one is.
        #expect(Set(tree.list()) == ["f", "\(left)2", "\(left)4@", "mirror\(left)5/", other])
        let second = try Desk()
        second.submit(.sweep(keeping: []))
        #expect(try second.publish([[1]], to: tree.path("g")).get().bytes == 1)
        second.finish()
        #expect(Set(tree.list()) == ["f", "g", "\(left)4@", "mirror\(left)5/", other])
    }

    /// Only what has a name of our very form can be ours.
    @Test func namesThatOnlyBeginLikeOursStay() throws {
        let tree = try TemporaryTree()
        let names = [
            ".transfer-run-notes", ".transfer-run-my-notes-2", ".transfer-run-a-1", ".transfer-run-gone0000state",
            ".transfer-run-gone0000state-", ".transfer-run-gone0000state-01", ".transfer-run-gone0000state-1-2",
            ".transfer-run-GONE0000state-1", ".transfer-run-gone0000state-1x",
        ]
        for name in names { try tree.write(name, "mine") }
        try tree.write(".transfer-run-backup-1/precious", "mine")
        let before = Set(tree.list())
        let desk = try Desk()
        desk.submit(.sweep(keeping: []))
        #expect(try desk.publish([[1]], to: tree.path("f")).get().bytes == 1)
        desk.finish()
        #expect(Set(tree.list()) == before.union(["f"]))
    }

    /// What is to get a mode of its own is nobody else's to read before, whatever the mode of other files is.
    @Test(arguments: [true, false]) func whatHasAModeIsConcealedOnTheWay(_ isConcealed: Bool) throws {
        let tree = try TemporaryTree()
        let desk = try Desk(lacksUnnamedFiles: true)
        let id = desk.staging()
        if isConcealed { desk.submit(.conceal(id)) }
        append([1, 2, 3], to: id, in: tree, desk)
        desk.submit(.inspect(.init(task, path: "/none", nil)))
        guard case .inspected = try desk.next() else { throw Desk.Silence() }
        let name = try #require(tree.list().first)
        #expect(try FileFacts.of(tree.path(name)).permissions & 0o077 == (isConcealed ? 0 : 0o044))
        var destination = Destination(path: tree.path("f"))
        destination.mode = isConcealed ? 0o640 : nil
        desk.submit(.publish(.init(task, id, destination, rest: .none, lengthUnverified: false)))
        while case .part = try desk.next() {}
        #expect(try FileFacts.of(tree.path("f")).permissions == (isConcealed ? 0o640 : 0o644))
    }
}
