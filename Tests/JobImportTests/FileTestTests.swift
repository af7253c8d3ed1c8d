import JobImport
import Testing

/// Tests of files around the transfers that make them: whether they are there, and whether they are right.
struct FileTestTests {
    private static let hash = String(repeating: "ab", count: 32)

    private static func expect(_ script: String, _ parts: [String], without absent: [String] = []) {
        let result = JobImportTests.translated(script + "\n")
        for part in parts { #expect(result.text.contains(part), "\(part)\n\(result.text)") }
        for part in absent { #expect(!result.text.contains(part), "\(part)\n\(result.text)") }
        #expect(JobImportTests.problems(result.text) == [], "\(result.text)")
    }

    // MARK: Whether a file is there

    @Test(arguments: [
        "[ -f x ] || curl -o x https://a.test/1", "[ -e x ] || wget -O x https://a.test/1",
        "test -f x || curl -O https://a.test/x", "[[ -f x ]] || curl -o ./x https://a.test/1",
        "[ ! -f x ] && curl -o x https://a.test/1", "! [ -f x ] && curl -o x https://a.test/1",
        "if [ ! -f x ]; then curl -o x https://a.test/1; fi",
        "if [ ! -e x ]\nthen\n  echo get\n  mkdir -p d\n  curl -o x https://a.test/1\n  echo got\nfi",
        "if ! test -f x; then\n  curl -fo x https://a.test/1 || exit 1\nfi",
        "if ! test -f x; then\n  curl -fo x https://a.test/1 || { echo no; exit 1; }\nfi",
        "if [ -f x ]; then echo there; else curl -o x https://a.test/1; fi",
        "[ -f x ] || curl -fo x https://a.test/1 || exit 1",
        "[ -f x ] || { echo get; curl -o x https://a.test/1; }",
        "get() { local u=\"$1\"; curl -fo \"$2\" \"$u\" || { echo no; exit 1; }; }\n[ -f x ] || get https://a.test/1 x",
        "get() { echo \"$1\"; curl -fo \"$2\" \"$1\"; }\n[ -f x ] || get https://a.test/1 x",
    ])
    func fileThatIsThere_isKept(_ script: String) {
        Self.expect(script, ["existing: skip", "to: "], without: ["left out", "is not translated"])
    }

    @Test func fileOfALoopOrAFolder_isKept() {
        Self.expect(
            "for n in a b; do [ -f \"d/$n\" ] || curl -o \"d/$n\" https://a.test/$n; done",
            ["to: \"d/${n}\"", "existing: skip"])
        Self.expect("cd d\n[ -f x ] || curl -O https://a.test/x", ["to: d/x", "existing: skip"])
    }

    @Test(arguments: [
        "[ -f y ] || curl -o x https://b.test/1", "[ -f x ] || curl https://b.test/1",
        "[ -s x ] || curl -o x https://b.test/1",
        "[ -f x ] && curl -o x https://b.test/1", "[ ! -f x ] || curl -o x https://b.test/1",
        "curl -o x https://a.test/1\n[ -f x ] || curl -o x https://b.test/1",
        "if [ ! -f x ]; then curl -o x https://b.test/1; tar xf x; fi",
        "if [ ! -f x ]; then curl -o x https://b.test/1; exit 1; fi",
        "if [ ! -f x ]; then curl -o x https://b.test/1; else make; fi",
        "[ ! -f x ] && curl -o x https://b.test/1 && make",
        "if [ -f x ]; then make; else curl -o x https://b.test/1; fi",
        "[ -f \"$(name)\" ] || curl -o x https://b.test/1",
        "[ -f x ] || { curl -o x https://b.test/1; make; }", "[ -f x ] || { curl -o x https://b.test/1; } || make",
        "make && [ -f x ] || curl -o x https://b.test/1", "if [ ! -f x ]; then curl -o x https://b.test/1 && make; fi",
    ])
    func otherTest_leavesItOut(_ script: String) {
        Self.expect("curl -O https://a.test/w\n\(script)", ["was left out"], without: ["https://b.test", "existing"])
    }

    // MARK: Whether a file is right

    @Test(arguments: [
        "echo \"HASH  x\" | sha256sum -c", "echo 'HASH *x' | sha256sum --check --status -",
        "sha256sum -c <<< 'HASH  x'",
        "printf '%s  %s\\n' HASH x | sha256sum -c -", "echo 'HASH  x' | shasum -a 256 -c",
        "sha256sum -c <<X\nHASH  x\nX", "if ! echo 'HASH  x' | sha256sum -c >/dev/null; then echo bad; exit 1; fi",
        "H=HASH\necho \"$H  x\" | sha256sum -c || exit 1", "echo 'HASH  x' | sha256sum -c || { echo bad; exit 1; }",
    ])
    func checksumOfAFile_isThatOfItsTask(_ check: String) {
        let script = "curl -fO https://a.test/x\n" + check.replacing("HASH", with: Self.hash)
        let hash = check.hasPrefix("H=") ? "\"sha256:${H}\"" : "\"sha256:\(Self.hash)\""
        Self.expect(script, ["checksum: \(hash)"], without: ["not translated", "left out"])
    }

    @Test func whatComesAfterAChecksum_needsTheFile() {
        for check in ["set -e\necho 'HASH  x' | sha256sum -c", "echo 'HASH  x' | sha256sum -c || exit 1"] {
            let lines = check.replacing("HASH", with: Self.hash).split(separator: "\n").map { String($0) }
            let script = (lines.dropLast() + ["curl -fO https://a.test/x"] + lines.suffix(1)).joined(separator: "\n")
            Self.expect(script + "\ncurl -d a https://b.test/y", ["checksum: ", "needs: [x]"], without: ["left out"])
        }
        Self.expect(
            "curl -O https://a.test/x\necho '\(Self.hash)  x' | sha256sum -c && curl -O https://a.test/y",
            ["needs: [x]"])
    }

    @Test(arguments: [
        ("sha256sum -c x.sha256", "x.sha256"), ("sha512sum -c x.sha256", "x.sha256"), ("sha256sum -c SUMS", "SUMS"),
        ("grep x SUMS | sha256sum -c", "SUMS"), ("grep ' x$' SUMS | sha256sum -c - || exit 1", "SUMS"),
    ])
    func checksumInAList_isReadFromItsTask(_ check: String, _ list: String) {
        let algorithm = check.contains("sha512") ? "sha512" : "sha256"
        let part = "checksum: { from: \(list), algorithm: \(algorithm) }"
        for order in [["x", list], [list, "x"]] {
            let fetches = order.map { "curl -fO https://a.test/\($0)\n" }.joined()
            Self.expect(fetches + check, [part, "needs: [\(list)]"], without: ["not translated", "left out"])
            Self.expect("set -e\n" + fetches + check + "\ncurl -d a https://b.test/", [part], without: ["left out"])
        }
        Self.expect(
            "curl -fo x https://a.test/v1/file\ncurl -fO https://a.test/\(list)\n\(check)",
            ["algorithm: \(algorithm), entry: x }"])
    }

    @Test(arguments: [
        "echo 'HASH  y' | sha256sum -c", "echo 'abc  x' | sha256sum -c", "sha256sum -c local.sha256",
        "curl -O https://a.test/SUMS\ncurl -O https://a.test/z\nsha256sum -c SUMS",
        "[ -f y ] && echo 'HASH  x' | sha256sum -c",
        "curl -O https://a.test/SUMS\ngrep y SUMS | sha256sum -c", "echo 'HASH  x' | sha256sum",
        "curl -d a https://a.test/\ncurl -O https://a.test/x.sha256\nsha256sum -c x.sha256",
        "echo 'HASH  x' | sha256sum -c --unknown",
    ])
    func otherChecksum_isNamed(_ check: String) {
        let script = "curl -O https://a.test/x\n" + check.replacing("HASH", with: Self.hash)
        Self.expect(script, ["is not translated: the job does not verify the file"], without: ["checksum: "])
    }

    @Test func secondChecksumOfAFile_isNamed() {
        let md5 = String(repeating: "ab", count: 16)
        Self.expect(
            "curl -O https://a.test/x\necho '\(Self.hash)  x' | sha256sum -c\necho '\(md5)  x' | md5sum -c",
            ["checksum: \"sha256:", "`md5sum` is not translated"])
    }
}
