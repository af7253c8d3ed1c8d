import Diagnostics
import Testing
import YAMLTree

@Suite struct TreeTests {
    @Test(arguments: [
        ("", "nothing"),
        ("# only a comment\n", "nothing"),
        ("---\n...\n", "nothing"),
        ("word", "word"),
        ("\u{FEFF}a: 1\n", "{a: 1}"),
        ("a: [1, 'two', {three: \"3\"}]\nb:\n- x\n-\n  y: z\n", "{a: [1, 'two', {three: '3'}], b: [x, {y: z}]}"),
        ("a: &x {b: c}\nd: *x\n", "{a: {b: c}, d: {b: c}}"),
        ("k: &x name\n*x : value\n", "{k: name, name: value}"),
        ("a: |\n  one\n  two\nb: >-\n  three\n  four\n", "{a: 'one\ntwo\n', b: 'three four'}"),
        ("empty: []\nnone: {}\nmissing:\n", "{empty: [], none: {}, missing: }"),
        ("a: &x 1\nb: &x 2\nc: *x\n", "{a: 1, b: 2, c: 2}"),
        ("\"<<\": {a: 1}\n", "{'<<': {a: 1}}"),
    ])
    func readsTheShape(of text: String, as outline: String) {
        let reading = Reading(text)
        #expect(reading.problems == [])
        #expect(reading.outline == outline)
    }

    @Test(arguments: [
        ("base: &b {x: 1, y: 2}\nt: {<<: *b, y: 3, z: 4}\n", "{base: {x: 1, y: 2}, t: {y: 3, z: 4, x: 1}}"),
        (
            "a: &a {x: 1}\nb: &b {x: 2, y: 2}\nt: {<<: [*a, *b]}\n",
            "{a: {x: 1}, b: {x: 2, y: 2}, t: {x: 1, y: 2}}"
        ),
        (
            "a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nt: {z: 3, <<: *b}\n",
            "{a: {x: 1}, b: {y: 2, x: 1}, t: {z: 3, y: 2, x: 1}}"
        ),
        ("t: {<<: {x: 1}, x: 2}\n", "{t: {x: 2}}"),
    ])
    func mergesMaps(_ text: String, as outline: String) {
        let reading = Reading(text)
        #expect(reading.problems == [])
        #expect(reading.outline == outline)
    }

    @Test func countsWhatItWalks() throws {
        let (tree, items) = try Reading("- [a, b, c]\n- &m {x: 1, y: 2}\n- {<<: *m, z: 3}\n- *m\n- text\n").items()
        #expect(items.map(tree.count) == [3, 2, 3, 2, 0])
        #expect(tree.children(items[1]).map { $0 } == [], "a mapping has no elements")
        #expect(tree.entries(items[0]).map(\.key) == [], "a sequence has no entries")
        #expect(tree.text(items[0]) == "")
    }

    @Test func knowsWhereEachNodeStands() throws {
        let text = """
            name: "wörld"   # comment
            list:
              - { a: 1,
                  b: [x, y] }

              # after
            other: *nope

            """
        let tree = try #require(Reading(text).tree)
        let root = try #require(tree.root)
        let entries = tree.entries(root).map { $0 }
        #expect(tree.span(root) == SourceSpan(line: 1, column: 1, endLine: 7, endColumn: 13))
        #expect(tree.span(entries[0].value) == SourceSpan(line: 1, column: 7, length: 7), "characters, not bytes")
        #expect(
            tree.span(entries[1].value) == SourceSpan(line: 3, column: 3, endLine: 4, endColumn: 18),
            "a block ends where its last node does, not at the next one")
        let item = try #require(tree.children(entries[1].value).first { _ in true })
        #expect(tree.span(item) == SourceSpan(line: 3, column: 5, endLine: 4, endColumn: 18))
        #expect(tree.span(entries[2].value) == SourceSpan(line: 7, column: 8, length: 5), "an alias is where it stands")
    }

    @Test func keepsTagsAndKnowsPlainWords() throws {
        let (tree, items) = try Reading("[!!str 12, ! 12, \"12\", 12, !!int 12, !!map {}]").items()
        #expect(
            items.map { tree.tag($0) } == [
                "tag:yaml.org,2002:str", "!", nil, nil, "tag:yaml.org,2002:int", "tag:yaml.org,2002:map",
            ])
        #expect(items.map(tree.isPlain) == [false, false, false, true, false, false])
        #expect(items.dropLast().map(tree.resolve) == [.string, .string, .string, .integer(12), .integer(12)])
    }
}
