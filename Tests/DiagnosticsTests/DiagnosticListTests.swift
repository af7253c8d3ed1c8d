import Diagnostics
import Testing

@Suite struct DiagnosticListTests {
    @Test func sortsByPlaceAndSaysTheSameThingOnce() {
        let (a, b) = (SourceText(name: "z.yaml", bytes: []), SourceText(name: "a.yaml", bytes: []))
        var list = DiagnosticList()
        list.warning("w", "late", at: SourceSpan(line: 9, column: 1), in: a)
        #expect(!list.hasErrors)
        list.error("e", "second file", at: SourceSpan(line: 1, column: 1), in: b)
        list.error("e", "same", at: SourceSpan(line: 2, column: 8), in: a)
        list.error("e", "left", at: SourceSpan(line: 2, column: 1), in: a)
        list.error("e", "same", at: SourceSpan(line: 2, column: 8), in: a)
        list.error("e", "nowhere")
        #expect(list.hasErrors)
        #expect(list.sorted().map(\.message) == ["nowhere", "left", "same", "late", "second file"])
        #expect(list.items.count == 6)
    }
}

@Suite struct SpellingTests {
    private let keys = [
        "maximumConnectionsPerHost", "allowsCellularAccess", "timeoutForRequest", "timeoutForResource", "retry",
        "redirects", "headers", "to", "url", "urls", "needs", "checksum", "credentials", "requestCachePolicy",
    ]

    @Test(
        arguments: [
            ("maxConnections", "maximumConnectionsPerHost"), ("max_connections_per_host", "maximumConnectionsPerHost"),
            ("MaximumConnectionsPerHost", "maximumConnectionsPerHost"), ("heders", "headers"), ("haeders", "headers"),
            ("header", "headers"), ("cachePolicy", "requestCachePolicy"), ("check-sum", "checksum"), ("ulr", "url"),
            ("redirect", "redirects"), ("requestTimeout", nil), ("frobnicate", nil), ("x", nil), ("", nil),
            ("credential", "credentials"), ("allowCellular", "allowsCellularAccess"), ("timeout", "timeoutForRequest"),
        ] as [(String, String?)])
    func findsWhatWasMeant(by typed: String, closest: String?) {
        #expect(Spelling.closest(to: typed, among: keys) == closest)
    }

    @Test(
        arguments: [("retires", "retry"), ("heades", "headers"), ("frobnicate", nil), ("", nil)] as [(String, String?)])
    func nearest_takesTheFewestChanges(_ typed: String, _ nearest: String?) {
        #expect(Spelling.nearest(to: typed, among: keys) == nearest)
    }

    @Test func aWordIsNoSlipOfItself() {
        #expect(Spelling.closest(to: "url", among: ["url"]) == nil)
    }
}
