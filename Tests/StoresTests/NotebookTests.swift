import Digests
import HTTPRules
import Stores
import SystemIO
import TestSupport
import Testing
import TransferModel

/// What a run notes of unfinished files, and what the next one makes of it after a kill.
@Suite struct NotebookTests {
    private static let boot: Int64 = 77

    private func noted(_ random: inout Seeded, _ folder: String = "/data", number: Int = 0) -> NotedPart {
        var record = full("/data/\(number)")
        record.folder = folder
        record.part = PartFile(name: "", size: 0, sum: [])
        record.point.offset = 0
        if random.oneIn(2) { record.point.sent = nil }
        if random.oneIn(2) { record.point.total = nil }
        return NotedPart(
            session: StoredSessionName(job: "nightly", name: "mirror"), destination: "\(folder)/f\(number)",
            isInFolder: false, record: record, askedAt: WallTime(nanoseconds: Int64(random.below(1 << 40))),
            boot: Self.boot)
    }

    private func note(_ random: inout Seeded, _ size: Int64) -> PartNote {
        var beyond: [Range<Int64>] = []
        var place = size
        for _ in 0..<random.below(6) {
            let start = place + 1 + Int64(random.below(1 << 20))
            place = start + 1 + Int64(random.below(1 << 20))
            beyond.append(start..<place)
        }
        let earlier = (0..<random.below(12)).map {
            PartFile.Beginning(size: Int64($0 + 1), sum: (0..<16).map { _ in UInt8(random.below(256)) })
        }
        return PartNote(
            part: PartFile(
                name: ".transfer-run-x-1", size: size, sum: (0..<16).map { _ in UInt8(random.below(256)) },
                earlier: earlier),
            identity: Int64(random.below(1 << 40)), beyond: beyond,
            final: random.oneIn(4)
                ? PartNote.Final(
                    name: "f", stamp: FileStamp(size: size, modifiedNanoseconds: 5, identity: 7)) : nil)
    }

