import Digests
import TestSupport
import Testing

@Suite struct Ed25519Tests {
    /// The tests 1 to 3 of RFC 8032, section 7.1.
    private static let vectors: [(key: String, bytes: String, signature: String)] = [
        (
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
        ),
        (
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
        ),
        (
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
        ),
    ]

    private func bytes(_ hex: String) -> [UInt8] {
        var rest = hex[...]
        var bytes: [UInt8] = []
        while !rest.isEmpty {
            bytes.append(UInt8(rest.prefix(2), radix: 16)!)
            rest = rest.dropFirst(2)
        }
        return bytes
    }

    @Test func thePublishedSignaturesFit() throws {
        for vector in Self.vectors {
            #expect(
                try Ed25519.isValid(bytes(vector.signature), of: bytes(vector.bytes), key: bytes(vector.key)))
        }
    }

    @Test func oneBitMakesAnother() throws {
        var random = Seeded("oneBitMakesAnother")
        for vector in Self.vectors {
            let (signature, signed, key) = (bytes(vector.signature), bytes(vector.bytes), bytes(vector.key))
            for _ in 0..<Rounds.scaled(40) {
                var parts = [signature, signed, key]
                let part = random.pick(parts.indices.filter { !parts[$0].isEmpty })
                parts[part][random.below(parts[part].count)] ^= 1 << random.below(8)
                #expect(try !Ed25519.isValid(parts[0], of: parts[1], key: parts[2]))
            }
        }
    }

    @Test func wrongLengthsAreNoSignature() throws {
        let vector = Self.vectors[1]
        let (signature, signed, key) = (bytes(vector.signature), bytes(vector.bytes), bytes(vector.key))
        #expect(try !Ed25519.isValid(Array(signature.dropLast()), of: signed, key: key))
        #expect(try !Ed25519.isValid(signature + [0], of: signed, key: key))
        #expect(try !Ed25519.isValid([], of: signed, key: key))
        #expect(try !Ed25519.isValid(signature, of: signed, key: Array(key.dropLast())))
        #expect(try !Ed25519.isValid(signature, of: signed, key: []))
    }
}
