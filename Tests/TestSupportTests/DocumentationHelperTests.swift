import TestSupport
import Testing

@Suite struct DocumentationHelperTests {
    @Test func blocksHaveTheirLanguageNameAndLine() {
        let page =
            "# Title\n\n```yaml a.transfer.yaml\nversion: 1\n\ntasks: []\n```\ntext\n```\nplain\n```\n```sh\nopen"
        let blocks = FencedBlock.blocks(in: page)
        #expect(blocks.map(\.language) == ["yaml", "", "sh"])
        #expect(blocks.map(\.name) == ["a.transfer.yaml", nil, nil])
        #expect(blocks.map(\.line) == [4, 10, 13])
        #expect(blocks.map(\.text) == ["version: 1\n\ntasks: []\n", "plain\n", "open\n"])
    }

    @Test(arguments: [
        ("yaml", "tasks:\n  - id: a\n", true), ("yaml", "version: 1\ntasks: [{ id: a }]\n", true),
        ("yaml", "tasks:  # three\n  - id: a\n", true), ("yaml", "onFinish: [a]\ntasks: …\n", false),
        ("yaml", "job:\n  tasks:\n", false), ("json", "tasks:\n", false),
    ])
    func aWholeJobHasTasksAtTheTopLevel(_ language: String, _ text: String, _ isWhole: Bool) throws {
        let block = try #require(FencedBlock.blocks(in: "```\(language)\n\(text)```\n").first)
        #expect(block.isWholeJob == isWhole)
    }

    @Test func commandsHaveTheirStatusAndTheOutputBelowThem() throws {
        let page = """
            ```console
            $ transfer-run check a.yaml   # status 2
            a.yaml:1: error

            $ curl -O \\
              x # status unknown
            $ run \\
              it  # status 75
            $ last
            out
              more
            ```
            """
        let commands = try #require(FencedBlock.blocks(in: page).first).commands
        #expect(
            commands.map(\.text) == [
                "transfer-run check a.yaml", "curl -O \\\n  x # status unknown", "run \\\n  it", "last",
            ])
        #expect(commands.map(\.status) == [2, 0, 75, 0])
        #expect(commands.map(\.line) == [2, 5, 7, 9])
        #expect(commands.map(\.output) == [["a.yaml:1: error", ""], [], [], ["out", "  more"]])
        #expect(try #require(FencedBlock.blocks(in: "```sh\n$ a\n```").first).commands.isEmpty)
    }

    @Test(arguments: [
        ("ok   notes   126 B  15.9 KiB/s  0.01s", "ok notes SIZE RATE TIME"),
        ("2 ok · 1,175 B · 17.1 KiB/s · 1h02m · report: a.json", "2 ok · SIZE · RATE · TIME · report: a.json"),
        ("waits 10 m 3 s, then 5m03s, 12 steps, 3 sums", "waits TIME, then TIME, 12 steps, 3 sums"),
        ("at 2026-11-21T08:44:50.040Z or 2026-11-21, 07:00 (07:00:01)", "at DATE or DATE, TIME (TIME)"),
        (
            "a.yaml:12:10: http://127.0.0.1:8080/v1.2s app-1.4.0 sha256:12d",
            "a.yaml:12:10: http://127.0.0.1:8080/v1.2s app-1.4.0 sha256:12d"
        ),
        ("    indented   by four   ", " indented by four"),
        ("bandwidth: 5MiB/s 5 MB 5s", "bandwidth: RATE SIZE TIME"),
    ])
    func whatDiffersFromRunToRunIsMasked(_ line: String, _ expected: String) {
        #expect(ShownOutput.masked(line) == expected)
    }

    @Test(arguments: [
        (["a", "b"], "a\nb\n", true), (["a"], "a\nb\n", false), (["a", "..."], "a\nb\nc\n", true),
        (["...", "c"], "a\nb\nc\n", true), (["...", "b"], "a\nb\nc\n", false),
        (["...", "b", "...", "d"], "a\nb\nc\nb\nd", true),
        ([], "", true), ([""], "\n", true), ([], "a\n", false), (["a"], "", false), (["..."], "", true),
        // Tasks end in any order; what belongs to one stays with it.
        (["2 tasks", "ok a 1 B", "ok b 2 B", "end"], "2 tasks\nok b 9 B\nok a 8 B\nend", true),
        (["ok a", "ok b"], "ok a\nok b\nok c", false), (["ok b", "..."], "ok a\nok b\nok c", true),
        (["ok d", "..."], "ok a\nok b\nok c", false), (["ok a", "ok a"], "ok a\nok b", false),
        (["FAILED a", "  hint", "ok b"], "ok b\nFAILED a\n  hint\n", true),
        (["FAILED a", "  hint", "ok b"], "ok b\n  hint\nFAILED a\n", false),
        (["FAILED a", "  ...", "ok b"], "ok b\nFAILED a\n  hint\n  more\n", true),
    ])
    func outputIsComparedWithWhatIsShown(_ shown: [String], _ real: String, _ isAlike: Bool) {
        #expect((ShownOutput.difference(shown: shown, real: real) == nil) == isAlike)
    }

    @Test func aDifferenceShowsBothSides() throws {
        let difference = try #require(ShownOutput.difference(shown: ["3 B"], real: "4 b\n"))
        #expect(difference == "shown (masked):\n-SIZE\nreal (masked):\n+4 b\nreal:\n4 b\n")
    }
}
