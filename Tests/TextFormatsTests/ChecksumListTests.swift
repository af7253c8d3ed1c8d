import TestSupport
import Testing
import TextFormats
import TransferModel

struct ChecksumListTests {
    private static let md5 = "900150983cd24fb0d6963f7d28e17f72"
    private static let other = "d41d8cd98f00b204e9800998ecf8427e"
    private static let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    private static let long = String(repeating: "ab", count: 64)

    private func found(_ text: String, _ entry: String, _ algorithm: DigestAlgorithm? = nil) -> String {
        do throws(ChecksumList.Problem) {
            return try ChecksumList(Array(text.utf8)).checksum(of: entry, algorithm).description
        } catch {
            switch error {
            case .noLine: return "none"
            case .severalLines(let count): return "\(count)"
            }
        }
    }

    @Test(arguments: [
        "\(md5)  a.txt\n\(other)  b.txt\n", "\(md5) *a.txt", "MD5 (a.txt) = \(md5)\r\n", "\u{FEFF}\(md5)  a.txt",
        "\(md5.uppercased())  a.txt", "\(md5)  ./a.txt", "\(md5)  deep/in/a.txt\n\(other)  xa.txt", "\(md5)",
        " \(md5) \n\n",
        "# made today\n\(md5)  a.txt",
        "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n\(md5)  a.txt\n-----END-----",
        "\(md5)  a.txt\n\(md5) *a.txt\n", "\(md5)  a.txt\n\(other)  old/a.txt",
        "\(md5) a.txt\n\(other) b.txt", "\(md5)\ta.txt", "MD5(a.txt)= \(md5)", "MD5(a.txt)=\(md5)",
        "MD5 (a.txt)= \(md5)", "MD5 (a.txt) =\(md5)", "md5 (a.txt)  =  \(md5)\n\(other) b.txt",
    ]) func aLineOfAnyKind(_ text: String) {
        #expect(found(text, "a.txt") == "md5:\(Self.md5)")
    }

    @Test(arguments: [
        "", "\n", "\(md5)  b.txt", "\(md5)   a.txt", "\(md5)a.txt", "\(md5)* a.txt",
        "\(md5.dropLast())  a.txt", "\(md5)0  a.txt", "x\(md5)  a.txt",
        "MD5 (a.txt) = \(sha256)",
        "SHA3 (a.txt) = \(sha256)", "MD5 (a.txt) \(md5)", "MD5 (a.txt) x= \(md5)", "MD5 () = \(md5)",
        "MD5 a.txt = \(md5)", "\(md5)  \n\(other)  b",
        "\(md5)\n\(md5)\n",
        "\(md5)  a.txt.asc", "\(md5)  A.txt", "\(md5)  ba.txt",
    ]) func noLine(_ text: String) {
        #expect(found(text, "a.txt") == "none")
    }

    /// Debian's `Release`: each file once for each algorithm, under its path.
    @Test func releaseFile_hasTheStrongestUnlessOneIsNamed() {
        let other = String(repeating: "cd", count: 32)
        let text = """
            Origin: Debian
            Suite: stable
            MD5Sum:
             \(Self.md5)     1234 main/binary-amd64/Packages.gz
             \(Self.other)    99 main/binary-arm64/Packages.gz
            SHA256:
             \(Self.sha256)     1234 main/binary-amd64/Packages.gz
             \(other)    99 main/binary-arm64/Packages.gz
            """
        let entry = "main/binary-amd64/Packages.gz"
        #expect(found(text, entry) == "sha256:\(Self.sha256)")
        #expect(found(text, entry, .md5) == "md5:\(Self.md5)")
        #expect(found(text, entry, .sha512) == "none")
        // Two files end in this.
        #expect(found(text, "Packages.gz") == "2")
        #expect(found(text, "binary-arm64/Packages.gz") == "sha256:\(other)")
        let line = ChecksumList.Line(Array(" \(Self.md5) 12 a/b".utf8))
        #expect(line?.size == 12 && line.map { String(decoding: $0.name, as: UTF8.self) } == "a/b")
    }

    @Test func severalLines() {
        #expect(found("\(Self.md5)  a\n\(Self.other)  a\n", "a") == "2")
        #expect(found("\(Self.md5)  x/a\n\(Self.other)  y/a\n", "a") == "2")
        #expect(found("\(Self.md5)  x/a\n\(Self.other)  y/a\n", "y/a") == "md5:\(Self.other)")
        #expect(found("\(Self.md5)  x/y/a\n\(Self.other)  z/a\n", "y/a") == "md5:\(Self.md5)")
    }

