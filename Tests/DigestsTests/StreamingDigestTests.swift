import Digests
import TestSupport
import Testing
import TransferModel

@Suite struct StreamingDigestTests {
    /// By another way to the same.
    @Test(arguments: [0, 1, 55, 56, 63, 64, 119, 120, 1_000, 100_000, 512 << 10, 600_000]) func aMarkIsTheDigest(
        _ count: Int
    ) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        #expect(try Checksum.mark(of: bytes) == Checksum.of(bytes, .sha256))
    }

    /// FIPS 180-4, RFC 1321 and RFC 7693 publish these of "abc"; the others are of "" and of a million times "a".
    @Test(arguments: [
        ("sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "", 0),
        ("sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "abc", 1),
        (
            "sha256:248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1
        ),
        ("sha256:cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0", "a", 1_000_000),
        (
            "sha512:ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f", "abc", 1
        ),
        (
            "sha512:e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973eb"
                + "de0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b", "a", 1_000_000
        ),
        ("sha1:a9993e364706816aba3e25717850c26c9cd0d89d", "abc", 1),
        ("sha1:34aa973cd4c4daa4f61eeb2bdbad27316534016f", "a", 1_000_000),
        ("md5:d41d8cd98f00b204e9800998ecf8427e", "", 0),
        ("md5:900150983cd24fb0d6963f7d28e17f72", "abc", 1),
        ("md5:57edf4a22be3c955ac49da2e2107b67a", "1234567890", 8),
        (
            "blake2b:ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
                + "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923", "abc", 1
        ),
        (
            "blake2b:786a02f742015903c6c6fd852552d272912f4740e15847618a86e217f71f5419"
                + "d25e1031afee585313896444934eb04b903a685b1448b755d56f701afe9be2ce", "", 0
        ),
        ("xxh3:99aa06d3014798d86001c324468d497f", "", 0), ("xxh3:06b05ab6733a618578af5f94892f3950", "abc", 1),
    ])
    func meetsThePublishedVectors(expected: String, text: String, times: Int) throws {
        let name = try #require(expected.split(separator: ":").first)
        let algorithm = try #require(DigestAlgorithm(rawValue: String(name)))
        let bytes = Array(String(repeating: text, count: times).utf8)
        let checksum = try Checksum.of(bytes, algorithm)
        #expect(checksum.description == expected)
        #expect(checksum.bytes.count == algorithm.byteCount)
    }

    @Test func piecesMakeTheSameDigestWhereverTheyAreCut() throws {
        var random = Seeded("piecesMakeTheSameDigestWhereverTheyAreCut")
        for algorithm in DigestAlgorithm.allCases + [.xxh3] {
            let digest = try StreamingDigest(algorithm)
            for _ in 0..<Rounds.scaled(60) {
                let bytes = random.bytes(random.below(5000))
                digest.restart()
                var start = 0
                while start < bytes.count {
                    let end = min(bytes.count, start + random.below(random.oneIn(4) ? 2000 : 130))
                    digest.update(Array(bytes[start..<end]))
                    start = end
                }
                #expect(try digest.finish() == Checksum.of(bytes, algorithm))
            }
        }
    }

    @Test func oneByteMoreIsAnotherDigest() throws {
        for algorithm in DigestAlgorithm.allCases + [.xxh3] {
            #expect(try Checksum.of([1, 2, 3], algorithm) != Checksum.of([1, 2, 3, 0], algorithm))
        }
    }
}
