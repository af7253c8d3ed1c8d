import Glibc
import Stores
import Synchronization
import TestSupport
import Testing
import TransferModel

@Suite struct JournalWriterTests {
    private final class News: Sendable {
        private let all = Mutex<[JournalNews]>([])
        func add(_ news: JournalNews) { all.withLock { $0.append(news) } }
        var list: [JournalNews] { all.withLock { $0 } }

        func wait(for isIt: (JournalNews) -> Bool) -> Bool {
            for _ in 0..<10_000 {
                if list.contains(where: isIt) { return true }
                usleep(1000)
            }
            return false
        }
    }

    @Test func whatIsHandedOverIsWrittenInFewTransactions() throws {
        let tree = try TemporaryTree()
        let journal = try Journal.open(folder: tree.path)
        var story = JournalStory(seed: 9)
        let id = try journal.accept(JournalCase.run(), inputs: [], tasks: story.tasks)
        let news = News()
        let writer = try JournalWriter(folder: tree.path, run: id) { news.add($0) }
        let all = story.journalled(200)
        for _ in 0..<200 { writer.consume(story.batch()[...]) }
        #expect(writer.finish() == nil)
        #expect(try journal.events(of: id).map(\.sequence) == all.map(\.sequence))
        #expect(news.list.last == .written(upTo: all.last?.sequence ?? 0))
        #expect(news.list.count < 100)
    }

    /// Nobody has to say that it is the end: what lies there is written soon.
    @Test func whatLiesThereIsWrittenByItself() throws {
        let tree = try TemporaryTree()
        let journal = try Journal.open(folder: tree.path)
        let id = try journal.accept(JournalCase.run(), inputs: [], tasks: ["t"])
        let news = News()
        let writer = try JournalWriter(folder: tree.path, run: id) { news.add($0) }
        writer.consume([JournalCase.event(1, .taskCreated)])
        #expect(news.wait { $0 == .written(upTo: 1) })
        #expect(try journal.events(of: id).count == 1)
        #expect(writer.finish() == nil)
    }

    /// Whoever knows that no more comes need not wait for more; what comes all the same is due as ever.
    @Test func whenNoMoreComesItIsWrittenAtOnce() throws {
        let tree = try TemporaryTree()
        let journal = try Journal.open(folder: tree.path)
        let id = try journal.accept(JournalCase.run(), inputs: [], tasks: ["t"])
        let news = News()
        let writer = try JournalWriter(folder: tree.path, run: id, writeAfter: .seconds(600)) { news.add($0) }
        writer.writeNow()
        for sequence in 1...20 as ClosedRange<UInt64> {
            writer.consume([JournalCase.event(sequence, .taskCreated)])
            writer.writeNow()
            #expect(news.wait { $0 == .written(upTo: sequence) })
        }
        writer.consume([JournalCase.event(21, .taskCreated)])
        #expect(try journal.events(of: id).count == 20)
        #expect(writer.finish() == nil)
        #expect(try journal.events(of: id).count == 21)
    }

    /// What somebody waits for does not lie there until it is due.
    @Test func whatSomebodyWaitsForIsWrittenAtOnce() throws {
        let tree = try TemporaryTree()
        let journal = try Journal.open(folder: tree.path)
        let id = try journal.accept(JournalCase.run(), inputs: [], tasks: ["t"])
        let news = News()
        let writer = try JournalWriter(folder: tree.path, run: id, writeAfter: .seconds(600)) { news.add($0) }
        writer.hurry(upTo: 2)
        writer.consume([JournalCase.event(1, .taskCreated), JournalCase.event(2, .taskResumed)])
        #expect(news.wait { $0 == .written(upTo: 2) })
        // Others are in no hurry.
        writer.consume([JournalCase.event(3, .cacheStored)])
        usleep(200_000)
        #expect(news.list.last == .written(upTo: 2))
        #expect(writer.finish() == nil)
        #expect(try journal.events(of: id).map(\.sequence) == [1, 2, 3])
    }

    /// What cannot be written is told, kept, and written when it can be.
    @Test func whatFailsIsTriedAgain() throws {
        let tree = try TemporaryTree()
        let journal = try Journal.open(folder: tree.path("s"))
        let id = try journal.accept(JournalCase.run(), inputs: [], tasks: ["t"])
        try tree.setMode("s", 0o777)
        let news = News()
        let writer = try JournalWriter(folder: tree.path("s"), run: id) { news.add($0) }
        writer.consume([JournalCase.event(1, .taskCreated)])
        #expect(news.wait { if case .failed(let error) = $0 { error.kind == .notPrivate } else { false } })
        writer.consume([JournalCase.event(2, .cacheStored)])
        try tree.setMode("s", 0o700)
        #expect(news.wait { $0 == .written(upTo: 2) })
        #expect(writer.finish() == nil)
        #expect(try journal.events(of: id).map(\.sequence) == [1, 2])
    }

    /// A process that goes on may add tasks before it has told anything itself.
    @Test func tasksAreAddedAfterTheEventsOfAnEarlierProcess() throws {
        let tree = try TemporaryTree()
        let journal = try Journal.open(folder: tree.path)
        let id = try journal.accept(JournalCase.run(), inputs: [], tasks: ["t"])
        let earlier = try JournalWriter(folder: tree.path, run: id) { _ in }
        earlier.consume([JournalCase.event(1, .taskCreated)])
        #expect(earlier.finish() == nil)
        let writer = try JournalWriter(folder: tree.path, run: id, after: 1) { _ in }
        let isAdded = Mutex<Bool?>(nil)
        writer.extend(
            RunExtension(
                note: JournalInput(kind: "expansion", bytes: [1]), tasks: ["u"], after: 1, sequence: 1
            ) { added in isAdded.withLock { $0 = added } })
        #expect(happens { isAdded.withLock { $0 } == true })
        #expect(writer.finish() == nil)
        #expect(try journal.tasks(of: id) == ["t", "u"])
    }

    @Test func whatCannotBeWrittenAtTheEndIsAnError() throws {
        let tree = try TemporaryTree()
        let writer = try JournalWriter(folder: tree.path, run: RunID(raw: 5)) { _ in }
        writer.consume([JournalCase.event(1, .taskCreated)])
        #expect(writer.finish()?.description.contains("no run 5") == true)
    }
}