    /// Whatever a kill or a power cut makes of the note under way, the one before it holds, or this one does.
    @Test func aTornNoteLeavesTheOneBefore() throws {
        var random = Seeded("aTornNoteLeavesTheOneBefore")
        for _ in 0..<Rounds.scaled(300) {
            let begun = noted(&random)
            let entry = UInt64(1 + random.below(1000))
            var page = [UInt8](repeating: UInt8(random.below(256)), count: NotebookPage.size)
            func put(_ bytes: [UInt8], at place: Int) {
                page.replaceSubrange(place..<(place + bytes.count), with: bytes)
            }
            put(try #require(NotebookPage.head(begun, entry: entry)), at: NotebookPage.head)
            #expect(NotebookPage.read(page[...]) == begun)
            var last: PartNote?
            for number in 1...UInt64(1 + random.below(6)) {
                last = note(&random, Int64(1 + random.below(1 << 30)))
                let bytes = try #require(NotebookPage.bytes(of: last.unsafelyUnwrapped, number: number, entry: entry))
                put(bytes, at: NotebookPage.place(ofNote: number))
                var expected = begun
                expected.note = last
                #expect(NotebookPage.read(page[...]) == expected)
                // The next one is torn.
                let next = note(&random, Int64(1 + random.below(1 << 30)))
                let torn = try #require(NotebookPage.bytes(of: next, number: number + 1, entry: entry))
                let (whole, place) = (page, NotebookPage.place(ofNote: number + 1))
                if random.oneIn(2) {
                    put(Array(torn.prefix(random.below(torn.count))), at: place)
                } else {
                    put(torn, at: place)
                    page[place + random.below(torn.count)] ^= UInt8(1 + random.below(255))
                }
                #expect(NotebookPage.read(page[...]) == expected)
                page = whole
            }
        }
    }

    /// A page is used again: what is left of the file before says nothing of the next.
    @Test func aNoteCountsForItsOwnFileAlone() throws {
        var random = Seeded("aNoteCountsForItsOwnFileAlone")
        var page = [UInt8](repeating: 0, count: NotebookPage.size)
        let bytes = try #require(NotebookPage.bytes(of: note(&random, 5), number: 9, entry: 1))
        page.replaceSubrange(NotebookPage.mostOfNote..<(NotebookPage.mostOfNote + bytes.count), with: bytes)
        let next = noted(&random)
        let head = try #require(NotebookPage.head(next, entry: 2))
        page.replaceSubrange(NotebookPage.head..<(NotebookPage.head + head.count), with: head)
        #expect(NotebookPage.read(page[...]) == next)
    }

    @Test func whatStandsThereDecides() {
        var random = Seeded("whatStandsThereDecides")
        var begun = noted(&random)
        let file = FileStamp(size: 900, modifiedNanoseconds: 5, identity: 7)
        #expect(begun.verdict(temporary: file, final: nil) == .lost)
        begun.note = PartNote(
            part: PartFile(name: ".transfer-run-x-1", size: 500, sum: Array(0..<16)), identity: 7, beyond: [600..<700])
        guard case .unfinished(let record) = begun.verdict(temporary: file, final: nil) else {
            Issue.record("it can be gone on with")
            return
        }
        #expect(record.part.size == 500 && record.point.offset == 500)
        #expect(record.part.scattered == PartFile.Scattered(ranges: [600..<700], identity: 7, boot: Self.boot))
        #expect(record.part.counting(in: Self.boot).scattered != nil)
        #expect(record.part.counting(in: Self.boot + 1).scattered == nil)
        #expect(begun.verdict(temporary: nil, final: file) == .lost)
        // It was given its name when the process died.
        begun.record.point.headers = HeaderBlock([("ETag", "\"1\"")])
        begun.note = PartNote(
            part: PartFile(name: ".transfer-run-x-1", size: 900, sum: Array(0..<16)), identity: 7,
            final: PartNote.Final(name: "f", stamp: file))
        guard case .finished(let kept, let path) = begun.verdict(temporary: nil, final: file) else {
            Issue.record("it is whole")
            return
        }
        #expect(path == "/data/f" && kept.file == file && kept.etag == "\"1\"" && kept.boot == Self.boot)
        for changed in [
            FileStamp(size: 901, modifiedNanoseconds: 5, identity: 7),
            FileStamp(size: 900, modifiedNanoseconds: 6, identity: 7),
            FileStamp(size: 900, modifiedNanoseconds: 5, identity: 8), nil,
        ] {
            #expect(begun.verdict(temporary: nil, final: changed) == .lost)
        }
        guard case .unfinished = begun.verdict(temporary: file, final: nil) else {
            Issue.record("it has its temporary name")
            return
        }
    }

    // MARK: From run to run

    /// A run's notebook of one file that lies in the folder.
    private func begin(_ tree: TemporaryTree, _ random: inout Seeded) throws -> (Notebook, NotebookEntry, PartNote) {
        try tree.write("data/.transfer-run-x-1", [UInt8](repeating: 1, count: 900))
        let notebook = try #require(Notebook(state: tree.path("state"), clock: Clocks.instant()))
        let entry = try #require(notebook.enter(noted(&random, tree.path("data"))))
        var note = note(&random, 800)
        note.final = nil
        entry.record(note)
        return (notebook, entry, note)
    }

    private func records(_ tree: TemporaryTree) throws -> [ResumeRecord] {
        let store = try Store.open(folder: tree.path("state"))
        guard let session = try store.existingSession(job: "nightly", name: "mirror") else { return [] }
        return Array(try store.resumeRecords(session).values)
    }

    @Test func theNextOpeningTakesOverWhatAKilledRunNoted() throws {
        var random = Seeded("theNextOpeningTakesOverWhatAKilledRunNoted")
        let tree = try TemporaryTree()
        var run: (Notebook, NotebookEntry, PartNote)? = try begin(tree, &random)
        // While the run lives, its notes are its own.
        #expect(try records(tree).isEmpty)
        let note = try #require(run?.2)
        run = nil
        let found = try #require(try records(tree).first)
        #expect(found.part.size == 800 && found.part.sum == note.part.sum && found.part.earlier == note.part.earlier)
        #expect(found.part.scattered?.ranges ?? [] == note.beyond)
        #expect(!tree.exists("state/notebooks"))
        // Once is enough.
        #expect(try records(tree) == [found])
    }

    @Test func whatIsCrossedOutIsNotTakenOver() throws {
        var random = Seeded("whatIsCrossedOutIsNotTakenOver")
        let tree = try TemporaryTree()
        var run: (Notebook, NotebookEntry, PartNote)? = try begin(tree, &random)
        // Another file is still under way when the process dies.
        _ = try #require(run?.0.enter(noted(&random, tree.path("data"), number: 2)))
        run?.1.crossOut()
        if let note = run?.2 { run?.1.record(note) }
        run = nil
        #expect(try records(tree).isEmpty)
    }

    @Test func aRunThatEndsLeavesNothing() throws {
        var random = Seeded("aRunThatEndsLeavesNothing")
        let tree = try TemporaryTree()
        let (notebook, entry, _) = try begin(tree, &random)
        entry.crossOut()
        notebook.close()
        #expect(!tree.exists("state/notebooks"))
    }

    @Test func damageCostsTheFileAndNothingElse() throws {
        var random = Seeded("damageCostsTheFileAndNothingElse")
        for _ in 0..<Rounds.scaled(20) {
            let tree = try TemporaryTree()
            var run: (Notebook, NotebookEntry, PartNote)? = try begin(tree, &random)
            let size = try #require(run?.2.part.size)
            run = nil
            let name = "state/notebooks/" + (try #require(tree.list("state/notebooks").first))
            var bytes = try tree.bytes(name)
            for _ in 0...random.below(40) { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
            if random.oneIn(2) { bytes.removeLast(random.below(bytes.count)) }
            try tree.write(name, bytes)
            for record in try records(tree) { #expect(record.part.size == size) }
        }
    }
}
