import Digests
import FileDelivery
import Synchronization
import SystemIO
import TestSupport
import Testing
import TransferModel

/// What the job expects of a file and what the server says of it.
@Suite struct DigestTests {
    private let tree: TemporaryTree
    init() throws { tree = try TemporaryTree("digests") }

    private static let md5 = Checksum(
        algorithm: .md5,
        bytes: [
            0x90, 0x01, 0x50, 0x98, 0x3C, 0xD2, 0x4F, 0xB0, 0xD6, 0x96, 0x3F, 0x7D, 0x28, 0xE1, 0x7F, 0x72,
        ])
    private static let sha1 = Checksum(
        algorithm: .sha1,
        bytes: [
            0xA9, 0x99, 0x3E, 0x36, 0x47, 0x06, 0x81, 0x6A, 0xBA, 0x3E, 0x25, 0x71, 0x78, 0x50, 0xC2, 0x6C, 0x9C, 0xD0,
            0xD8, 0x9D,
        ])
    private static func sent(_ checksum: Checksum) -> SentDigest {
        SentDigest(header: "Repr-Digest", checksum: checksum)
    }
    private static func zero(_ algorithm: DigestAlgorithm) -> Checksum {
        Checksum(algorithm: algorithm, bytes: Array(repeating: 0, count: algorithm.byteCount))
    }

    @Test(arguments: [["abc"], ["a", "bc"], ["", "a", "b", "c", ""]]) func bothHold(_ pieces: [String]) throws {
        let desk = try Desk()
        for (job, server) in [(nil, Self.md5), (Self.md5, Self.md5), (Self.sha1, Self.md5), (Self.md5, nil)] {
            let record = try desk.publish(pieces.map(bytes), to: tree.path("f")) {
                $0.checksum = job
                $0.sent = server.map(Self.sent)
            }.get()
            // The job's own is what the report shows.
            #expect(record.checksum == (job ?? server))
        }
        #expect(try tree.text("f") == "abc")
    }

    @Test(arguments: [["abc"], ["a", "bc"], [""]]) func fileOfWhichNobodyNamedADigest_hasXXH3(_ pieces: [String]) throws
    {
        let record = try Desk().publish(pieces.map(bytes), to: tree.path("f")).get()
        let text = pieces.joined()
        #expect(record.checksum == (try Checksum.of(bytes(text), .xxh3)))
        #expect(try tree.text("f") == text)
    }

    @Test(arguments: [["abc"], ["a", "bc"]]) func oneDoesNot(_ pieces: [String]) throws {
        let desk = try Desk()
        try tree.write("f", "old")
        for (job, server) in [
            (nil, Self.zero(.md5)), (Self.md5, Self.zero(.md5)), (Self.md5, Self.zero(.sha512)),
            (Self.zero(.sha1), Self.md5), (Self.zero(.md5), Self.md5),
        ] {
            let result = try desk.publish(pieces.map(bytes), to: tree.path("f")) {
                $0.checksum = job
                $0.sent = Self.sent(server)
            }
            guard case .failure(let error) = result else {
                Issue.record("published")
                return
            }
            #expect(error.name == .checksumMismatch)
            let isServers = job == nil || job == Self.md5
            #expect(error.message.contains("`Repr-Digest` says") == isServers)
        }
        #expect(try tree.contents() == ["f": bytes("old")])
    }

    @Test func aMemberIsReadWhereItIsStaged() throws {
        let desk = try Desk()
        try tree.write("site/sums", "old")
        let place = GroupPlace(index: GroupIndex(raw: 0), folder: tree.path("site"))
        var destination = Destination(path: tree.path("site/sums"))
        destination.group = place
        func read() throws -> String? {
            desk.submit(.read(.init(TaskIndex(raw: 1), path: tree.path("site/sums"), maximum: 100, group: place)))
            guard case .contents(_, let contents) = try desk.next() else { return nil }
            return String(decoding: contents, as: UTF8.self)
        }
        #expect(try read() == "old")
        desk.submit(
            .publish(
                .init(
                    TaskIndex(raw: 0), desk.staging(), destination, rest: .bytes(bytes("new")), lengthUnverified: false)
            ))
        guard case .staged = try desk.next() else {
            Issue.record("not staged")
            return
        }
        #expect(try read() == "new")
        #expect(try tree.text("site/sums") == "old")
        // Opened once, it stays the same file.
        let opened = try #require(open(["site/sums", "site/missing"], place, desk))
        #expect(try Self.text(opened[0].get()) == "new" && opened[1].failureName == .fileDoesNotExist)
        desk.submit(.publishGroup(place))
        _ = try desk.next()
        try tree.write("site/other", "x")
        #expect(try Self.text(opened[0].get()) == "new")
        #expect(try read() == "new")
        #expect(try tree.text("site/sums") == "new")
    }

    private func open(
        _ paths: [String], _ place: GroupPlace, _ desk: Desk
    ) -> [Result<OpenedFile, TransferError>]? {
        let found = Mutex<[Result<OpenedFile, TransferError>]?>(nil)
        let isThere = WakeSignal()
        let files = paths.map { DeliveryOrder.ListedFile(path: tree.path($0), group: place) }
        desk.submit(
            .open(files) { opened in
                found.withLock { $0 = opened }
                isThere.signal()
            })
        _ = isThere.wait(nanoseconds: 60_000_000_000)
        return found.withLock { $0 }
    }

    private static func text(_ file: OpenedFile) throws -> String {
        var bytes: [UInt8] = []
        try file.read { bytes += Array($0) }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func aLocalSourceIsCheckedBeforeItIsNamed() throws {
        let desk = try Desk()
        try tree.write("source", "abc")
        var destination = Destination(path: tree.path("f"))
        destination.check = { start, size in
            start == bytes("abc") && size == 3 ? TransferError(.magicMismatch, "not it") : nil
        }
        desk.submit(.copy(.init(TaskIndex(raw: 1), from: tree.path("source"), destination, maximum: nil)))
        guard case .failed(_, let error) = try desk.next() else {
            Issue.record("published")
            return
        }
        #expect(error.name == .magicMismatch)
        #expect(tree.list() == ["source"])
    }
}

extension Result where Failure == TransferError {
    fileprivate var failureName: ErrorName? { if case .failure(let error) = self { error.name } else { nil } }
}
