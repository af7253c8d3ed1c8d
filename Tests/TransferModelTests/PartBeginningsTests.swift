import TestSupport
import Testing
import TransferModel

@Suite struct PartBeginningsTests {
    /// Few stay, the last among them, and none is far from the one before it, measured by how far it is from the end.
    @Test func theyAreCloserTogetherNearTheEnd() {
        var random = Seeded("theyAreCloserTogetherNearTheEnd")
        for _ in 0..<Rounds.scaled(20) {
            var beginnings = PartBeginnings()
            var size: Int64 = 0
            let step = 1 + random.below(1 << 20)
            for _ in 0..<(1 + random.below(2000)) {
                size += Int64(step / 2 + random.below(step))
                beginnings.add(PartFile.Beginning(size: size, sum: []))
                // One that is no longer is not kept.
                beginnings.add(PartFile.Beginning(size: size, sum: [1]))
            }
            let all = beginnings.all
            #expect(all.count <= PartBeginnings.most && all.last == PartFile.Beginning(size: size, sum: []))
            #expect(zip(all, all.dropFirst()).allSatisfy { $0.size < $1.size })
            for (one, next) in zip(all, all.dropFirst()) where one.size > 0 {
                // A cut anywhere between two costs at most so many times as much as what is behind it.
                #expect(
                    next.size - one.size <= 4 * (size - one.size)
                        && size - all[max(0, all.count - 2)].size <= Int64(8 * step))
            }
        }
    }

    @Test func aCutLeavesTheShorterOnes() {
        var beginnings = PartBeginnings([1, 5, 9].map { PartFile.Beginning(size: $0, sum: []) })
        beginnings.cut(at: 5)
        #expect(beginnings.all.map(\.size) == [1, 5])
    }
}
