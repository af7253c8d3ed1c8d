import FileDelivery
import TestSupport
import Testing

@testable import TransferEngine

@Suite struct BodyCoalescerTests {
    private func bytes(of piece: BodyPiece) -> [UInt8] { piece.withBytes { Array($0) } }

    @Test func aShortBody_isHandedOverOnce() {
        var coalescer = BodyCoalescer()
        let pool = BufferPool()
        for piece in [[1, 2], [3]] as [[UInt8]] {
            piece.withUnsafeBytes { coalescer.append($0, from: pool) { _ in Issue.record("handed over too early") } }
        }
        #expect(coalescer.count == 3)
        let (rest, nothing) = (coalescer.takeRest(), coalescer.takeRest())
        #expect(bytes(of: rest) == [1, 2, 3] && nothing.count == 0 && coalescer.count == 0)
    }

    @Test(arguments: [true, false]) func aLongBody_comesInWholeBuffers(isAnnounced: Bool) {
        var coalescer = BodyCoalescer()
        let pool = BufferPool()
        if isAnnounced { coalescer.reserve(Int64(3 * BodyBuffer.capacity), from: pool) }
        let piece = [UInt8](repeating: 7, count: BodyBuffer.capacity / 2 + 1)
        var handed: [Int] = []
        for _ in 0..<5 {
            piece.withUnsafeBytes { bytes in coalescer.append(bytes, from: pool) { handed.append($0.count) } }
        }
        #expect(handed == [BodyBuffer.capacity, BodyBuffer.capacity])
        #expect(coalescer.count == 5 * piece.count - 2 * BodyBuffer.capacity)
    }

    @Test func whateverThePieces_theBytesStayInOrder() {
        var random = Seeded("BodyCoalescerTests.whateverThePieces")
        for _ in 0..<Rounds.scaled(5) {
            var coalescer = BodyCoalescer()
            let pool = BufferPool()
            var (sent, taken): ([UInt8], [UInt8]) = ([], [])
            if random.oneIn(2) { coalescer.reserve(Int64(random.below(1 << 20)), from: pool) }
            for number in 0..<random.below(12) {
                let piece = [UInt8](repeating: UInt8(number), count: random.below(700_000))
                sent += piece
                piece.withUnsafeBytes { whole in
                    coalescer.append(whole, from: pool) { taken += bytes(of: $0) }
                }
                #expect(taken.count + coalescer.count == sent.count)
            }
            taken += bytes(of: coalescer.takeRest())
            #expect(taken == sent)
        }
    }
}
