import TestSupport
import Testing
import TransferModel

/// Captured values in their places.
@Suite struct CaptureFillingTests {
    private static func text(_ parts: String...) -> SecretText {
        SecretText(
            pieces: parts.map { part in
                part.hasPrefix("$")
                    ? .capture(task: "t", name: "v", escaping: part == "$raw" ? .none : .url) : .literal(part)
            })
    }

    private static func captured(_ value: String, isSecret: Bool = false, hosts: [HostPattern]? = nil) -> CapturedValues
    {
        var captured = CapturedValues()
        captured.keep([CapturedValue(name: "v", text: value, isSecret: isSecret, hosts: hosts)], of: "t")
        return captured
    }

    private static func filled(_ text: SecretText, _ value: String, _ place: SecretText.FilledPlace) -> String? {
        do {
            return try text.filled(from: captured(value), in: place).revealed
        } catch {
            return nil
        }
    }

    @Test func aURLStaysTheOneThatWasWritten() {
        let url = SecretText.FilledPlace.url(.scheme)
        #expect(Self.filled(Self.text("http://h/", "$", "/x"), "a b/c?d#e", url) == "http://h/a%20b/c%3Fd%23e/x")
        #expect(Self.filled(Self.text("http://h/?q=", "$"), "a&b=c/d", url) == "http://h/?q=a%26b%3Dc%2Fd")
        #expect(Self.filled(Self.text("http://", "$", "/x"), "host", url) == "http://host/x")
        #expect(Self.filled(Self.text("http://", "$", "/x"), "host/evil", url) == nil)
        #expect(Self.filled(Self.text("http://u:", "$", "@h/"), "p@w:d", url) == "http://u:p%40w%3Ad@h/")
        #expect(Self.filled(Self.text("$raw", "/x"), "http://h/y?z", url) == "http://h/y?z/x")
        #expect(Self.filled(Self.text("$raw", "?", "$"), "a", url) == "a?a")
        #expect(Self.filled(Self.text("http://h/", "$"), "..", url) == nil)
        for parts in [[".", "$"], ["$", "$"], ["%2e", "$"], ["$", "%2E"], ["a/", "$", "."]] {
            let pieces = ["http://h/"] + parts + ["/x"]
            let text = SecretText(
                pieces: pieces.map { $0 == "$" ? .capture(task: "t", name: "v", escaping: .url) : .literal($0) })
            #expect(Self.filled(text, ".", url) == nil, "\(parts)")
        }
        #expect(Self.filled(Self.text("http://h/a/../", "$", "$"), "b", url) == "http://h/a/../bb")
        #expect(Self.filled(Self.text("http://h/?q=", "$", "$"), ".", url) == "http://h/?q=..")
        #expect(Self.filled(Self.text("http://h/", "$raw"), "a?b", url) == "http://h/a?b")
        #expect(Self.filled(Self.text("http://h/", "$raw"), "a\nb", url) == nil)
    }

    /// Behind a host a value is the path, or an error: it changes neither the host nor its port.
    @Test(
        arguments: [
            ("/items/3", "http://h.test/items/3"), ("/a%20b/ä c", "http://h.test/a%20b/%C3%A4%20c"),
            ("//evil.test/x", "http://h.test//evil.test/x"), ("/@evil.test", "http://h.test/@evil.test"),
            ("", "http://h.test/"),
            ("items/3", nil), (".evil.test", nil), (".evil.test/", nil), ("@evil.test", nil), (":81", nil),
            ("evil", nil),
            ("/items?id=3", nil), ("/items#x", nil), ("\\evil.test", nil), ("/\\evil.test", nil), ("/../x", nil),
        ] as [(String, String?)])
    func aValueBehindAHost_isThePathOrAnError(_ value: String, _ url: String?) {
        let filled = Self.filled(Self.text("http://h.test", "$"), value, .url(.scheme))
        #expect(filled.flatMap { try? ResourceURL.parse($0).text } == url)
    }

