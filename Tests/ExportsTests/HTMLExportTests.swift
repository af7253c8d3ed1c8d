import Digests
import Exports
import Reporting
import TestSupport
import Testing
import TextFormats
import TransferModel

@Suite struct HTMLExportTests {
    /// The page without the files that every page has.
    private func ownPart(of page: String) throws -> String {
        var text = page
        for (start, end) in [("<style>", "</style>"), ("<svg class=\"hidden\"", "</svg>"), ("<script>", "</script>")] {
            let from = try #require(text.firstRange(of: start))
            let to = try #require(text[from.upperBound...].firstRange(of: end))
            text.replaceSubrange(from.upperBound..<to.lowerBound, with: "…")
        }
        return Self.withoutHashes(text)
    }

    private static func withoutHashes(_ text: String) -> String {
        text.split(separator: "'sha256-", omittingEmptySubsequences: false).enumerated().map { place, part in
            place == 0 ? String(part) : String(part.drop { $0 != "'" })
        }.joined(separator: "'sha256-…")
    }

    private func inside(_ start: String, _ end: String, _ text: String) throws -> String {
        let from = try #require(text.firstRange(of: start))
        let to = try #require(text[from.upperBound...].firstRange(of: end))
        return String(text[from.upperBound..<to.lowerBound])
    }

    private func data(of page: String) throws -> JSONValue {
        try JSONParser.parse(Array(inside("id=\"data\">", "</script>", page).utf8))
    }

    @Test func thePageOfTheRecordedReport() throws {
        let page = try Recorded.written(HTMLExport()).text
        try Snapshot.check(ownPart(of: page), "Golden/report.html")
    }

    /// The page's own policy lets its style and its script through by their hashes, and nothing else.
    @Test func thePolicyNamesTheStyleAndTheScript() throws {
        let page = try Recorded.written(HTMLExport()).text
        let policy = try inside("Security-Policy\" content=\"", "\"", page)
        func hash(_ text: String) -> String { "'sha256-\(Base64.encode(Checksum.mark(of: Array(text.utf8)).bytes))'" }
        let style = try inside("<style>", "</style>", page)
        let script = try inside("<script>", "</script>", page)
        #expect(policy.hasPrefix("default-src 'none'; style-src \(hash(style)); script-src \(hash(script));"))
        for place in ["src=", "href=\"http", "url(http", " style=\"", " onclick", "@import"] {
            #expect(!page.contains(place) || script.contains(place) || style.contains(place), "\(place)")
        }
        #expect(!script.contains("innerHTML") && !script.contains("eval(") && !script.contains("document.write"))
    }

