import Digests
import TestSupport
import Testing

@Suite struct SealedBytesTests {
    /// What the specification of GCM publishes for keys of 256 bits (McGrew and Viega, cases 13, 14 and 16).
    struct Vector: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let (key, nonce, text, purpose, sealed, tag): (String, String, String, String, String, String)
    }

    static let vectors = [
        Vector(
            testDescription: "13", key: String(repeating: "00", count: 32), nonce: String(repeating: "00", count: 12),
            text: "", purpose: "", sealed: "", tag: "530f8afbc74536b9a963b4f1c4cb738b"),
        Vector(
            testDescription: "14", key: String(repeating: "00", count: 32), nonce: String(repeating: "00", count: 12),
            text: String(repeating: "00", count: 16), purpose: "", sealed: "cea7403d4d606b6e074ec5d3baf39d18",
            tag: "d0d1c8a799996bf0265b98b5d48ab919"),
        Vector(
            testDescription: "16", key: String(repeating: "feffe9928665731c6d6a8f9467308308", count: 2),
            nonce: "cafebabefacedbaddecaf888",
            text: "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
                + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
            purpose: "feedfacedeadbeeffeedfacedeadbeefabaddad2",
            sealed: "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
                + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
            tag: "76fc6ece0f4e1768cddf8853bb2d551b"),
    ]

    private func bytes(_ hex: String) -> [UInt8] {
        let digits = Array(hex)
        return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0..<$0 + 2]), radix: 16) }
    }

    @Test(arguments: vectors) func meetsThePublishedVectors(_ vector: Vector) throws {
        let key = try #require(SealingKey(bytes(vector.key)))
        let sealed = SealedBytes.seal(
            bytes(vector.text), key: key, purpose: bytes(vector.purpose), nonce: bytes(vector.nonce))
        #expect(sealed == bytes(vector.nonce + vector.sealed + vector.tag))
        #expect(SealedBytes.open(sealed, key: key, purpose: bytes(vector.purpose)) == bytes(vector.text))
    }

    @Test func whatWasSealedComesBack() throws {
        var random = Seeded("whatWasSealedComesBack")
        for length in [0, 1, 15, 16, 17, 4_095, 100_000] + (0..<Rounds.scaled(50)).map({ _ in random.below(3_000) }) {
            let (text, purpose) = (random.bytes(length), random.bytes(random.below(50)))
            let key = SealingKey.random()
            let sealed = SealedBytes.seal(text, key: key, purpose: purpose)
            #expect(sealed.count == length + SealedBytes.overhead)
            #expect(SealedBytes.open(sealed, key: key, purpose: purpose) == text)
            #expect(length < 8 || sealed.firstRange(of: text) == nil)
            // The same again is other bytes, so that nobody sees that it is the same.
            #expect(SealedBytes.seal(text, key: key, purpose: purpose) != sealed)
        }
    }

    /// One bit anywhere, a byte more or fewer, another key, another purpose.
    @Test func whatWasTamperedWithDoesNotOpen() throws {
        var random = Seeded("whatWasTamperedWithDoesNotOpen")
        let key = SealingKey.random()
        let (text, purpose) = (random.bytes(60), random.bytes(20))
        let sealed = SealedBytes.seal(text, key: key, purpose: purpose)
        for place in sealed.indices {
            var changed = sealed
            changed[place] ^= 1 << UInt8(random.below(8))
            #expect(SealedBytes.open(changed, key: key, purpose: purpose) == nil, "byte \(place)")
            #expect(SealedBytes.open(Array(sealed.prefix(place)), key: key, purpose: purpose) == nil)
        }
        #expect(SealedBytes.open(sealed + [0], key: key, purpose: purpose) == nil)
        #expect(SealedBytes.open(sealed, key: .random(), purpose: purpose) == nil)
        for other in [[], Array(purpose.dropLast()), purpose + [0], Array(purpose.reversed())] {
            #expect(SealedBytes.open(sealed, key: key, purpose: other) == nil)
        }
    }

    @Test func aKeyHasALengthAndIsNotShown() throws {
        #expect(SealingKey([]) == nil && SealingKey([UInt8](repeating: 1, count: 31)) == nil)
        let key = try #require(SealingKey(Array(100..<132)))
        var dumped = ""
        dump(key, to: &dumped)
        #expect("\(key)" == "***" && !dumped.contains("101") && !String(reflecting: key).contains("101"))
        #expect(SealingKey.random() != SealingKey.random())
    }
}
