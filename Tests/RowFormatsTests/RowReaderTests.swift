import RowFormats
import TestSupport
import Testing
import TransferModel

/// Lists of every format, whole and in pieces.
struct RowReaderTests {
    private static let page = try? ResourceURL.parse("https://host.test/pub/list/?page=1")

    /// Rows in short form: texts as they are, maps as `key=value` joined by blanks.
    private func shown(_ table: RowTable) -> [String] {
        table.rows.map { row in
            guard case .map(let entries) = row else { return row.scalarText ?? "\(row)" }
            return entries.map { "\($0.key)=\($0.value.scalarText ?? "\($0.value)")" }.joined(separator: " ")
        }
    }

    private func rows(_ text: String, _ format: RowFormat, needed: [String]? = nil) throws -> [String] {
        shown(
            try RowReader.rows(Array(text.utf8), format, fields: needed.map { RowFields(needed: $0) }, page: Self.page))
    }

    private func problem(
        _ text: String, _ format: RowFormat, needed: [String]? = nil, limits: RowLimits = .ofNetwork
    ) -> String? {
        do {
            _ = try RowReader.rows(
                Array(text.utf8), format, fields: needed.map { RowFields(needed: $0) }, page: Self.page, limits: limits)
            return nil
        } catch {
            return "\(error.line): \(error.message)"
        }
    }

    // MARK: Lines

    @Test func lines_areThoseThatAreNotEmpty() throws {
        #expect(try rows("\u{FEFF}one\r\n\n two\nthree", .lines) == ["one", " two", "three"])
        #expect(try rows("", .lines) == [] && rows("\n\n", .lines) == [])
    }

    @Test func lines_haveBounds() {
        var limits = RowLimits(line: 10, value: 5)
        #expect(problem("abcdefgh\n", .lines, limits: limits) == "1: a value is longer than 0 KiB")
        #expect(problem("a\nb\n12345678901\n", .lines, limits: limits) == "3: a line is longer than 0 KiB")
        #expect(problem("a\n12345678901", .lines, limits: limits) == "2: a line is longer than 0 KiB")
        limits.rows = 2
        #expect(problem("a\nb\nc\n", .lines, limits: limits) == "3: more than 2 rows")
        #expect(problem("a\nb\n", .lines, limits: limits) == nil)
    }

    @Test func textThatIsNotUTF8_isAFaultWithItsLine() throws {
        for format in [RowFormat.lines, .xml(path: "/a"), .links(match: nil), .csv] {
            do {
                _ = try RowReader.rows(Array("<a>\n<a>".utf8) + [0xFF, 0x0A], format, page: Self.page)
                Issue.record("\(format) took it")
            } catch {
                #expect(error == RowProblem("not UTF-8 text", line: 2), "\(format)")
            }
        }
    }

    @Test(
        arguments: [
            ([0x42, 0x5A, 0x68, 0x39, 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, 0x00], "bzip2"),
            ([0x50, 0x4B, 0x03, 0x04, 0x14, 0x00], "zip"), ([0x5D, 0x00, 0x00, 0x80, 0x00], "lzma"),
        ] as [([UInt8], String)]) func aPackingThatIsNotRead_isNamed(_ bytes: [UInt8], _ name: String)
    {
        // Wherever the network cuts it.
        for cut in bytes.indices {
            var reader = RowReader(.debian)
            do {
                try reader.take(Array(bytes[..<cut]))
                try reader.take(Array(bytes[cut...]))
                _ = try reader.finish()
                Issue.record("it was read, cut at \(cut)")
            } catch {
                #expect(error.message.hasPrefix("packed by \(name), which is not read"))
            }
        }
    }

    @Test func aTextThatBeginsLikeAPackedFile_isText() throws {
        #expect(try rows("BZhello\n", .lines) == ["BZhello"])
    }

    // MARK: CSV

    @Test func csv_keepsTheColumnsInUse() throws {
        let text = "a,\"b c\",d\r\n1,\"x,\"\"y\"\"\n\",3\n\n4,5,6"
        #expect(try rows(text, .csv) == ["a=1 b c=x,\"y\"\n d=3", "a=4 b c=5 d=6"])
        #expect(try rows(text, .csv, needed: ["d", "a"]) == ["a=1 d=3", "a=4 d=6"])
        #expect(try rows("a\n", .csv) == [])
    }

