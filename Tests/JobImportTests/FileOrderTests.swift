import JobImport
import Testing

/// What a script writes and reads in turn, the job writes and reads so too, or it is left out.
struct FileOrderTests {
    /// What the tasks of a script read and need: `id: file [needs]`.
    private static func reads(_ script: String) -> (
        lines: [String], result: (text: String, warnings: [String], taskCount: Int)
    ) {
        let result = JobImportTests.translated("#!/bin/sh\n\(script)\n")
        let blocks = result.text.split(separator: "  - id: ").dropFirst()
        let lines = blocks.map { block in
            let lines = block.split(separator: "\n")
            let read = lines.first { $0.contains("body: ") }.map { $0.dropFirst(10) } ?? "-"
            let needs = lines.first { $0.contains("needs: ") }.map { $0.dropFirst(11) } ?? "-"
            return "\(lines[0]): \(read) \(needs)"
        }
        return (lines, result)
    }

    @Test(arguments: [
        "curl -T x URL", "curl --data-binary @x URL", "cat x | curl -T - URL", "curl -T - URL < x",
        "F=@x; curl --data-binary \"$F\" URL",
    ])
    func fileThatIsWrittenTwice_isReadAsOfItsTurn(_ reader: String) {
        let (lines, result) = Self.reads(
            ["one", "two"].map { name in
                "curl -o x https://a.test/\(name)\n\(reader.replacing("URL", with: "https://a.test/put/\(name)"))"
            }.joined(separator: "\n"))
        #expect(result.taskCount == 4, "\(result)")
        #expect(lines[1].hasSuffix("{ file: x } [one]") && lines[3].hasSuffix("{ file: x.2 } [two]"), "\(lines)")
    }

    @Test func partOfAForm_isReadAsOfItsTurn() {
        let (lines, result) = Self.reads(
            "curl -o x https://a.test/one\ncurl -o x https://a.test/two\ncurl -F f=@x https://a.test/\ncurl -d @x https://a.test/"
        )
        #expect(result.text.contains("filename: x }"))
        #expect(lines[2].contains("file: x.2,") && lines[2].hasSuffix("[two, one]"), "\(result.text)")
        #expect(lines[3].contains(", x.2] } }") && lines[3].hasSuffix("[two, a.test]"), "\(result.text)")
    }