    /// A URL without it means something else, such as the whole of a list.
    @Test(arguments: [
        (["http://h.test/x/", "$", "/y"], false), (["http://h.test/x/", "$"], false), (["http://h.test/", "$"], false),
        (["http://h.test/x/", "$", "?a"], false), (["http://h.test/x/", "$", "$", "/y"], false),
        (["http://h.test/x/a", "$", "/y"], true), (["http://h.test/x/", "$", ".json"], true),
        (["http://h.test/x?a=/", "$", "/"], true), (["http://h.test", "$", "/y"], true),
        (["http://h.test/x/", "$raw", "/y"], true),
    ])
    func anEmptyValue_isNoSegmentOfAPath(_ parts: [String], _ isTaken: Bool) throws {
        let text = SecretText(
            pieces: parts.map { part in
                part.hasPrefix("$")
                    ? .capture(task: "t", name: "v", escaping: part == "$raw" ? .none : .url) : .literal(part)
            })
        #expect((Self.filled(text, "", .url(.scheme)) != nil) == isTaken)
        guard !isTaken else { return }
        let error = try #require(
            #expect(throws: TransferError.self) { try text.filled(from: Self.captured(""), in: .url(.scheme)) })
        #expect(error.message == "the value of `${tasks.t.v}` is empty, and a part of the URL's path would be, too")
    }

    /// `${raw:…}`: as it is, but neither out of the path nor over what the job wrote behind it, nor to another host.
    @Test(
        arguments: [
            ("http://h.test/x/", "a%2Fb/c", "/y", "http://h.test/x/a%2Fb/c/y"),
            ("http://h.test/x/", "a?b=1", "", "http://h.test/x/a?b=1"),
            ("http://h.test/x/", "a?b=1", "&c=2", "http://h.test/x/a?b=1&c=2"),
            ("http://h.test/x?", "b=1&c=?", "&d=2", "http://h.test/x?b=1&c=?&d=2"),
            ("http://h.test/x/", "a#b", "", "http://h.test/x/a#b"),
            ("http://h.test", "/a?b=1", "", "http://h.test/a?b=1"),
            ("http://h.test/x/", "../../users/7", "/y", nil), ("http://h.test/x/", "a/%2E.", "/y", nil),
            ("http://h.test/x/.", ".", "/y", nil), ("http://h.test/x/", "a#b", "/y", nil),
            ("http://h.test/x/", "a?b", "/y", nil), ("http://h.test/x?a=", "1#", "&c=2", nil),
            ("http://h.test", ".evil.test/a", "", nil), ("http://h.test", "@evil.test/", "", nil),
        ] as [(String, String, String, String?)])
    func aRawValue_staysWhereItIsPut(_ before: String, _ value: String, _ behind: String, _ url: String?) {
        let text = SecretText(pieces: [
            .literal(before), .capture(task: "t", name: "v", escaping: .none), .literal(behind),
        ])
        #expect(Self.filled(text, value, .url(.scheme)) == url)
    }

    /// Within a host, and after a `.` or a `:` of the job's own, a value is what the job wants there.
    @Test(
        arguments: [
            (["http://", "$", ".h.test/"], "eu", "http://eu.h.test/"),
            (["http://cdn", "$", ".h.test/"], "3", "http://cdn3.h.test/"),
            (["http://h.", "$", "/"], "test", "http://h.test/"), (["http://h:", "$", "/"], "81", "http://h:81/"),
            (["http://h", "$", ":81/"], ".evil.test", nil), (["http://[::1]", "$", "/"], "8", nil),
            (["http://u", "$", "@h/"], "/x", "http://u%2Fx@h/"), (["http://", "$", "/x"], "/evil.test", nil),
        ] as [([String], String, String?)])
    func aValueWithinAHost_isWhatTheJobWantsThere(_ parts: [String], _ value: String, _ url: String?) {
        let text = SecretText(
            pieces: parts.map { $0 == "$" ? .capture(task: "t", name: "v", escaping: .url) : .literal($0) })
        #expect(Self.filled(text, value, .url(.scheme)) == url)
    }