    @Test func csv_faultsHaveTheirLine() {
        #expect(problem("", .csv) == "1: a line with the names of the columns is missing")
        #expect(problem("a,b\n1,2\n1,2,3\n", .csv) == "3: 3 fields where the first line has 2")
        #expect(problem("a,b\n\"1\nx\",2\n1\n", .csv) == "4: 1 fields where the first line has 2")
        #expect(problem("a,b\n1,\"x\n", .csv) == "2: a quote is not closed")
        #expect(problem("a,b\n1,\"x\"y\n", .csv) == "2: text after a closing quote")
        #expect(problem("a,a\n", .csv) == "1: the column `a` is there twice")
        #expect(
            problem("name,size\nx,1\n", .csv, needed: ["name", "url"])
                == "1: there is no column `url`, only `name`, `size`")
    }

    // MARK: Checksums

    private static let sha = String(repeating: "0a", count: 32)

    @Test func checksums_haveNamesAndHashes() throws {
        let text = "\(Self.sha)  a.bin\nSHA256 (b c) = \(Self.sha)\n# no line\nstray\n"
        let table = try RowReader.rows(Array(text.utf8), .checksums, fields: RowFields(needed: ["path"]))
        #expect(shown(table) == ["=a.bin path=a.bin", "=b c path=b c"])
        #expect(table.stray == RowProblem("no line of a checksum file: `stray`", line: 4))
        #expect(try rows("\(Self.sha)  a\n", .checksums) == ["=a path=a checksum=sha256:\(Self.sha)"])
        #expect(problem("<html>\n", .checksums) == "1: no line of a checksum file: `<html>`")
    }

    // MARK: Debian

    private static let packages = """
        Package: a
        filename:  pool/a.deb
        Description: short
         long line
        \t.
         end
        SHA256: 11

        # a comment
        Package: b
        Depends: x,
         y
        SHA256: 22
        Filename: pool/b.deb
        \u{20}
        """

    @Test func stanzas_areRowsOfTheFieldsInUse() throws {
        #expect(
            try rows(Self.packages, .debian, needed: ["Filename", "SHA256"])
                == ["Filename=pool/a.deb SHA256=11", "SHA256=22 Filename=pool/b.deb"])
        #expect(
            try rows(Self.packages, .debian, needed: ["Description", "Depends"])
                == ["Description=short long line . end", "Depends=x, y"])
        #expect(try rows("", .debian) == [])
    }

    @Test func stanzas_faultsHaveTheirLine() {
        #expect(problem("Package: a\n<html>\n", .debian) == "2: no field of a Debian index: `<html>`")
        #expect(problem("\n more\n", .debian) == "2: a continuation line without a field")
        let long = "A: x\n " + String(repeating: "y", count: 70_000) + "\n"
        #expect(problem(long, .debian, needed: ["A"]) == "2: the field `A` is longer than 64 KiB")
        #expect(problem(long, .debian, needed: ["B"]) == nil)
    }

    // MARK: JSON

    @Test func json_takesWhatItsPathSelects() throws {
        let text = #"{"items": [{"u": "x", "n": 1.50, "in": {"k": true}}, {"u": "y"}], "none": [], "a.b": 3}"#
        #expect(
            try rows(text, .json(path: "$.items[*]"), needed: ["u", "n", "in.k"]) == ["u=x n=1.50 in.k=true", "u=y"])
        #expect(try rows(text, .json(path: "$.none[*]")) == [])
        #expect(try rows(text, .json(path: "$.items[?@.u == 'z']")) == [])
        #expect(try rows(#"["p", 7, false]"#, .json(path: nil)) == ["p", "7", "false"])
    }

    /// A list or an object can stand in JSON that is sent.
    @Test func json_keepsListsAndObjectsThatAreInUse_withinTheBoundOfAValue() throws {
        let text = Array(#"[{"a": {"b": [1, null]}, "c": 2}]"#.utf8)
        let list = PlainValue.list([.number("1"), .null])
        let a = PlainValue.Entry(key: "a", value: .map([.init(key: "b", value: list)]))
        func read(_ fields: RowFields) throws -> [PlainValue] {
            try RowReader.rows(text, .json(path: nil), fields: fields, limits: .ofNetwork).rows
        }
        #expect(try read(RowFields(needed: ["a"])) == [.map([a])])
        #expect(try read(RowFields(needed: ["a.b"])) == [.map([.init(key: "a.b", value: list)])])
        let whole = RowFields(needed: ["c"], optional: [PlainValue.ownText])
        #expect(try read(whole) == [.map([a, .init(key: "c", value: .number("2"))])])
        let long = "[{\"a\": [\(String(repeating: "1,", count: 33_000))1]}]"
        #expect(problem(long, .json(path: nil), needed: ["a"]) == "0: a value is longer than 64 KiB")
        #expect(problem(long, .json(path: nil), needed: ["b"]) == nil)
    }

    @Test func json_faults() {
        let text = #"{"items": [{"u": "x"}]}"#
        let there = "; the JSON has the key `items`"
        #expect(problem(text, .json(path: "$.other[*]")) == "0: `$.other[*]` finds nothing\(there)")
        #expect(problem(text, .json(path: "$.other")) == "0: `$.other` finds nothing\(there)")
        #expect(
            problem(text, .json(path: "$.items[0].v[*]"))
                == "0: `$.items[0].v[*]` finds nothing; `$.items[0]` has the key `u`")
        // Many servers write null for a list without elements.
        #expect(problem(#"{"items": null}"#, .json(path: "$.items[*]")) == nil)
        #expect(problem(#"{"items": "none"}"#, .json(path: "$.items[*]")) != nil)
        #expect(problem(text, .json(path: "$.items")) == "0: `$.items` is one list; its elements are `$.items[*]`")
        #expect(problem(text, .json(path: nil)) == "1: the file must hold a JSON list\(there)")
        #expect(problem("[1,\n2,,", .json(path: nil))?.hasPrefix("2: ") == true)
    }

    // MARK: XML

    private static let feed = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE rss>
        <rss><channel><title>t</title>
          <item kind='x &amp; y'><title> A &lt;b&gt; &#x41;</title><enclosure url="u1" length="1"/><t:n>ns</t:n></item>
          <!-- <item/> -->
          <item><title><![CDATA[<raw>]]></title><title>second</title>own</item>
        </channel></rss>
        """

    @Test func xml_takesTheElementsAtItsPath() throws {
        #expect(
            try rows(Self.feed, .xml(path: "/rss/channel/item"))
                == [
                    "kind=x & y title=A <b> A enclosure.url=u1 enclosure.length=1 enclosure= t:n=ns",
                    "title=<raw> =own",
                ])
        #expect(
            try rows(Self.feed, .xml(path: "/rss/*/item"), needed: ["enclosure.url"])
                == ["enclosure.url=u1", "=own"])
        #expect(try rows("<a><b/></a>", .xml(path: "/a/c")) == [])
    }

    @Test(arguments: [
        ("<a><b></a>", "1: `</a>`, but `<b>` is not closed"), ("<a>\n<b/>", "2: `<a>` is not closed"),
        ("<x/>", "1: there is no element `/a/b`"), ("<a>&nbsp;</a>", "1: the entity `&nbsp;` is not known"),
        ("<a>\n& </a>", "2: a `&` that begins no reference"), ("<a b=c/>", "1: the value of `b` stands in no quotes"),
        ("<!DOCTYPE a [<!ENTITY x 'y'>]><a/>", "1: the document type declares something, which is not read"),
        ("<?xml version='1.0' encoding='ISO-8859-1'?><a/>", "1: the text is in `ISO-8859-1`, and only UTF-8 is read"),
        ("<a/><b/>", "1: a second element after the first"), ("text", "1: text outside of any element"),
        ("", "1: no XML: there is no element"), ("<a><!-- x </a>", "1: a comment is not closed"),
    ]) func xml_faults(_ text: String, _ expected: String) {
        let path = RowFormat.xml(path: "/a/b")
        let told = problem(text, path)
        #expect(told == expected || told == expected.replacing("1: there", with: "0: there"))
    }

    @Test func xml_isNoDeeperThanItMayBe() {
        let text = String(repeating: "<a>", count: 200)
        #expect(problem(text, .xml(path: "/a")) == "1: elements are nested more than 128 deep")
    }

    // MARK: Links

    private static let listing = """
        <html><head><title><a href="no1"></title><script>"<a href='no2'>"</script></head><body>
        <!-- <a href="no3"> -->
        <A HREF="../">Parent</A> <a href='tool-1.0.tar.gz'>x</a>
        <a class=big href = tool-1.1.tar.gz >x</a><a href="./tool-1.0.tar.gz#top">again</a>
        <a href="/abs/tool-2.tar.gz?a=1&amp;b=2">x</a><a href="mailto:x@y.z">m</a><a name=x>no</a>
        <area href=" sub%20dir/ "><a href="#here">h</a><a href="//other.test/tool-3.tar.gz">o</a>
        """

    @Test func links_areResolvedAndThereOnce() throws {
        #expect(
            try rows(Self.listing, .links(match: nil), needed: ["name"]) == [
                "=https://host.test/pub/ name=pub", "=https://host.test/pub/list/tool-1.0.tar.gz name=tool-1.0.tar.gz",
                "=https://host.test/pub/list/tool-1.1.tar.gz name=tool-1.1.tar.gz",
                "=https://host.test/abs/tool-2.tar.gz?a=1&b=2 name=tool-2.tar.gz",
                "=https://host.test/pub/list/sub%20dir/ name=sub dir",
                "=https://other.test/tool-3.tar.gz name=tool-3.tar.gz",
            ])
        #expect(
            try rows(Self.listing, .links(match: #"^tool-[0-9.]+\.tar\.gz$"#), needed: ["name"]).count == 2)
    }

    @Test func links_followTheBaseOfThePage() throws {
        let text = "<base href='https://b.test/x/'><a href=y>y</a>"
        #expect(try rows(text, .links(match: nil), needed: ["url"]) == ["=https://b.test/x/y url=https://b.test/x/y"])
    }

    @Test func aPageWithoutAMatch_isAFault() {
        #expect(problem(Self.listing, .links(match: "zzz")) == "0: no link of the page matches `zzz`")
        #expect(problem("<p>", .links(match: nil)) == "0: the page has no link")
    }

    // MARK: In pieces, and anything at all

    private static let samples: [(RowFormat, String)] = [
        (.lines, "one\r\n\ntwo\nthree"), (.csv, "\u{FEFF}a,b\r\n\"x\r\ny\",2\n\"q\"\"q\",\"\"\r\n"),
        (.debian, packages),
        (.checksums, "\(sha)  a.bin\r\nSHA256 (b c) = \(sha)\nstray\n"),
        (.json(path: "$[*]"), #"[{"a": 1}, {"b": "ü"}]"#),
        (.xml(path: "/rss/channel/item"), feed), (.links(match: "tool"), listing),
    ]

    /// However a list is cut into pieces, its rows are the same.
    @Test func rowsDoNotDependOnThePieces() throws {
        var random = Seeded("rowsDoNotDependOnThePieces")
        for _ in 0..<Rounds.scaled(200) {
            let (format, text) = Self.samples[random.below(Self.samples.count)]
            let bytes = Array(text.utf8)
            let whole = try RowReader.rows(bytes, format, page: Self.page)
            var reader = RowReader(format, page: Self.page)
            var place = 0
            while place < bytes.count {
                let end = min(place + 1 + random.below(6), bytes.count)
                try reader.take(Array(bytes[place..<end]))
                place = end
            }
            let pieces = try reader.finish()
            #expect(pieces.rows == whole.rows && pieces.stray == whole.stray, "\(format)")
        }
    }

    /// Damaged lists end in rows or in a fault, whatever was done to them.
    @Test func damagedListsEndInRowsOrAFault() {
        var random = Seeded("damagedListsEndInRowsOrAFault")
        for _ in 0..<Rounds.scaled(2_000) {
            let (format, text) = Self.samples[random.below(Self.samples.count)]
            var bytes = Array(text.utf8)
            for _ in 0..<1 + random.below(5) where !bytes.isEmpty {
                let place = random.below(bytes.count)
                switch random.below(4) {
                case 0: bytes[place] = UInt8(random.below(256))
                case 1: bytes.remove(at: place)
                case 2:
                    bytes.insert(contentsOf: Array("<\"&;,:/\n >[".utf8).shuffled(using: &random).prefix(3), at: place)
                default: bytes.removeSubrange(place..<min(place + 1 + random.below(30), bytes.count))
                }
            }
            do {
                let table = try RowReader.rows(bytes, format, page: Self.page)
                #expect(table.rows.count <= bytes.count)
            } catch {
                // A row of CSV ends at a `\r` behind a closing quote, too.
                let lines = bytes.count { $0 == 0x0A || $0 == 0x0D } + 1
                #expect(!error.message.isEmpty && error.line <= lines, "\(format)")
            }
        }
    }
}