    @Test func scratchFileOfALoop_isReadInItsTurn() {
        let (lines, result) = Self.reads(
            "for x in a b; do curl -o s https://a.test/$x; curl --data-binary @s https://a.test/p/$x; done\ncurl -T s https://a.test/z"
        )
        #expect(
            lines.count == 2 && lines[1].hasSuffix("{ file: \"s.${x.index}\" } [\"x-${x.index}\"]"), "\(result.text)")
        #expect(result.warnings.count == 2 && result.warnings[1].contains("each turn of a loop writes `s`"))
        #expect(result.warnings[0].contains("in each turn of the loop, but not of the turns"), "\(result.warnings)")
    }

    /// A command of a loop runs in each turn, whether or not it uses the value.
    @Test func commandOfALoop_runsInEachTurn() {
        let result = JobImportTests.translated(
            "for i in 1 2; do curl -o s$i https://a.test/$i; curl https://a.test/ping; done\n")
        #expect(result.text.split(separator: "forEach: { i: [\"1\", \"2\"] }").count == 3, "\(result.text)")
    }

    @Test(arguments: [
        ("curl -fo d https://a.test/A || curl -fo d https://a.test/B", "[A]"),
        ("curl -fo d https://a.test/A || curl -fo d https://a.test/B || curl -fo d https://b.test/C || exit 1", "[A]"),
        ("wget -O d https://a.test/A || wget -O d https://a.test/B", "[A]"),
        ("set -e\ncurl -fo d https://a.test/A || curl -fo d https://a.test/B", "[A]"),
    ])
    func fileOfTwoPlaces_isOneTask(_ script: String, _ needs: String) {
        let (lines, result) = Self.reads("\(script)\ncurl -T d https://a.test/up")
        #expect(
            result.text.contains("urls: [\"https://a.test/A\", \"https://a.test/B\"") && result.warnings.isEmpty,
            "\(result)")
        #expect(lines.count == 2 && lines[1].hasSuffix("{ file: d } \(needs)"), "\(lines)")
    }

    @Test(arguments: [
        // Two commands that do not do the same.
        ("curl -fo d https://a.test/A || curl -fo d -H 'X: y' https://a.test/B\ncurl -T d https://b.test/", 1),
        ("curl -o d https://a.test/A || curl -o d https://a.test/B\ncurl -T d https://b.test/", 1),
        (
            "if curl -fo c https://a.test/A; then curl -o d https://a.test/B; else curl -o d https://a.test/C; fi\ncurl -T d https://b.test/",
            3
        ),
        ("curl -fo c https://a.test/A || { curl -o d https://a.test/B; curl -T d https://b.test/; }", 2),
        // Read before it is written.
        ("curl -T f https://a.test/A\ncurl -o f https://b.test/\ncurl -d @f https://b.test/2", 1),
        ("curl -T f https://a.test/A\ncurl -o f https://b.test/", 1),
        ("for x in a b; do curl -T s https://b.test/$x; curl -o s https://b.test/o/$x; done", 0),
        (
            "curl -o s https://a.test/A\nfor x in a b; do curl -T s https://b.test/$x; curl -o s https://a.test/$x; done",
            2
        ),
        ("for x in a b; do curl -T s https://b.test/$x; date > s; done", 0),
        // Lists that are read when the job begins.
        ("curl -o l https://a.test/A\nwhile read -r u; do curl https://b.test/$u; done < l", 1),
        ("curl -o l https://a.test/A\nwget -i l -P https://b.test", 1),
        ("curl -o d/z.jpg https://a.test/A\nfor f in d/*.jpg; do curl -T \"$f\" https://b.test/; done", 1),
        (
            "for n in a b; do curl -o d/$n.jpg https://a.test/$n; done\nfor f in d/*.jpg; do curl -T \"$f\" https://b.test/; done",
            1
        ),
    ])
    func orderThatAJobCannotSay_isLeftOut(_ script: String, _ count: Int) {
        let result = JobImportTests.translated("#!/bin/sh\n\(script)\n")
        #expect(result.taskCount == count && !result.text.contains("https://b.test"), "\(result)")
        #expect(result.warnings.contains { $0.hasSuffix("was left out") }, "\(result.warnings)")
    }

    @Test(arguments: [
        ("for f in *.jpg; do curl -T \"$f\" https://a.test/; mv \"$f\" done/; done", 1),
        ("curl -o d/z.png https://a.test/A\nfor f in d/*.jpg; do curl -T \"$f\" https://a.test/; done", 2),
        (
            "for file in a b; do curl -o \"$file\" https://a.test/$file; done\nfor file in a b; do curl -T \"$file\" https://a.test/$file; done",
            2
        ),
        ("cd d\nfor file in a b; do curl -o \"$file\" https://a.test/$file; done", 1),
    ])
    func orderThatAJobCanSay_isCarriedOver(_ script: String, _ count: Int) {
        let result = JobImportTests.translated("#!/bin/sh\n\(script)\n")
        #expect(result.taskCount == count && !result.text.contains("d/a,"), "\(result)")
    }

    @Test(arguments: [
        ("cd sub\ncd ../newd\ncurl -T ../data https://a.test/x", "file: data }"),
        ("cd a/b\ncd ..\ncurl -T f https://a.test/x", "file: a/f }"),
        ("cd a\ncd ..\ncurl -T f https://a.test/x", "file: f }"),
        ("cd ../a\ncurl -T ../f https://a.test/x", "file: \"../f\" }"),
        ("cd\ncurl -T f https://a.test/x", "file: \"${env.HOME}/f\" }"),
        ("cd \"$(dirname \"$0\")\"\ncurl -T f https://a.test/x", "file: f }"),
        ("D=$(cd \"$(dirname \"$0\")\" && pwd)\ncd \"$D\"\ncurl -T f https://a.test/x", "file: f }"),
    ])
    func folder_isWrittenShort(_ script: String, _ part: String) {
        let result = JobImportTests.translated("#!/bin/sh\n\(script)\n")
        #expect(result.taskCount == 1 && result.text.contains(part), "\(result)")
    }

    @Test(arguments: ["cd \"$DIR\"", "cd; cd \"$DIR\"", "D=$(mktemp -d); cd \"$D\"", "cd \"$HOME\"; cd -"])
    func folderInAVariable_leavesItsFilesOut(_ script: String) {
        let result = JobImportTests.translated("curl -o x https://a.test/x\n\(script)\ncurl -T f https://b.test/x\n")
        #expect(result.taskCount == 1 && result.warnings.contains { $0.hasSuffix("was left out") }, "\(result)")
    }

    @Test(arguments: [
        (": \"${D:=x y}\"\ncurl -d \"v=$D\" https://a.test/", "D: \"${env.D:-x y}\""),
        ("curl -d \"v=${D:=x}\" https://a.test/", "v=${env.D:-x}"),
        ("F=@f.txt\ncurl -d \"$F\" https://a.test/", "\\\"$0\\\"\", f.txt]"),
        ("F=@f.bin\ncurl -F \"a=$F\" https://a.test/", "{ name: a, file: f.bin"),
        ("curl -d @- https://a.test/ <<X\n\\\"\\$5 \\\\\nX", "data: \"\\\\\\\"$$5 \\\\\" }"),
    ])
    func word_isWhatAShellMakesOfIt(_ script: String, _ part: String) {
        let result = JobImportTests.translated("#!/bin/sh\n\(script)\n")
        #expect(result.taskCount == 1 && result.text.contains(part) && result.warnings.isEmpty, "\(result)")
    }

    @Test func defaultThatIsNotKept_leavesItsUsersOut() {
        let result = JobImportTests.translated(
            "#!/bin/sh\n: ${D=x}\n: ${E:=`date`}\ncurl -d $D https://a.test/\ncurl -d $E https://a.test/\n")
        #expect(result.taskCount == 0 && result.warnings.count == 2, "\(result)")
    }
}
