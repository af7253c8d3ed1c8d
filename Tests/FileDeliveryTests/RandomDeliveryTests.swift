import FileDelivery
import SystemIO
import TestSupport
import Testing
import TransferModel

/// Random orders, interleaved over several stagings, against a dictionary.
struct RandomDeliveryTests {
    private struct Open {
        let id: StagingID
        let path: String
        var content: [UInt8] = []
    }

    @Test(arguments: [false, true], [1, 3])
    func theTreeIsWhatTheModelSays(lacksUnnamedFiles: Bool, threads: Int) throws {
        var random = Seeded("theTreeIsWhatTheModelSays")
        for round in 0..<Rounds.scaled(20) {
            let tree = try TemporaryTree("random")
            let desk = try Desk(lacksUnnamedFiles: lacksUnnamedFiles, run: "r\(round)", threads: threads)
            var files: [String: [UInt8]] = [:]
            var open: [Open] = []
            for _ in 0..<60 {
                if open.isEmpty || random.oneIn(3) {
                    open.append(Open(id: desk.staging(), path: random.pick(["a", "b", "d/a", "d/e/b", "x/y/z"])))
                }
                let place = random.below(open.count)
                switch random.below(5) {
                case 0:
                    desk.submit(.discard(open.remove(at: place).id))
                case 1, 2:
                    let piece = random.bytes(random.below(300))
                    open[place].content += piece
                    let folder = Destination(path: tree.path(open[place].path)).folder
                    desk.submit(
                        .append(
                            .init(open[place].id, BodyPlacement(folder), desk.piece(piece, pooled: random.oneIn(2)))))
                default:
                    try publish(open.remove(at: place), tree, desk, &files, &random)
                }
            }
            desk.finish()
            let contents = try tree.contents().filter { !$0.key.hasSuffix("/") }
            #expect(contents == files)
        }
    }

    private func publish(
        _ open: Open, _ tree: TemporaryTree, _ desk: Desk, _ files: inout [String: [UInt8]], _ random: inout Seeded
    ) throws {
        var destination = Destination(path: tree.path(open.path))
        destination.existing = random.pick(ExistingPolicy.allCases)
        let old = files[open.path]
        // Often what is there already, so that sameness is met too.
        let isSame = open.content.isEmpty && old != nil && random.oneIn(2)
        let rest = isSame ? old ?? [] : random.bytes(random.below(50))
        let content = open.content + rest
        desk.submit(
            .publish(
                .init(
                    TaskIndex(raw: 1), open.id, destination, rest: desk.piece(rest, pooled: random.oneIn(2)),
                    lengthUnverified: false)))
        switch (try desk.outcome(), destination.existing) {
        case (.failure(let error), .fail): #expect(old != nil && error.name == .destinationExists)
        case (.failure(let error), _): Issue.record("\(error)")
        case (.success(let record), .skip) where old != nil:
            #expect(!record.changed && record.bytes == Int64(old?.count ?? -1))
        case (.success(let record), let existing):
            #expect(existing != .fail || old == nil)
            #expect(record.changed == (old != content) && record.bytes == Int64(content.count))
            files[open.path] = content
        }
    }
}
