import Digests
import TestSupport
import Testing

@Suite struct QuickSumTests {
    @Test func thePiecesDoNotMatter() throws {
        var random = Seeded("thePiecesDoNotMatter")
        for _ in 0..<Rounds.scaled(200) {
            let bytes = random.bytes(random.below(5000))
            let whole = QuickSum()
            bytes.withUnsafeBytes { whole.update($0) }
            let pieces = QuickSum()
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

    /// Sums outlive the process and the version that made them. As `xxh128sum` has it.
    @Test func theSumIsTheSameForEver() {
        #expect(
            sum(Array("transfer-run".utf8)).map { Int($0) } == [
                42, 229, 95, 205, 206, 2, 19, 152, 111, 54, 11, 79, 66, 246, 119, 234,
            ])
        // Long ones go another way.
        let long = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        #expect(
            sum(long).map { Int($0) } == [
                223, 171, 137, 210, 249, 145, 233, 105, 208, 254, 237, 140, 198, 240, 35, 150,
            ])
    }

    private func sum(_ bytes: [UInt8]) -> [UInt8] {
        let sum = QuickSum()
        bytes.withUnsafeBytes { sum.update($0) }
        return sum.soFar
    }
}
