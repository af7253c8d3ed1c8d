import Codecs
import TestSupport
import Testing
import TransferModel

@Suite struct DecoderFuzzTests {
    @Test(arguments: Packer.all) func roundTripsInPiecesOfAnySize(packer: Packer) {
        var random = Seeded("roundTripsInPiecesOfAnySize, \(packer.name)")
        for _ in 0..<Rounds.scaled(40) {
            let content = random.content(upTo: 1 << random.below(19))
            let most = 1 << random.below(17)
            let result = Unpacked(packer.pack(content), packer.coding, pieceLength: { 1 + random.below(most) })
            #expect(result.failure == nil)
            #expect(result.bytes == content)
        }
    }

    @Test func chainsComeBack() {
        var random = Seeded("chainsComeBack")
        for _ in 0..<Rounds.scaled(40) {
            let content = random.content(upTo: 20_000)
            let packers = (0...random.below(4)).map { _ in random.pick(Packer.all) }
            let packed = packers.reduce(content) { $1.pack($0) }
            let most = 1 << random.below(12)
            let result = Unpacked(
                packed, codings: packers.map(\.coding), pieceLength: { 1 + random.below(most) })
            #expect(result.failure == nil, "\(packers.map(\.name))")
            #expect(result.bytes == content)
        }
    }

    /// Whatever comes: an end, within bounds; and where there is a sum inside, never other bytes than those packed.
    @Test(arguments: Packer.all) func damageNeverPassesForTheBody(packer: Packer) {
        var random = Seeded("damageNeverPassesForTheBody, \(packer.name)")
        for _ in 0..<Rounds.scaled(300) {
            let content = random.content(upTo: 4_000)
            var packed = packer.pack(content)
            damage(&packed, &random)
            let most = 1 << random.below(12)
            let bounds = SizeBounds(maximum: 1 << 20)
            let result = Unpacked(packed, packer.coding, bounds: bounds, pieceLength: { 1 + random.below(most) })
            #expect(result.bytes.count <= 1 << 20)
            if let failure = result.failure {
                #expect([.cannotDecodeRawData, .dataLengthExceedsMaximum].contains(failure.name))
            } else if packer.hasSum, !packed.isEmpty {
                // A damaged header may cut a stream into a shorter one only together with its sum.
                #expect(result.bytes == content)
            }
            // The same whatever the pieces.
            let again = Unpacked(packed, packer.coding, bounds: bounds)
            #expect((again.failure == nil) == (result.failure == nil))
            if result.failure == nil { #expect(again.bytes == result.bytes) }
        }
    }

    @Test func noiseIsNoBody() {
        var random = Seeded("noiseIsNoBody")
        for _ in 0..<Rounds.scaled(300) {
            let noise = random.bytes(1 + random.below(5_000))
            let coding = random.pick(ContentCoding.allCases)
            let result = Unpacked(noise, coding, bounds: SizeBounds(maximum: 1 << 20))
            #expect(result.bytes.count <= 1 << 20)
            if [.gzip, .zstd, .xz].contains(coding) { #expect(result.failure?.name == .cannotDecodeRawData) }
        }
    }

    private func damage(_ bytes: inout [UInt8], _ random: inout Seeded) {
        for _ in 0...random.below(3) {
            guard !bytes.isEmpty else { return }
            let place = random.below(bytes.count)
            switch random.below(5) {
            case 0: bytes[place] ^= 1 << UInt8(random.below(8))
            case 1: bytes[place] = UInt8(random.below(256))
            case 2: bytes.removeLast(bytes.count - place)
            case 3: bytes.remove(at: place)
            default: bytes.insert(UInt8(random.below(256)), at: place)
            }
        }
    }
}
