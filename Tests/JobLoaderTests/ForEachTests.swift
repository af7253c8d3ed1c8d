import JobLoader
import Testing
import TransferModel

struct ForEachTests {
    private func ids(_ forEach: String, _ id: String, files: [String: String] = [:]) -> [String]? {
        load(
            "tasks:\n  - { id: \"\(id)\", forEach: \(forEach), url: https://example.org/, type: data }", files: files
        ).job?.tasks.map(\.id)
    }

    /// Each file once, by the strongest of the algorithms that the release file has.
    @Test func aReleaseFile_givesEachFileOnce() throws {
        let md5 = String(repeating: "ab", count: 16)
        let sha = String(repeating: "cd", count: 32)
        let release = """
            Origin: Debian
            MD5Sum:
             \(md5) 12 main/a.gz
             \(md5) 34 main/b.gz
            SHA256:
             \(sha) 12 main/a.gz
             \(sha) 34 main/b.gz
            """
        let result = load(
            """
            tasks:
              - { id: "f${f.index}", forEach: { f: { checksums: sums } }, url: "https://a.test/${f.path}", to: "${f.path}", \
            checksum: "${f.checksum}", expect: { size: "${f.size}" } }
            """, files: ["/job/sums": release])
        #expect(result.job?.tasks.map(\.id) == ["f1", "f2"])
        #expect(result.job?.tasks.map(\.options.values.expect.size) == [12, 34])
        guard case .literal(let checksum) = result.job?.tasks.first?.options.values.checksum else {
            Issue.record("no checksum")
            return
        }
        #expect(checksum.description == "sha256:\(sha)")
    }

    @Test func listsRangesAndProducts() {
        #expect(ids("{ a: [x, 2, 3.10] }", "t-${a}-${a.index}") == ["t-x-1", "t-2-2", "t-3.10-3"])
        #expect(ids("{ n: 8..11 }", "t${n}") == ["t8", "t9", "t10", "t11"])
        #expect(ids("{ n: 08..11 }", "t${n}") == ["t08", "t09", "t10", "t11"])
        #expect(ids("{ n: -1..1 }", "t${n}") == ["t-1", "t0", "t1"])
        #expect(ids("{ a: [x, y], n: 1..2 }", "${a}${n}") == ["x1", "x2", "y1", "y2"])
        #expect(ids("{ m: [{ k: a, v: { w: 1 } }, { k: b }] }", "${m.k}") == ["a", "b"])
    }

    @Test func files() {
        let files = [
            "/job/lines": "one\r\n\ntwo", "/job/t.csv": "name,\"the url\"\n\"a\",\"x,\"\"y\"\"\"\nb,z\n",
            "/job/t.json": #"[{"k": "a", "n": 1.50}, {"k": "b", "n": 2}]"#, "/job/plain.json": #"["p", 7]"#,
            "/job/sums":
                "\(String(repeating: "0a", count: 32))  a.bin\nMD5 (b c.bin) = \(String(repeating: "1", count: 32))\n",
            "/job/pics/1.jpg": "", "/job/pics/sub/2.jpg": "", "/job/pics/sub/.hidden.jpg": "", "/job/pics/x.png": "",
        ]
        #expect(ids("{ l: { lines: lines } }", "${l}", files: files) == ["one", "two"])
        #expect(ids("{ r: { csv: t.csv } }", "${r.name}", files: files) == ["a", "b"])
        #expect(ids("{ j: { json: t.json } }", "${j.k}${j.n}", files: files) == ["a1.50", "b2"])
        #expect(ids("{ j: { json: plain.json } }", "${j}", files: files) == ["p", "7"])
        #expect(ids("{ f: { files: \"pics/**/*.jpg\" } }", "${f.name}", files: files) == ["1.jpg", "2.jpg"])
        let below = ids("{ f: { files: \"pics/**/*\" } }", "${f.name}", files: files)
        #expect(ids("{ f: { files: \"pics/**\" } }", "${f.name}", files: files) == below && below?.count == 3)
        #expect(ids("{ f: { files: \"pics/*.jpg\" } }", "${f.index}-${f.name}", files: files) == ["1-1.jpg"])
        let sums = load(
            "tasks:\n  - { id: \"s${s.index}\", forEach: { s: { checksums: sums } }, url: \"https://example.org/${s.path}\", to: \"${s.path}\", checksum: \"${s.checksum}\" }",
            files: files
        ).job?.tasks
        #expect(sums?.map { $0.location.url?.text } == ["https://example.org/a.bin", "https://example.org/b%20c.bin"])
        guard case .literal(let checksum)? = sums?[1].options.values.checksum else {
            Issue.record("no checksum")
            return
        }
        #expect(checksum.algorithm == .md5)
    }

