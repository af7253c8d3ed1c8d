import BackgroundService
import Synchronization
import Testing

@Suite struct NewsBoardTests {
    private final class Bell: Sendable {
        private let count = Atomic<Int>(0)
        func ring() { count.add(1, ordering: .relaxed) }
        var rings: Int { count.load(ordering: .relaxed) }
    }

    /// Whoever follows waits for the end alone: it is told before the listener's pace allows, and wakes it.
    @Test func anEndIsToldAtOnce() {
        let bell = Bell()
        let board = NewsBoard { bell.ring() }
        _ = board.follow("a")
        board.events(of: "a", upTo: 7)
        #expect(bell.rings == 1 && !board.isHurried)
        #expect(board.takeNews(withProgress: true).events == ["a": 7])
        board.ended("a")
        #expect(bell.rings == 2 && board.isHurried)
        #expect(board.takeNews(withProgress: true).events == ["a": 7])
        #expect(!board.isHurried)
        board.ended("nobody follows it")
        #expect(bell.rings == 2 && !board.isHurried)
    }

    /// Nothing is kept of a run that is over once its last news went out, and the next of its name counts from the
    /// beginning.
    @Test(arguments: ["taken", "left", "begun anew", "followed no more"])
    func nothingIsKeptOfWhatIsOver(_ what: String) {
        let board = NewsBoard {}
        _ = board.follow("a")
        board.events(of: "a", upTo: 70)
        board.ended("a")
        board.forget("a")
        switch what {
        case "taken":
            #expect(board.takeNews(withProgress: true).events == ["a": 70])
            #expect(board.follow("a") == 0)
        case "left":
            // It has not gone out yet.
            #expect(board.follow("a") == 70)
        case "begun anew":
            board.events(of: "a", upTo: 1)
            #expect(board.takeNews(withProgress: true).events == ["a": 1])
            #expect(board.follow("a") == 1)
        default:
            board.unfollow("a")
            #expect(board.follow("a") == 0)
        }
    }
}