    /// Ids, URLs, messages, headers and bodies come from job files and servers.
    @Test func textThatWouldBeMarkupStaysText() throws {
        let evil = #"</script><script>hack()</script><!--\u2028\u202e\"'&"#
        let report = try TemporaryTree()
        try report.write("report.json", Self.report(tasks: [Self.failure(text: evil)]))
        let page = try Recorded.written(HTMLExport(), report.path("report.json")).text
        #expect(!page.contains("<script>hack") && !page.contains("<!--"))
        #expect(page.components(of: "</script") == 2)
        for scalar: Unicode.Scalar in ["\u{2028}", "\u{202E}"] { #expect(!page.unicodeScalars.contains(scalar)) }
        let shown = #"</script><script>hack()</script><!--\u{2028}\u{202e}"'&"#
        let data = try data(of: page)
        #expect(data["tasks"]?["id"] == .array([.string(shown)]))
    }

    @Test func aBodyKeepsItsLines() {
        #expect(SafeText.lines("a\r\nb\tc\n\u{202E}d\re\r") == "a\nb\tc\n\\u{202e}d\\re\\r")
        #expect(SafeText.line("a\r\nb") == "a\\r\\nb")
    }

    /// Of a run with more tasks than a page can hold, those that did not succeed are whole and the others counted by host.
    @Test func aRunOfTooManyTasksIsCountedByHost() throws {
        let path = Recorded.folder + "/Golden/nightly-mirror.json"
        let whole = try data(of: Recorded.written(HTMLExport(), path).text)
        let page = try Recorded.written(HTMLExport(mostWhole: 38), path).text
        let counted = try data(of: page)
        #expect(whole["whole"] == .boolean(true) && whole["series"] == nil && whole["tasks"]?["number"] == nil)
        #expect(counted["whole"] == .boolean(false) && page.contains("holds the 7 that did not succeed"))
        guard case .array(let ids) = counted["tasks"]?["id"], case .array(let hosts) = counted["series"]?["hosts"]
        else {
            Issue.record("no ids or hosts")
            return
        }
        #expect(ids.count == 7 && ids.contains(.string("private-tags")) && !ids.contains(.string("release")))
        let names = hosts.map { $0["host"] }
        #expect(names.contains(.string("https://cdn.example.net:443")) && names.count == 4)
    }

    /// All times of the requests are in the counts: requests at a time, summed over the run, are the requests' time.
    @Test func theCountsOfAHostAddUpToItsRequests() throws {
        let path = Recorded.folder + "/Golden/nightly-mirror.json"
        let whole = try data(of: Recorded.written(HTMLExport(), path).text)
        let counted = try data(of: Recorded.written(HTMLExport(mostWhole: 0), path).text)
        func numbers(_ value: JSONValue?) -> [Double] {
            guard case .array(let elements) = value else { return [] }
            return elements.compactMap { Self.number($0) }
        }
        let step = try #require(counted["series"]?["step"].flatMap { Self.number($0) })
        guard case .array(let hosts) = counted["series"]?["hosts"] else { return }
        for (place, name) in ["queued", "lookup", "connect", "tls", "send", "wait", "receive"].enumerated() {
            let sum = numbers(whole["requests"]?[name]).reduce(0, +)
            let inSteps = hosts.map { host -> Double in
                guard case .array(let phases) = host["phases"] else { return 0 }
                return numbers(phases[place]).reduce(0, +) / 100 * step
            }.reduce(0, +)
            #expect(abs(sum - inSteps) < 5 + sum / 50, "\(name): \(sum) and \(inSteps)")
        }
    }

    private static func number(_ value: JSONValue) -> Double? {
        guard case .number(let text) = value else { return nil }
        return Double(text)
    }

    private static func report(tasks: [String]) -> String {
        let counts = [
            "tasks", "succeeded", "failed", "cancelled", "skipped", "deferred", "tolerated", "attempts", "retries",
            "redirects", "cacheHits", "unchanged", "bytesReceived", "bytesSent", "bytesSaved",
        ].map { "\"\($0)\":\($0 == "tasks" ? tasks.count : 0)" }.joined(separator: ",")
        return """
            {"format":"transfer-run/report","version":1,"runner":{"version":"0","libcurl":"0","pid":1,"host":"h"},
            "job":{"name":"j","file":"j.yaml","sha256":null,"variables":{}},"startedAt":"2026-11-27T06:00:00.000Z",
            "finishedAt":"2026-11-27T06:00:01.000Z","duration":1,"outcome":"failed","exitStatus":1,
            "totals":{\(counts)},"sessions":[],"groups":[],"hooks":[],"tasks":[
            \(tasks.joined(separator: ",\n"))
            ]}
            """
    }

    /// A failed task with the same text in each place that comes from outside.
    private static func failure(text: String) -> String {
        let request = "{\"method\":\"GET\",\"url\":\"http://h/\(text)\"}"
        return """
            {"id":"\(text)","session":"\(text)","type":"data","group":"\(text)","description":"\(text)",
            "labels":{"a":"\(text)"},"becameDownload":false,"outcome":"failed","tolerated":false,"changed":null,
            "source":null,"cache":null,"request":{"original":\(request),"current":\(request)},
            "response":{"status":500,"url":"http://h/\(text)","mimeType":null,"charset":null,"expectedLength":null,
            "suggestedFilename":null,"contentEncoding":null,"headers":[["\(text)","\(text)"]]},
            "file":{"path":"\(text)","bytes":1,"checksum":null},"length":null,"body":{"text":"\(text)"},"parts":[],
            "captures":{"\(text)":"\(text)"},"createdAt":null,"startedAt":null,"finishedAt":null,"duration":null,
            "waits":[],"attempts":[],"redirects":[{"status":302,"from":"\(text)","to":"\(text)","method":"GET",
            "action":"followed","stripped":["\(text)"]}],"challenges":[{"method":"basic","host":"\(text)",
            "realm":"\(text)","level":"task","disposition":"use","previousFailureCount":0}],
            "error":{"domain":"transfer-run","name":"unexpectedResponse","code":null,"message":"\(text)","curl":null,
            "errno":null,"reason":null},"explanation":"\(text). \(text)"}
            """
    }
}

extension String {
    fileprivate func components(of part: String) -> Int {
        var (rest, count) = (self[...], 0)
        while let found = rest.firstRange(of: part) {
            rest = rest[found.upperBound...]
            count += 1
        }
        return count
    }
}
