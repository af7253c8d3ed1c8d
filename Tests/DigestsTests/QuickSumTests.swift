import Digests
import TestSupport
import Testing

@Suite struct QuickSumTests {
    @Test func thePiecesDoNotMatter() throws {
        var random = Seeded("thePiecesDoNotMatter")
        for _ in 0..<Rounds.scaled(200) {
            let bytes = random.bytes(random.below(5000))
            let whole = try #require(QuickSum())
            bytes.withUnsafeBytes { whole.update($0) }
            let pieces = try #require(QuickSum())
            var rest = bytes[...]
            while !rest.isEmpty {
                let piece = Array(rest.prefix(1 + random.below(700)))
                piece.withUnsafeBytes { pieces.update($0) }
                rest = rest.dropFirst(piece.count)
                // Asking on the way changes nothing.
                _ = pieces.soFar
            }
            #expect(pieces.soFar == whole.soFar)
            #expect(whole.soFar.count == 16)
        }
    }

    @Test func everyBitCounts() throws {
        var random = Seeded("everyBitCounts")
        for _ in 0..<Rounds.scaled(200) {
            var bytes = random.bytes(1 + random.below(5000))
            let before = sum(bytes)
            bytes[random.below(bytes.count)] ^= 1 << UInt8(random.below(8))
            #expect(sum(bytes) != before)
            #expect(sum(bytes + [0]) != sum(bytes))
        }
    }

    /// Sums outlive the process and the version that made them.
    @Test func theSumIsTheSameForEver() {
        #expect(
            sum(Array("transfer-run".utf8)).map { Int($0) } == [
                190, 56, 105, 227, 247, 202, 41, 66, 206, 12, 141, 1, 106, 151, 58, 45,
            ])
    }

    private func sum(_ bytes: [UInt8]) -> [UInt8] {
        guard let sum = QuickSum() else { return [] }
        bytes.withUnsafeBytes { sum.update($0) }
        return sum.soFar
    }
}