    /// Which of several is meant the place tells that the file is at.
    @Test(
        arguments: [
            ("/d/a", nil, "d/a"), ("/x/d/a", nil, "d/a"), ("/a", nil, "a"), ("/x/a", nil, "a"),
            ("/e/d/a", nil, "e/d/a"),
            ("/d/a", "/SUMS", "d/a"), ("/d/a", "/d/SUMS", "a"), ("/d/d/a", "/d/SUMS", "d/a"),
            ("/e/d/a", "/e/SUMS", "d/a"),
            ("/d/a", "/other/SUMS", "d/a"), ("/d//a", "/d/SUMS", "a"),
        ] as [(String, String?, String)]) func theLongestPathCounts(
            _ path: String, _ list: String?, _ name: String
        ) throws
    {
        let hashes = ["a": Self.md5, "d/a": Self.other, "e/d/a": String(repeating: "3", count: 32)]
        let text = hashes.map { "\($1)  \($0 == "a" ? "./a" : $0)\n" }.joined()
        let fuller = ChecksumList.fullerNames(of: path, listAt: list)
        let found = try ChecksumList(Array(text.utf8)).checksum(of: "a", fuller: fuller, nil)
        #expect(found.description == "md5:\(hashes[name] ?? "")")
    }

    @Test func theAlgorithmChooses() {
        let both = "MD5 (a) = \(Self.md5)\nSHA256 (a) = \(Self.sha256)\n"
        #expect(found(both, "a") == "2")
        #expect(found(both, "a", .sha256) == "sha256:\(Self.sha256)")
        #expect(found(both, "a", .sha1) == "none")
        #expect(found("\(Self.long)  a", "a") == "sha512:\(Self.long)")
        #expect(found("\(Self.long)  a", "a", .blake2b) == "blake2b:\(Self.long)")
        #expect(found("SHA512 (a) = \(Self.long)", "a", .blake2b) == "none")
        #expect(found(Self.long, "a", .blake2b) == "blake2b:\(Self.long)")
        #expect(found(Self.md5, "a", .sha256) == "none")
    }

    @Test func escapedNames() {
        #expect(found("\\\(Self.md5)  a\\nb\\\\c\\r", "a\nb\\c\r") == "md5:\(Self.md5)")
        #expect(found("\(Self.md5)  a\\nb", "a\\nb") == "md5:\(Self.md5)")
        #expect(found("MD5 (a (1) = b) = \(Self.md5)", "a (1) = b") == "md5:\(Self.md5)")
    }

    /// What is written as such a list is read back, whatever the names are.
    @Test func listsComeBack() {
        var random = Seeded("listsComeBack")
        let pieces = ["a", "b", " ", "  ", "*", "(", ")", " = ", "\\", "\n", "é", "#", ".", "/", "%", "MD5"]
        for _ in 0..<Rounds.scaled(500) {
            var sums: [String: String] = [:]
            for _ in 0..<random.below(6) {
                let name = "f" + (0..<random.below(6)).map { _ in random.pick(pieces) }.joined() + "z\(sums.count)"
                sums[name] = String(Checksum(algorithm: .md5, bytes: random.bytes(16)).description.dropFirst(4))
            }
            let isBSD = random.oneIn(2)
            let lines = sums.filter { !isBSD || !$0.key.contains("\n") }.map { name, sum in
                if isBSD { return "MD5 (\(name)) = \(sum)" }
                let escaped = name.reduce(into: "") { text, character in
                    switch character {
                    case "\\": text += "\\\\"
                    case "\n": text += "\\n"
                    default: text.append(character)
                    }
                }
                return (escaped == name ? "" : "\\") + "\(sum) \(random.oneIn(2) ? " " : "*")\(escaped)"
            }
            let text = lines.joined(separator: "\n")
            for (name, sum) in sums where !isBSD || !name.contains("\n") {
                #expect(found(text, name) == "md5:\(sum)", "\(text)")
            }
        }
    }

    @Test func hostileText() {
        var random = Seeded("hostileChecksums")
        let pieces = [
            Self.md5, Self.sha256, "  ", " *", "a", "/", "\\", "MD5 (", ") = ", "\n", "\r", "\u{FEFF}", "#", "é",
        ]
        for _ in 0..<Rounds.scaled(3_000) {
            var bytes = Array((0..<random.below(12)).map { _ in random.pick(pieces) }.joined().utf8)
            if random.oneIn(5) { bytes += random.bytes(random.below(40)) }
            let list = ChecksumList(bytes)
            for algorithm in [nil, DigestAlgorithm.md5, .sha512] {
                let entry = random.pick(pieces)
                guard let checksum = try? list.checksum(of: entry, algorithm) else { continue }
                #expect(checksum.bytes.count == checksum.algorithm.byteCount)
                if let algorithm { #expect(checksum.algorithm == algorithm) }
            }
        }
    }
}