    @Test func whatCannotStandInAURL_isShown_andWhatToWrite() throws {
        func error(_ value: String, isSecret: Bool = false) throws -> TransferError {
            try #require(
                #expect(throws: TransferError.self) {
                    try Self.text("http://h.test", "$").filled(
                        from: Self.captured(value, isSecret: isSecret), in: .url(.scheme))
                })
        }
        let behind = try error("items/3")
        #expect(behind.message == "`${tasks.t.v}` cannot stand right after the host of the URL: its value is `items/3`")
        let whole = "Write `url: ${item.href}`: it is resolved against the answer that it came from."
        #expect(behind.whatHelps(.data) == whole + " What is no link needs a `/`: `${api}/${item.id}`.")
        for link in ["items/a?x=1", "items#x", "https://h.test/items"] {
            #expect(try error(link).whatHelps(.data) == whole, "behind a `/` it would be encoded")
        }
        let query = try error("/items?id=3")
        #expect(query.message == "`${tasks.t.v}` would add another part to the URL: its value is `/items?id=3`")
        #expect(query.whatHelps(.data).contains("`url: ${item.href}`"))
        #expect(try error("word-one", isSecret: true).message.hasSuffix(": its value is `***`"))
    }

    /// Rows of one template that fail alike have one cause.
    @Test func valuesOfOneList_haveOneCause() {
        func common(_ row: Int, _ value: String) -> String {
            let list = CapturedValue(name: "items", text: "", value: .list([.string("a/1"), .string("b/22")]))
            var captured = CapturedValues()
            captured.keep([list], of: "t")
            let text = SecretText(pieces: [
                .literal("http://h.test"), .capture(task: "t", name: "items[\(row)]", escaping: .url),
            ])
            do {
                return try text.filled(from: captured, in: .url(.scheme)).revealed
            } catch {
                return TransferError.commonWords(error.message, of: error.name)
            }
        }
        #expect(common(0, "a/1") == common(1, "b/22"))
        #expect(common(0, "a/1").contains("right after the host"))
    }

    /// A relative URL is resolved against the answer that had it, of a list that of its page.
    @Test func aRelativeValueThatIsTheURL_isResolvedAgainstItsAnswer() throws {
        var list = CapturedValue(
            name: "items", text: "",
            value: .list([.string("1"), .string("/x?y=1"), .string("https://b.test/"), .string("")]))
        list.answers = [.init(url: "https://a.test/v1/list"), .init(first: 1, url: "https://a.test/v2/list")]
        var single = CapturedValue(name: "link", text: "../up")
        single.answers = [.init(url: "https://a.test/v1/list?page=2")]
        var captured = CapturedValues()
        captured.keep([list, single], of: "t")
        func url(_ name: String, _ more: String = "") throws -> String? {
            var values = TaskOptions.Values(policies: TransferPolicies())
            values.awaitsCaptures = true
            let task = TaskSpecification(
                id: "u", type: .data, session: SessionIndex(raw: 0),
                location: .awaitingCapture(
                    SecretText(
                        pieces: [.capture(task: "t", name: name, escaping: .none)]
                            + (more.isEmpty ? [] : [.literal(more)]))), destination: nil, line: 1,
                options: TaskOptions(values))
            return try task.filled(from: captured).location.url?.text
        }
        #expect(try url("items[0]") == "https://a.test/v1/1")
        #expect(try url("items[0]", "/meta") == "https://a.test/v1/1/meta")
        #expect(try url("items[1]") == "https://a.test/x?y=1")
        #expect(try url("items[2]") == "https://b.test/")
        #expect(try url("link") == "https://a.test/up")
        #expect(throws: TransferError.self) { try url("items[3]") }
    }

    @Test(arguments: [
        ("name", "/d/name"), ("a/b", "/d/a/b"), ("..", nil), ("a/../b", nil), ("a/..", nil), ("", nil), ("a/", nil),
        (".", nil), ("a/.", nil), ("\u{7F}", nil), ("a\0", nil), ("...", "/d/..."), ("/abs", "/d//abs"),
    ])
    func aPathStaysInItsFolder(_ value: String, _ path: String?) {
        #expect(Self.filled(Self.text("/d/", "$"), value, .path) == path)
    }

    @Test func aPathIsLookedAtAsAWhole() {
        #expect(Self.filled(Self.text("/d/.", "$"), ".", .path) == nil)
        #expect(Self.filled(Self.text("/d/", "$", "./x"), ".", .path) == nil)
        #expect(Self.filled(Self.text("/d/", "$", "$", "/x"), ".", .path) == nil)
        #expect(Self.filled(Self.text("/d/../e/", "$"), "x", .path) == "/d/../e/x", "the job's own dots are its own")
        #expect(Self.filled(Self.text("/d/", "$", "/"), "x", .path) == "/d/x/")
        #expect(Self.filled(Self.text("/d/", "$", ".txt"), "", .path) == "/d/.txt")
    }

    /// No value brings another origin, another component, another header line, or another folder.
    @Test func noValueEscapes() throws {
        let alphabet = Array("ab./?#&=@:%\\ \u{e4}\r\n\0\t[]")
        var random = Seeded("noValueEscapes")
        for _ in 0..<Rounds.scaled(500) {
            let value = String(
                (0..<Int.random(in: 0..<8, using: &random)).map { _ in alphabet.randomElement(using: &random) ?? "a" })
            if let url = Self.filled(Self.text("http://h:81/p/", "$", "/e?q=", "$", "&z=1"), value, .url(.scheme)) {
                let parsed = try ResourceURL.parse(url)
                #expect(parsed.origin == Origin(scheme: "http", host: "h", port: 81), "\(value)")
                #expect(parsed.path.hasPrefix("/p/") && parsed.path.hasSuffix("/e"), "\(value)")
                #expect(parsed.query?.split(separator: "&").count == 2, "\(value)")
            }
            if let header = Self.filled(Self.text("a ", "$"), value, .header("X")) {
                #expect(!header.utf8.contains { $0 == 13 || $0 == 10 || $0 == 0 })
            }
            if let path = Self.filled(Self.text("/d/", "$"), value, .path) {
                #expect(path.hasPrefix("/d/") && !path.hasSuffix("/"))
                #expect(!path.split(separator: "/").contains(".."), "\(value)")
            }
        }
    }

    @Test func secretsStaySecretAndBound() throws {
        let hosts = [try #require(HostPattern("h.example"))]
        let text = try Self.text("Bearer ", "$").filled(
            from: Self.captured("w/rd", isSecret: true, hosts: hosts), in: .header("A"))
        #expect(text.redacted == "Bearer ***")
        #expect(text.revealed == "Bearer w/rd")
        #expect(text.secretBarred(from: Origin(scheme: "https", host: "other.example", port: 443)) == "${tasks.t.v}")
        #expect(text.secretBarred(from: Origin(scheme: "https", host: "h.example", port: 443)) == nil)
    }

    @Test func whatNobodyCapturedHasNoValue() {
        #expect(throws: TransferError.self) { try Self.text("$").filled(from: CapturedValues(), in: .text) }
    }

    @Test func checksumsAreReadAsTheyAreWritten() {
        #expect(Checksum("md5:d41d8cd98f00b204e9800998ecf8427E")?.description == "md5:d41d8cd98f00b204e9800998ecf8427e")
        for text in ["", "md5:", "md5:zz1d8cd98f00b204e9800998ecf8427e", "d41d8cd98f00b204e9800998ecf8427e", "crc:00"] {
            #expect(Checksum(text) == nil, "\(text)")
        }
    }

    /// The host may be known before the URL is.
    @Test(arguments: [
        ("https://a.test:8443/x/", "https://a.test:8443/"), ("https://a.test?", "https://a.test/"),
        ("https://a.test", nil), ("https://a.te", nil), ("", nil), ("https://exa mple/", nil),
    ])
    func theOriginIsKnownWhereTheTextReachesBeyondIt(_ start: String, _ origin: String?) {
        let text = SecretText(pieces: [.literal(start), .capture(task: "t", name: "n", escaping: .none)])
        #expect(TaskSpecification.Location.awaitingCapture(text).originURL?.text == origin)
    }
}
