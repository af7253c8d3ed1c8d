import FileVerification
import SystemIO
import TestSupport
import Testing
import TextFormats
import TransferModel

/// Files against what is written of them, without a command line.
struct FileVerificationTests {
    private func reader(_ text: String, name: String = "SUMS", piece: Int = 7) -> ChecksumListReader {
        let bytes = Array(text.utf8)
        return ChecksumListReader(name: name, folder: "d") { (_, offset, into) throws(VerificationProblem) in
            let rest = bytes.dropFirst(Int(offset)).prefix(piece)
            into += rest
            return rest.count
        }
    }

    private func all(_ reader: ChecksumListReader) throws -> [String] {
        var found: [String] = []
        while let file = try reader.next() {
            found.append(
                "\(file.path) \(file.bytes.map { "\($0)" } ?? "-") \(file.checksum?.algorithm.rawValue ?? "-")")
        }
        return found
    }

    private let md5 = String(repeating: "ab", count: 16)

    @Test func aListIsReadInPieces() throws {
        let text = """
            -----BEGIN PGP SIGNED MESSAGE-----
            Hash: SHA256

            \(md5)  a
            MD5 (b) = \(md5)
             \(md5) 12 c/d
            \(md5) */abs
            no line
            -----BEGIN PGP SIGNATURE-----
            \(md5)  not-this
            -----END PGP SIGNATURE-----
            """
        for piece in [1, 7, 4096] {
            let list = reader(text, piece: piece)
            #expect(try all(list) == ["d/a - md5", "d/b - md5", "d/c/d 12 md5", "/abs - md5"])
            #expect(list.skipped == 1 && list.firstSkipped == 8)
        }
    }

    @Test func aBareHashBelongsToTheFileOfItsName() throws {
        #expect(try all(reader("\(md5)\n", name: "x/a.iso.md5")) == ["d/a.iso - md5"])
        #expect(throws: VerificationProblem.self) { try all(reader("\(md5)\n", name: "sums")) }
        #expect(throws: VerificationProblem.self) { try all(reader("")) }
        #expect(throws: VerificationProblem.self) { try all(reader("hello\n\(md5)\n")) }
    }

    /// No bytes whatever end in a trap, and pieces never change what is read.
    @Test func anyBytesAreAnswered() throws {
        var random = Seeded("listBytes")
        let parts = [
            md5, "  ", "*", "a", "\n", "\r\n", "\\", "(", ") = ", "MD5 ", "#", "\u{0}", "é", "-----BEGIN PGP SIGNED",
            "12",
        ]
        for _ in 0..<Rounds.scaled(2000) {
            let text = (0..<random.below(30)).map { _ in random.pick(parts) }.joined()
            let outcomes = [3, 4096].map { piece in (try? all(reader(text, name: "s.txt", piece: piece))) ?? ["none"] }
            #expect(outcomes[0] == outcomes[1], "\(text)")
        }
    }

    /// The order of the list holds whatever thread was first, and lists longer than the window are read whole.
    @Test func differencesComeInTheOrderOfTheList() throws {
        let tree = try TemporaryTree()
        let sum = try #require(Checksum("md5:b98b4f2ae1e3ad0f6e9e1bb6cc2e5bb2"))
        for index in 0..<40 { try tree.write("f\(index)", String(repeating: "x", count: index * 1000)) }
        let count = 40_000
        var next = 0
        var found: [String] = []
        let counts = FileVerifier(threads: 4).verify(
            next: { () -> ExpectedFile? in
                guard next < count else { return nil }
                defer { next += 1 }
                let name = next % 100 < 40 ? "f\(next % 100)" : "gone\(next)"
                return ExpectedFile(RawName(name), in: tree.path, bytes: nil, checksum: sum, task: "\(next)")
            }, found: { found.append($0.file.task ?? "") })
        #expect(counts.files == count && counts.differing == count)
        #expect(counts.differences == [.wrong: count / 100 * 40, .missing: count / 100 * 60])
        #expect(found == (0..<count).map { "\($0)" })
    }

    @Test func aRecordIsBelievedForTheSameFileAlone() throws {
        let tree = try TemporaryTree()
        try tree.write("f", "body")
        let sum = try #require(Checksum("md5:841a2d689ad86bd1611447453c22c6fc"))
        func verify(_ record: VerifiedFiles) -> VerificationCounts {
            var done = false
            return FileVerifier(threads: 1, record: record).verify(
                next: { () -> ExpectedFile? in
                    defer { done = true }
                    return done ? nil : ExpectedFile(RawName("f"), in: tree.path, bytes: 4, checksum: sum)
                }, found: { _ in })
        }
        let record = try VerifiedFiles(path: tree.path("record"))
        #expect(verify(record).right == 1)
        record.flush()
        #expect(verify(try VerifiedFiles(path: tree.path("record"))).remembered == 1)
        // The same content at the same place, written anew.
        try tree.write("f", "body")
        let again = verify(try VerifiedFiles(path: tree.path("record")))
        #expect(again.right == 1 && again.remembered == 0)
        try tree.write("record", [UInt8]("torn".utf8))
        #expect(verify(try VerifiedFiles(path: tree.path("record"))).remembered == 0)
    }
}