    /// Only where the pattern leads: what cannot be looked into makes no task, and that is said.
    @Test(arguments: [("pics/**/*.jpg", true), ("pics/*/*.jpg", true), ("pics/*.jpg", false), ("pics/a*/*.jpg", false)])
    func foldersThatCannotBeOpened(_ pattern: String, _ isTold: Bool) {
        let result = load(
            """
            tasks:
              - { id: "f${f.index}", forEach: { f: { files: "\(pattern)" } }, url: "https://a.test/${f.name}" }
              - { id: other, url: "https://a.test/" }
            """, files: ["/job/pics/1.jpg": "", "/job/pics/sub/2.jpg": "", "/job/pics/closed/": ""])
        #expect(
            result.summary.filter { $0.hasSuffix("unreadable-folder") }
                == (isTold ? ["2:49 warning unreadable-folder"] : []))
        if isTold { #expect(result.messages.contains("`pics/closed/`")) }
    }

    private static let signature = "-----BEGIN PGP SIGNATURE-----\n\niQIz BAEB\n=x\n-----END PGP SIGNATURE-----\n"

    /// What stands around the lines of a signed list is none of it; of anything else that is no line it is said.
    @Test(
        arguments: [
            ("-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n", signature, []), ("", signature, []),
            ("untrusted comment: signed by somebody\n", "", ["2:53 warning bad-line"]),
            ("", "Hash: SHA512\n", ["2:53 warning bad-line"]),
        ] as [(String, String, [String])]) func signedLists(_ before: String, _ after: String, _ told: [String])
    {
        let line = "\(String(repeating: "0a", count: 32))  a.bin\n"
        let result = load(
            """
            tasks:
              - { id: "s${s.index}", forEach: { s: { checksums: sums } }, url: "https://a.test/${s.path}" }
            """,
            files: ["/job/sums": before + line + after])
        #expect(result.job?.tasks.map(\.location.url?.text) == ["https://a.test/a.bin"])
        #expect(result.summary == told)
    }

    /// A path picks the rows of a file, too; it may stand in the list or beside it.
    @Test(arguments: [
        ("{ json: list.json, path: \"$.items[*]\" }", "${r.a.b}"),
        ("{ json: { file: list.json, path: \"$.items[*]\" } }", "${r.id}"),
        ("{ xml: feed.xml, path: /rss/channel/item }", "${r.title}"),
        ("{ xml: { file: feed.xml, path: /rss/*/item } }", "${r.enclosure.url}"),
    ]) func pathsPickTheRows(_ list: String, _ id: String) {
        let files = [
            "/job/list.json": #"{"items": [{"id": "x", "a": {"b": "x"}}, {"id": "y", "a": {"b": "y"}}]}"#,
            "/job/feed.xml": """
            <rss><channel><item><title>x</title><enclosure url="x"/></item>
            <item><title>y</title><enclosure url="y"/></item></channel></rss>
            """,
        ]
        #expect(ids("{ r: \(list) }", id, files: files) == ["x", "y"])
    }
}

struct NeedsTests {
    private func needs(_ lines: String) -> [[UInt32]]? {
        load("tasks:\n" + lines).job?.tasks.map { $0.needs.map(\.raw) }
    }

