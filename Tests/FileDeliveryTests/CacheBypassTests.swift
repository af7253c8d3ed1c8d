import FileDelivery
import TestSupport
import Testing
import TransferModel

/// When what is written stays in the system's memory.
struct CacheBypassTests {
    private static let piece = 256 << 10
    private static let pages = piece / 4096

    /// What a piece takes where a page costs so much.
    private static func price(_ page: TimeSpan) -> TimeSpan {
        TimeSpan(nanoseconds: page.nanoseconds * Int64(pages))
    }
    private static let cheap = price(.microseconds(2))
    private static let dear = price(.microseconds(10))
    private static let slowDisk = price(.microseconds(40))

    /// What is weighed before memory is called dear: three times 512 KiB.
    private static let looked = 3 * 512 << 10

    /// One that found memory dear.
    private func weighed() -> CacheBypass {
        var bypass = CacheBypass()
        for _ in 0..<Self.looked / Self.piece { bypass.wasKept(Self.piece, took: Self.dear) }
        return bypass
    }

    @Test func whatCostsLittleIsKept() {
        var bypass = CacheBypass()
        for _ in 0..<1_000 {
            #expect(bypass.way(Self.piece) == .kept)
            bypass.wasKept(Self.piece, took: Self.cheap)
        }
    }

    @Test func whereMemoryIsDearerThanTheDiskNothingStays() {
        var bypass = CacheBypass()
        for _ in 0..<Self.looked / Self.piece {
            #expect(bypass.way(Self.piece) == .kept, "less than three windows say nothing")
            bypass.wasKept(Self.piece, took: Self.dear)
        }
        #expect(bypass.way(Self.piece) == .proving)
        #expect(bypass.way(CacheBypass.smallest - 1) == .kept, "the disk is not asked for short pieces")
        bypass.proved(Self.piece, took: Self.cheap)
        #expect(bypass.way(Self.piece) == .passing)
        #expect(bypass.way(CacheBypass.smallest) == .passing)
        #expect(bypass.way(CacheBypass.smallest - 1) == .kept)
    }

    /// An interrupt counts as the thread's own time.
    @Test func whatIsDearNowAndThenIsKept() {
        var bypass = CacheBypass()
        for window in 0..<900 {
            for _ in 0..<2 {
                #expect(bypass.way(Self.piece) == .kept)
                bypass.wasKept(Self.piece, took: window % 3 == 2 ? Self.cheap : Self.dear)
            }
        }
    }

    /// Memory may be at hand by then, and the disk may be fast for a while only.
    @Test(arguments: [true, false]) func bothAreLookedAtAgain(memoryIsDear: Bool) {
        var bypass = weighed()
        bypass.proved(Self.piece, took: Self.cheap)
        var passed = 0
        while bypass.way(Self.piece) == .passing {
            bypass.passed(Self.piece)
            passed += Self.piece
        }
        #expect(passed == 64 << 20)
        for _ in 0..<Self.looked / Self.piece {
            #expect(bypass.way(Self.piece) == .kept)
            bypass.wasKept(Self.piece, took: memoryIsDear ? Self.dear : Self.cheap)
        }
        #expect(bypass.way(Self.piece) == (memoryIsDear ? .proving : .kept))
        for _ in 0..<3 { bypass.proved(Self.piece, took: Self.slowDisk) }
        #expect(bypass.way(Self.piece) == .kept)
    }

    /// Each piece that passes goes to the disk by itself: of short ones memory has to be dearer for that.
    @Test(arguments: [(64 << 10, 7, false), (64 << 10, 9, true), (256 << 10, 7, true), (256 << 10, 5, false)])
    func shortPiecesAreKeptForLonger(count: Int, microseconds: Int64, passes: Bool) {
        var bypass = CacheBypass()
        for _ in 0..<Self.looked / count {
            bypass.wasKept(count, took: .microseconds(microseconds * Int64(count / 4096)))
        }
        #expect((bypass.way(count) == .proving) == passes)
    }

    /// Each look costs what the disk takes.
    @Test func aSlowDiskIsLeftAloneForLongerAndLonger() {
        var bypass = CacheBypass()
        var rests: [Int] = []
        for _ in 0..<8 {
            var kept = 0
            while bypass.way(Self.piece) == .kept {
                bypass.wasKept(Self.piece, took: Self.dear)
                kept += Self.piece
            }
            rests.append((kept - Self.looked) >> 20)
            for _ in 0..<3 {
                #expect(bypass.way(Self.piece) == .proving, "a busy processor may have made it slow")
                bypass.proved(Self.piece, took: Self.slowDisk)
            }
        }
        #expect(rests == [0, 32, 64, 128, 256, 512, 1024, 1024])
    }

    /// A short piece is no worse for the way to the disk and back.
    @Test func theDisksLatencyIsNoSlowness() {
        var bypass = weighed()
        bypass.proved(64 << 10, took: .microseconds(350))
        #expect(bypass.way(64 << 10) == .passing)
    }

    @Test func whoDoesNotKnowHowIsNotAskedAgain() {
        var bypass = weighed()
        bypass.isUnknown()
        for _ in 0..<2_000 {
            #expect(bypass.way(Self.piece) == .kept)
            bypass.wasKept(Self.piece, took: Self.dear)
        }
    }

    /// In any order of costs: nothing passes that was not proved within the last 64 MiB, and nothing short ever.
    @Test func whatPassesWasProved() {
        var random = Seeded("whatPassesWasProved")
        for _ in 0..<Rounds.scaled(50) {
            var bypass = CacheBypass()
            var sinceProof: Int?
            for _ in 0..<3_000 {
                let count = random.pick([1, 4096, 64 << 10, 100_000, 256 << 10])
                let took = TimeSpan(nanoseconds: Int64(random.below(40_000) * max(1, count / 4096)))
                let way = bypass.way(count)
                if count < CacheBypass.smallest { #expect(way == .kept) }
                switch way {
                case .kept: if count >= CacheBypass.smallest { bypass.wasKept(count, took: took) }
                case .passing:
                    #expect((sinceProof ?? .max) < 64 << 20)
                    sinceProof? += count
                    bypass.passed(count)
                case .proving:
                    bypass.proved(count, took: took)
                    sinceProof = bypass.way(count) == .passing ? 0 : nil
                }
            }
        }
    }
}
