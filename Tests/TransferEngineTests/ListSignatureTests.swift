import TestSupport
import Testing
import TextFormats
import TransferModel

@testable import TransferEngine

/// A checksum file counts once its signature is found right.
@Suite struct ListSignatureTests {
    private static let sums = Array(MinisignSample.sums.utf8)

    private func required(_ key: String = MinisignSample.key) throws -> RequiredSignature {
        RequiredSignature(
            key: try #require(MinisignKey(base64: key)), url: try ResourceURL.parse("https://a.test/SUMS.minisig"))
    }

    private func problem(
        _ signature: [UInt8], of bytes: [UInt8] = sums, key: String = MinisignSample.key
    ) throws -> TransferError? {
        let required = try required(key)
        do throws(TransferError) {
            try required.check(signature, of: bytes, named: "the list")
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [MinisignSample.prehashed, MinisignSample.plain]) func whatMinisignSignedCounts(
        _ text: String
    ) throws {
        #expect(try problem(Array(text.utf8)) == nil)
        #expect(try problem(Array(text.split(separator: "\n").joined(separator: "\r\n").utf8)) == nil)
    }

    @Test func anotherKeyIsNamed() throws {
        let error = try #require(try problem(Array(MinisignSample.byAnother.utf8)))
        #expect(error.name == .signatureMismatch)
        #expect(
            error.message
                == "the signature https://a.test/SUMS.minisig was made with the key DF8FF51DF7531E52, "
                + "and the job asks for one of the key 559479A539F7AEFA")
        #expect(error.whatHelps(.download).contains("`signature.key`"))
        #expect(try problem(Array(MinisignSample.byAnother.utf8), key: MinisignSample.otherKey) == nil)
    }

    /// The id alone proves nothing.
    @Test func anotherKeyUnderTheSameIdDoesNotFit() throws {
        let other = try #require(Base64.decode(MinisignSample.otherKey))
        let own = try #require(Base64.decode(MinisignSample.key))
        let forged = Base64.encode(own.prefix(10) + other.dropFirst(10))
        let error = try #require(try problem(Array(MinisignSample.prehashed.utf8), key: forged))
        #expect(error.message.contains("does not fit the list"))
    }

    @Test(arguments: [MinisignSample.prehashed, MinisignSample.plain]) func anotherFileDoesNotFit(
        _ text: String
    ) throws {
        for bytes in [[], Array(Self.sums.dropLast()), Self.sums + [0x0A], [0] + Self.sums.dropFirst()] {
            let error = try #require(try problem(Array(text.utf8), of: bytes))
            #expect(error.name == .signatureMismatch)
            #expect(
                error.message
                    == "the signature https://a.test/SUMS.minisig does not fit the list: "
                    + "one of the two was changed after it was signed")
        }
    }

    @Test func aChangedCommentIsNotTrusted() throws {
        let text = MinisignSample.prehashed.split(separator: "release 1").joined(separator: "release 2")
        let error = try #require(try problem(Array(text.utf8)))
        #expect(error.message.hasSuffix("was changed: its trusted comment is not the one signed"))
        // The comment of another signature of the same key, with the signature of that one.
        let (first, second) = (lines(MinisignSample.prehashed), lines(MinisignSample.plain))
        let mixed = [first[0], first[1], second[2], second[3]].joined(separator: "\n")
        #expect(try problem(Array(mixed.utf8))?.name == .signatureMismatch)
    }

    private func lines(_ text: String) -> [String] { text.split(separator: "\n").map { String($0) } }

    /// The form is no part of what is signed: it must not be possible to take one for the other.
    @Test func theFormsAreNotMistaken() throws {
        for (text, letters) in [(MinisignSample.prehashed, "RW"), (MinisignSample.plain, "RU")] {
            var lines = lines(text)
            lines[1] = letters + lines[1].dropFirst(2)
            #expect(try problem(Array(lines.joined(separator: "\n").utf8))?.name == .signatureMismatch)
        }
    }

    @Test func whatIsNoSignatureSaysWhy() throws {
        let error = try #require(try problem(Array("<!doctype html>\n".utf8)))
        #expect(error.name == .signatureMismatch)
        #expect(
            error.message
                == "https://a.test/SUMS.minisig is no minisign signature: it does not begin with `untrusted comment:`")
        #expect(error.whatHelps(.download).contains("`signature.url`"))
    }

    /// Damage anywhere but in the untrusted comment and after the fourth line is found.
    @Test func damageNeverPasses() throws {
        var random = Seeded("damageNeverPasses")
        for _ in 0..<Rounds.scaled(400) {
            let text = random.pick([MinisignSample.prehashed, MinisignSample.plain])
            var (signature, list) = (Array(text.utf8), Self.sums)
            if random.oneIn(4) {
                list[random.below(list.count)] ^= 1 << random.below(8)
            } else {
                let start = try #require(signature.firstIndex(of: 0x0A)) + 1
                let place = start + random.below(signature.count - 1 - start)
                signature[place] ^= 1 << random.below(8)
            }
            #expect(try problem(signature, of: list)?.name == .signatureMismatch)
        }
    }
}