    @Test func idsAndPatterns() {
        let text = """
              - { id: all, needs: ["d*"], url: https://example.org/ }
              - { id: "d${n}", forEach: { n: 1..3 }, url: https://example.org/ }
              - { id: dz, needs: ["d?", all, d1], url: https://example.org/ }
            """
        #expect(needs(text) == nil)
        #expect(
            needs(text.replacing(", all, d1", with: ", d1").replacing("\"d*\"", with: "\"d[0-9]\"")) == [
                [1, 2, 3], [], [], [], [1, 2, 3],
            ])
    }

    @Test func aPatternMeansTheOthers() {
        let text = """
              - { id: d1, url: https://example.org/ }
              - { id: d2, needs: ["d*"], url: https://example.org/ }
            """
        #expect(needs(text) == [[], [0]])
    }

    @Test func longChainsAndRandomGraphsAgreeWithASlowSearch() {
        let seed = Seed.value
        var generator = Seed.generator(seed)
        for _ in 0..<Seed.rounds(60) {
            let count = Int.random(in: 2...12, using: &generator)
            var edges: [[Int]] = []
            for task in 0..<count {
                edges.append((0..<count).filter { $0 != task && Int.random(in: 0..<count * 2, using: &generator) == 0 })
            }
            var text = ""
            for (task, needs) in edges.enumerated() {
                text +=
                    "  - { id: t\(task), needs: [\(needs.map { "t\($0)" }.joined(separator: ", "))], url: https://example.org/ }\n"
            }
            #expect((needs(text) == nil) == Self.hasCycle(edges), "TRANSFER_RUN_SEED=\(seed)")
        }
    }

    /// Takes tasks away that need nothing, until none is left or all need something.
    private static func hasCycle(_ edges: [[Int]]) -> Bool {
        var left = Set(edges.indices)
        while let free = left.first(where: { edges[$0].allSatisfy { !left.contains($0) } }) { left.remove(free) }
        return !left.isEmpty
    }

    @Test func aLongChainIsNoStack() {
        var text = ""
        let count = 5_000
        for task in 0..<count {
            text += "  - { id: t\(task), needs: [t\((task + 1) % count)], url: https://example.org/ }\n"
        }
        let result = load("tasks:\n" + text)
        #expect(result.summary == ["2:22 needs-cycle"])
    }

    /// What would wait for a group that waits for it never began.
    @Test(arguments: [
        (["g needs group.g"], "0 -> group.g -> 0"),
        (["g", "- needs t0", "g needs t1"], "1 -> group.g -> 2 -> 1"),
        (["g", "h needs t0", "g needs t1"], "1 -> group.g -> 2 -> group.h -> 1"),
        (["g needs group.h", "h needs group.g"], "0 -> group.h -> 1 -> group.g -> 0"),
        (["g", "g needs t0", "- needs t0", "- needs group.g", "h needs t1", "h needs t4"], nil),
    ]) func groupsAreWaitedForToo(_ tasks: [String], _ cycle: String?) {
        let lines = tasks.enumerated().map { number, text in
            let words = text.split(separator: " ")
            let needs = words.count == 3 ? ", needs: [\(words[2])]" : ""
            let group = words[0] == "-" ? "" : ", group: \(words[0])"
            return "  - { id: t\(number), url: https://example.org/\(number), to: f\(number)\(group)\(needs) }\n"
        }
        let result = load("groups: { g: { to: g }, h: { to: h } }\ntasks:\n" + lines.joined())
        let told = cycle.map { cycle in
            cycle.split(separator: " ").map { $0.allSatisfy(\.isNumber) ? "t\($0)" : String($0) }.joined(separator: " ")
        }
        #expect(told == nil ? result.summary == [] : result.messages.hasPrefix("tasks need each other: \(told ?? "")"))
    }

    @Test func filesAreFollowedThroughOthers() {
        let text = """
            tasks:
              - { id: get, url: https://example.org/, to: x }
              - { id: between, needs: [get], url: https://example.org/ }
              - { id: put, needs: [between], url: https://example.org/, body: { file: ./x } }
            """
        #expect(load(text).summary == [])
        #expect(load(text.replacing(", needs: [between]", with: "")).summary == ["4:49 missing-need"])
    }
}
