import SystemIO
import TestSupport
import Testing

struct MemoryTests {
    /// Whatever the lengths, and wherever both stand in their pages.
    @Test func copiesAsTheLibraryDoes() {
        var random = Seeded("copiesAsTheLibraryDoes")
        for _ in 0..<2000 {
            let source = random.bytes(random.below(9000))
            let before = random.bytes(random.below(70))
            let from = random.below(source.count + 1)
            let part = from..<from + random.below(source.count - from + 1)
            var appended = before
            source.withUnsafeBytes { appended.append(copying: .init(rebasing: $0[part])) }
            #expect(appended == before + source[part])
            let place = random.below(70)
            var target = [UInt8](repeating: 7, count: place + part.count + 70)
            target.withUnsafeMutableBytes { target in
                source.withUnsafeBytes { Memory.copy(.init(rebasing: $0[part]), to: target.baseAddress! + place) }
            }
            let expected = [UInt8](repeating: 7, count: place) + source[part] + [UInt8](repeating: 7, count: 70)
            #expect(target == expected)
        }
    }

    @Test func findsWhatDiffers() {
        var random = Seeded("findsWhatDiffers")
        for _ in 0..<500 {
            let bytes = random.bytes(1 + random.below(5000))
            var other = bytes
            #expect(Memory.areSame(bytes, other, first: bytes.count))
            let place = random.below(other.count)
            other[place] ^= 1
            #expect(!Memory.areSame(bytes, other, first: place + 1) && Memory.areSame(bytes, other, first: place))
        }
        #expect(Memory.areSame([], [], first: 0))
    }
}
