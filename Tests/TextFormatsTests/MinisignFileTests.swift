import TestSupport
import Testing
import TextFormats
import TransferModel

@Suite struct MinisignFileTests {
    @Test func keysAreReadAsMinisignWritesThem() throws {
        let key = try #require(MinisignKey(base64: MinisignSample.key))
        #expect("\(key)" == MinisignSample.keyID)
        #expect(key.bytes.count == 32)
        for file in [
            MinisignSample.keyFile, MinisignSample.key, MinisignSample.key + "\n", MinisignSample.key + "\r\n",
            "untrusted comment: x\r\n\(MinisignSample.key)",
        ] {
            #expect(MinisignKey(file: Array(file.utf8)) == key)
        }
    }

    @Test(arguments: [
        "", "RW", MinisignSample.key + "=", String(MinisignSample.key.dropLast()), "A" + MinisignSample.key.dropFirst(),
        String(repeating: "A", count: 56), " " + MinisignSample.key.dropLast(),
    ]) func otherTextsAreNoKeys(_ text: String) {
        #expect(MinisignKey(base64: text) == nil)
    }

    @Test(arguments: ["", "\n", "untrusted comment: x", "untrusted comment: x\n", "x\n\(MinisignSample.key)"])
    func otherFilesHoldNoKey(_ text: String) {
        #expect(MinisignKey(file: Array(text.utf8)) == nil)
    }

    @Test(arguments: [(MinisignSample.prehashed, true), (MinisignSample.plain, false)])
    func signaturesAreReadAsMinisignWritesThem(_ text: String, isPrehashed: Bool) throws {
        let key = try #require(MinisignKey(base64: MinisignSample.key))
        let signature = try MinisignSignature(Array(text.utf8))
        #expect(signature.form == (isPrehashed ? .prehashed : .plain))
        #expect(signature.keyID == key.id)
        #expect(signature.trustedComment == Array("release 1".utf8))
        #expect(signature.signature.count == 64 && signature.global.count == 64)
        // Ends of lines as Windows has them, no end of the last line, and what follows the four lines.
        for other in [
            text.split(separator: "\n").joined(separator: "\r\n"), String(text.dropLast()), text + "more\n",
        ] {
            #expect(try MinisignSignature(Array(other.utf8)) == signature)
        }
    }

    @Test func whatIsWrongIsSaid() {
        let lines = MinisignSample.prehashed.split(separator: "\n").map { String($0) }
        func problem(_ lines: [String]) -> String? {
            do throws(MinisignSignature.Problem) {
                _ = try MinisignSignature(Array(lines.map { $0 + "\n" }.joined().utf8))
                return nil
            } catch {
                return error.words
            }
        }
        func changed(_ number: Int, _ text: String) -> [String] {
            var lines = lines
            lines[number] = text
            return lines
        }
        #expect(problem(lines) == nil)
        #expect(problem([]) == "it does not begin with `untrusted comment:`")
        #expect(problem(["<!doctype html>"]) == "it does not begin with `untrusted comment:`")
        #expect(problem(Array(lines.prefix(2))) == "it has 2 of 4 lines")
        #expect(problem(Array(lines.prefix(3))) == "it has 3 of 4 lines")
        #expect(problem(changed(1, "RUT6_")) == "its line 2 is not base64")
        #expect(problem(changed(1, "RUT6")) == "its line 2 has 3 bytes, not 74")
        #expect(problem(changed(1, "RWT" + lines[1].dropFirst(3))) == nil)
        #expect(problem(changed(1, "QUFB" + lines[1].dropFirst(4))) == "it is of a kind that only other programs know")
        #expect(problem(changed(2, "comment: release 1")) == "its line 3 is no `trusted comment:`")
        #expect(problem(changed(3, "AAAA")) == "its line 4 is not base64 of 64 bytes")
        #expect(problem(changed(3, "")) == "it has 3 of 4 lines")
        #expect(
            problem(changed(2, "trusted comment: " + String(repeating: "x", count: 16 << 10)))
                == "it is longer than 16 KiB")
    }

    /// Whatever comes is refused, or has the values of the right lengths that its text says.
    @Test func anythingIsReadOrRefused() {
        var random = Seeded("anythingIsReadOrRefused")
        var read = 0
        let rounds = Rounds.scaled(20_000)
        for _ in 0..<rounds {
            var bytes = Array(
                random.pick([MinisignSample.prehashed, MinisignSample.plain, MinisignSample.byAnother]).utf8)
            for _ in 0..<random.below(4) {
                let place = random.below(bytes.count)
                switch random.below(5) {
                case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
                case 1: bytes.insert(random.pick(Array("\n\r =A+/:".utf8)), at: place)
                case 2: bytes.remove(at: place)
                case 3: bytes.removeSubrange(place..<min(bytes.count, place + random.below(80)))
                default: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + random.below(200))], at: place)
                }
                if bytes.isEmpty { break }
            }
            guard let signature = try? MinisignSignature(bytes) else { continue }
            read += 1
            #expect(signature.keyID.count == 8 && signature.signature.count == 64 && signature.global.count == 64)
            #expect(!signature.trustedComment.contains(0x0A))
            // Written anew it is the same signature.
            let form: [UInt8] = signature.form == .plain ? [0x45, 0x64] : [0x45, 0x44]
            let lines = [
                Array("untrusted comment:".utf8),
                Array(Base64.encode(form + signature.keyID + signature.signature).utf8),
                Array("trusted comment: ".utf8) + signature.trustedComment, Array(Base64.encode(signature.global).utf8),
            ]
            #expect((try? MinisignSignature(Array(lines.joined(separator: [0x0A])))) == signature)
        }
        #expect(read > rounds / 10, "too few of them are signatures to prove much: \(read) of \(rounds)")
    }
}
