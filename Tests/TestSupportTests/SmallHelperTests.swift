import TestSupport
import Testing
import TransferModel

@Suite struct SmallHelperTests {
    @Test func treesListAndVanish() throws {
        var tree: TemporaryTree? = try TemporaryTree()
        let path = try #require(tree).path
        try tree?.write("a/b.txt", "hello", mode: 0o600)
        try tree?.write("c", [1, 2])
        try tree?.makeFolder("empty")
        try tree?.link("link", to: "c")
        #expect(tree?.list() == ["a/", "a/b.txt", "c", "empty/", "link@"])
        #expect(
            try tree?.contents()
                == ["a/": [], "a/b.txt": Array("hello".utf8), "c": [1, 2], "empty/": [], "link@": Array("c".utf8)])
        #expect(try tree?.contents("a") == ["b.txt": Array("hello".utf8)])
        #expect(tree?.mode("a/b.txt") == 0o600)
        #expect(try tree?.text("a/b.txt") == "hello")
        try tree?.setMode("a", 0o500)
        tree = nil
        #expect(throws: SystemFailure.self) { try TemporaryTree.bytes(at: path + "/c") }
    }

    @Test func seedsBringBackTheSameNumbers() {
        var one = Seeded(seed: 0)
        // The published first values of SplitMix64 from 0.
        #expect(one.next() == 0xE220_A839_7B1D_CDAF)
        #expect(one.next() == 0x6E78_9E6A_A1B9_65F4)
        var two = Seeded(seed: 7)
        var three = Seeded(seed: 7)
        #expect(two.bytes(33) == three.bytes(33))
    }

    @Test func theClockMovesOnlyWhenTold() {
        var clock = ManualClock()
        let start = clock.now
        clock.advance(.seconds(2))
        #expect(clock.instant - start.instant == .seconds(2))
        clock.suspendMachine(.seconds(10))
        #expect(clock.now.instant - start.instant == .seconds(2))
        #expect(clock.now.boot - start.boot == .seconds(12))
        #expect(clock.now.wall - start.wall == .seconds(12))
        clock.advance(to: start.instant)
        #expect(clock.now.instant - start.instant == .seconds(2))
    }

    @Test func snapshotsSayWhatDiffers() throws {
        try Snapshot.check("kept\n", "Golden/kept.txt")
        let problem = #expect(throws: Snapshot.Mismatch.self) { try Snapshot.check("keft\n", "Golden/kept.txt") }
        #expect(problem?.description == "differs from Golden/kept.txt:\nline 1:\n-kept\n+keft")
    }
}
