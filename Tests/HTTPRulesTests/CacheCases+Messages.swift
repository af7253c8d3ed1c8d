/// The rest of the cases: those about what messages carry.
extension CacheCases {
    private static func vary(
        _ names: String, _ first: String, _ second: String, _ kind: CacheCase.Kind, _ outcome: CacheStep.Outcome
    ) -> CacheCase {
        let lines = names.split(separator: "/", omittingEmptySubsequences: false).map { "| Vary: \($0)" }.joined()
        return pair(
            "Vary: \(names), \(first) then \(second)", kind, "Cache-Control: max-age=5000 | Date: @0" + lines, outcome,
            asks: first, then: second)
    }

    // Section 4.1; `/` begins another line
    static let varying: [CacheCase] =
        [
            vary("Foo", "Foo: 1", "Foo: 1", .optimal, .cached), vary("Foo", "Foo: 1", "foo: 1", .optimal, .cached),
            vary("Foo", "Foo: 1", "Foo: 2", .required, .network), vary("Foo", "", "Foo: 1", .required, .network),
            vary("Foo", "Foo: 1", "", .required, .network), vary("Foo", "", "Foo:", .required, .network),
            vary("Foo", "Foo: 1 | Other: 2", "Foo: 1 | Other: 3", .optimal, .cached),
            vary("Foo, Bar", "Foo: 1 | Bar: a", "Foo: 1 | Bar: a", .optimal, .cached),
            vary("Foo, Bar", "Foo: 1 | Bar: a", "Foo: 2 | Bar: a", .required, .network),
            vary("Foo, Bar", "Foo: 1 | Bar: a", "", .required, .network),
            vary("Foo, Bar, Baz", "Foo: 1 | Bar: a | Baz: 7", "Foo: 1 | Bar: a | Baz: 7", .optimal, .cached),
            vary("Foo, Bar, Baz", "Foo: 1 | Bar: a | Baz: 7", "Foo: 2 | Bar: a | Baz: 7", .required, .network),
            vary("Foo, Bar, Baz", "Foo: 1 | Bar: a | Baz: 7", "Foo: 1 | Baz: 7 | Bar: ab", .required, .network),
            vary("Foo, Bar, Baz", "Foo: 1 | Baz: 7", "Foo: 1 | Baz: 7", .optimal, .cached),
            vary("Foo", "Foo: 1, 2", "Foo: 1 | Foo: 2", .optimal, .cached),
            vary("Foo", "Foo: 1,2", "Foo:  1,  2 ", .optimal, .cached),
            vary("Foo", "Foo: \"1, 2\"", "Foo: \"1,2\"", .required, .network),
            vary("Accept-Language", "Accept-Language: en, de", "Accept-Language: eN, De", .optimal, .cached),
            vary("Accept-Language", "Accept-Language: en, de", "Accept-Language:  en ,   de", .optimal, .cached),
            vary("Accept-Encoding", "Accept-Encoding: gzip, br", "Accept-Encoding: br,GZIP", .optimal, .cached),
            // Deliberately: servers read a preference into the order, so this is another request to them.
            vary("Accept-Language", "Accept-Language: en, de", "Accept-Language: de, en", .check, .network),
            CacheCase(
                name: "two variants beside each other", kind: .optimal,
                steps: [
                    CacheStep(request: "Foo: 1", answer: "Cache-Control: max-age=5000 | Vary: Foo", body: "one"),
                    CacheStep(request: "Foo: 2", answer: "Cache-Control: max-age=5000 | Vary: Foo", body: "two"),
                    CacheStep(request: "Foo: 1", outcome: .cached, clientBody: "one"),
                    CacheStep(request: "Foo: 2", outcome: .cached, clientBody: "two"),
                ]),
        ]
        + ["*", "*, *", "*/*", ", *", "/*", "*, Foo", "Foo, *"].map {
            vary($0, "Foo: 1", "Foo: 1", .required, .network)
        }

    // Section 4.3
    static let validation: [CacheCase] = [
        pair("asks with a strong tag", .optimal, "Cache-Control: max-age=2 | ETag: \"abc\"", .asksByTag),
        pair("asks with a weak tag", .optimal, "Cache-Control: max-age=2 | ETag: W/\"abc\"", .asksByTag),
        pair("asks with a date", .optimal, "Cache-Control: max-age=2 | Last-Modified: @-9000 | Date: @0", .asksByDate),
        pair(
            "asks for the variant", .required, "Expires: @1 | ETag: \"abc\" | Date: @0 | Vary: Abc", .asksByTag,
            asks: "Abc: 123", then: "Abc: 123"),
        // Deliberately: a tag that is none may mean something else to the server.
        pair("a tag without quotes", .check, "Cache-Control: max-age=2 | ETag: abc", .network),
        CacheCase(
            name: "the task's own condition is its own", kind: .check,
            steps: [
                CacheStep(answer: "Cache-Control: max-age=3600 | ETag: \"a\""),
                CacheStep(request: "If-None-Match: \"b\"", outcome: .network, sends: "If-None-Match: \"b\""),
            ]),
    ]

    private static func field(_ line: String, _ kind: CacheCase.Kind = .required) -> CacheCase {
        pair("kept: \(line)", kind, "Date: @0 | Cache-Control: max-age=3600 | \(line)", .cached, shows: line)
    }

    private static func dropped(_ name: String) -> CacheCase {
        pair(
            "not kept: \(name)", .required, "Date: @0 | Cache-Control: max-age=3600 | \(name): x", .cached,
            hides: [name])
    }

    // Section 3.1
    static let storedFields: [CacheCase] =
        [
            "Test-Header: a", "X-Test-Header: a", "Content-Foo: a", "X-Content-Foo: a", "Content-Encoding: a",
            "Content-Length: 10", "Content-Location: /bar", "Content-MD5: N7UdGUp1E+RbVvZSTy1R8g==",
            "Content-Range: a", "Content-Security-Policy: default-src 'self'", "Content-Type: text/plain;charset=utf-8",
            "Clear-Site-Data: cookies", "ETag: \"g\"", "Expires: Mon, 11 Jan 2038 11:11:11 GMT", "Public-Key-Pins: a",
            "Set-Cookie: a=c", "Set-Cookie2: a=c", "X-Frame-Options: deny", "X-XSS-Protection: 1; mode=block",
        ].map { field($0) }
        + [
            "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
            "Proxy-Connection", "TE", "Transfer-Encoding", "Upgrade",
        ].map(dropped)
        + [
            pair(
                "what Connection names", .required,
                "Cache-Control: max-age=100000 | Connection: a, B | A: 1 | b: 2 | C: 3", .cached, shows: "C: 3",
                hides: ["A", "B", "Connection"]),
            pair(
                "Connection cannot take back a no-cache", .required,
                "Cache-Control: max-age=9, no-cache | Connection: cache-control", .network),
        ]

    private static func update(_ old: String, _ new: String, kept: String? = nil) -> CacheCase {
        let shown = kept ?? new
        return CacheCase(
            name: "a 304 with \(new)", kind: .required,
            steps: [
                CacheStep(answer: "Date: @0 | Cache-Control: max-age=2 | ETag: \"e\" | \(old)"),
                CacheStep(
                    answer: "Date: @0 | Cache-Control: max-age=2 | ETag: \"e\" | \(new)", wait: 1, outcome: .asksByTag,
                    shows: shown),
                CacheStep(outcome: .cached, shows: shown),
            ])
    }

    // Sections 3.2 and 4.3.4
    static let updatedFields: [CacheCase] =
        [
            ("Test-Header: a", "Test-Header: b"), ("X-Content-Foo: a", "X-Content-Foo: b"),
            ("Content-Foo: a", "Content-Foo: b"),
            ("Content-Location: /foo", "Content-Location: /bar"), ("Content-MD5: a", "Content-MD5: b"),
            ("Content-Security-Policy: a", "Content-Security-Policy: b"), ("Content-Type: a/b", "Content-Type: c/d"),
            ("Clear-Site-Data: cache", "Clear-Site-Data: cookies"), ("Public-Key-Pins: a", "Public-Key-Pins: b"),
            ("Set-Cookie: a=b", "Set-Cookie: a=c"), ("X-Frame-Options: deny", "X-Frame-Options: sameorigin"),
            ("Expires: Fri, 01 Jan 2038 01:01:01 GMT", "Expires: Mon, 11 Jan 2038 11:11:11 GMT"),
        ].map { update($0, $1) }
        + [
            update("Content-Length: 10", "Content-Length: 36", kept: "Content-Length: 10"),
            // Deliberately: these say what the held bytes are.
            update("Content-Encoding: a", "Content-Encoding: b", kept: "Content-Encoding: a"),
            update("Content-Range: a", "Content-Range: b", kept: "Content-Range: a"),
            update("Keep: 1", "Connection: x | Keep-Alive: 3", kept: "Keep: 1"),
            CacheCase(
                name: "a 304 that makes it fresh for longer", kind: .required,
                steps: [
                    CacheStep(answer: "Date: @0 | Cache-Control: max-age=1 | ETag: \"e\" | Age: 0"),
                    CacheStep(
                        answer: "Date: @0 | Cache-Control: max-age=3600 | ETag: \"e\"", wait: 1000, outcome: .asksByTag),
                    CacheStep(outcome: .cached, shows: "Cache-Control: max-age=3600"),
                ]),
            CacheCase(
                name: "a 304 without a Date begins a new life", kind: .optimal,
                steps: [
                    CacheStep(answer: "Date: @0 | Cache-Control: max-age=60 | ETag: \"e\" | Age: 50", wait: 30),
                    CacheStep(answer: "ETag: \"e\"", wait: 30, outcome: .asksByTag), CacheStep(outcome: .cached),
                ]),
            CacheCase(
                name: "a 304 of another strong tag is not ours", kind: .required,
                steps: [
                    CacheStep(answer: "Cache-Control: max-age=2 | ETag: \"e\"", body: "old"),
                    CacheStep(
                        status: 304, answer: "Cache-Control: max-age=3600 | ETag: \"f\"", body: "", outcome: .network,
                        clientStatus: 304),
                    CacheStep(answer: "N: 3", outcome: .network, shows: "N: 3"),
                ]),
            CacheCase(
                name: "a 304 that says no-store is the last use", kind: .required,
                steps: [
                    CacheStep(answer: "Cache-Control: max-age=2 | ETag: \"e\""),
                    CacheStep(answer: "Cache-Control: no-store, max-age=99 | ETag: \"e\"", outcome: .asksByTag),
                    CacheStep(answer: "N: 3", outcome: .network, shows: "N: 3"),
                ]),
        ]

    private static func head(_ name: String, _ first: String, _ head: CacheStep, _ last: CacheStep) -> CacheCase {
        CacheCase(name: name, kind: .check, steps: [CacheStep(answer: first), head, last])
    }

    // Sections 4 and 4.3.5
    static let heads: [CacheCase] = [
        head(
            "a HEAD is answered by a GET's answer", "Cache-Control: max-age=99 | A: 1",
            CacheStep(method: "HEAD", outcome: .cached, clientBody: "", shows: "A: 1"), CacheStep(outcome: .cached)),
        head(
            "a HEAD that must go out is a HEAD", "Cache-Control: max-age=2 | A: 1",
            CacheStep(method: "HEAD", body: "", outcome: .network, sendsMethod: "HEAD"), CacheStep(outcome: .network)),
        head(
            "a HEAD that proves it the same", "Cache-Control: max-age=2 | ETag: \"e\" | A: 1",
            CacheStep(
                method: "HEAD", answer: "Cache-Control: max-age=99 | ETag: \"e\" | A: 2", body: "", outcome: .network),
            CacheStep(outcome: .cached, clientBody: "0123456789", shows: "A: 2")),
        head(
            "a HEAD that proves nothing", "Cache-Control: max-age=2 | A: 1",
            CacheStep(method: "HEAD", answer: "Cache-Control: max-age=99 | A: 2", body: "", outcome: .network),
            CacheStep(outcome: .network)),
        head(
            "a HEAD with another tag", "Cache-Control: max-age=99, no-cache=\"x\" | ETag: \"e\"",
            CacheStep(
                method: "HEAD", request: "Cache-Control: no-cache", answer: "ETag: \"f\"", body: "",
                outcome: .network),
            CacheStep(outcome: .network)),
        head(
            "a HEAD with another length", "Cache-Control: max-age=99 | Last-Modified: @-500",
            CacheStep(
                method: "HEAD", request: "Cache-Control: no-cache", answer: "Content-Length: 11", body: "",
                outcome: .network),
            CacheStep(outcome: .network)),
        head(
            "a HEAD that finds it gone", "Cache-Control: max-age=99",
            CacheStep(method: "HEAD", request: "Cache-Control: no-cache", status: 410, body: "", outcome: .network),
            CacheStep(outcome: .network)),
    ]

    private static func after(
        _ method: String, _ kind: CacheCase.Kind, _ outcome: CacheStep.Outcome, status: Int = 200,
        at path: String = "/case",
        saying answer: String = "", _ target: String = "/case"
    ) -> CacheCase {
        CacheCase(
            name: "\(method) \(path) \(status) \(answer), then GET \(target)", kind: kind,
            steps: [
                CacheStep(path: target, answer: "Cache-Control: max-age=100000 | Date: @0"),
                CacheStep(method: method, path: path, status: status, answer: answer, outcome: .network),
                CacheStep(path: target, outcome: outcome),
            ])
    }

    // Section 4.4
    static let invalidations: [CacheCase] =
        ["POST", "PUT", "DELETE", "M-SEARCH"].flatMap { method in
            [
                after(method, .required, .network), after(method, .optimal, .cached, status: 500),
                after(method, .optimal, .cached, status: 404), after(method, .required, .network, status: 303),
                after(method, .check, .network, saying: "Location: /other", "/other"),
                after(method, .check, .network, saying: "Location: http://origin.test:80/other", "/other"),
                after(method, .check, .network, saying: "Content-Location: other", "/other"),
                after(
                    method, .required, .cached, at: "/case", saying: "Location: http://elsewhere.test/other", "/other"),
            ]
        } + ["OPTIONS", "TRACE"].map { after($0, .required, .cached) }

    private static func range(
        _ first: String, _ held: String, _ body: String, _ second: String, _ answer: String?
    ) -> CacheCase {
        let isPart = !held.isEmpty
        let outcome: CacheStep.Outcome = answer == nil ? .network : .cached
        return CacheCase(
            name: "holding \(isPart ? held : "all") \(body), asked for \(second)", kind: .optimal,
            steps: [
                CacheStep(
                    request: first, status: isPart ? 206 : 200,
                    answer: "Cache-Control: max-age=3600 | A: 1" + (isPart ? "| Content-Range: \(held)" : ""),
                    body: body),
                CacheStep(
                    request: second, status: answer == nil ? 200 : 206, outcome: outcome,
                    clientStatus: answer == nil ? 200 : 206,
                    clientBody: answer, shows: answer == nil ? "" : "A: 1"),
            ])
    }

    // Sections 3.3 and 3.4
    static let ranges: [CacheCase] = [
        range("", "", "01234567890", "Range: bytes=0-1", "01"),
        range("", "", "01234567890", "Range: bytes=1-", "1234567890"),
        range("", "", "0123456789A", "Range: bytes=-1", "A"),
        range("", "", "0123456789", "Range: bytes=5-99", "56789"),
        range("", "", "0123456789", "Range: bytes=-99", "0123456789"),
        range("", "", "0123456789", "Range: bytes=10-", nil),
        range("", "", "0123456789", "Range: bytes=0-1,4-5", nil),
        range("", "", "0123456789", "Range: lines=0-1", nil),
        range("", "", "0123456789", "Range: bytes=-0", nil),
        range("", "", "", "Range: bytes=0-", nil),
        range("Range: bytes=-5", "bytes 5-9/10", "56789", "Range: bytes=-5", "56789"),
        range("Range: bytes=-5", "bytes 5-9/10", "56789", "Range: bytes=6-8", "678"),
        range("Range: bytes=-5", "bytes 5-9/10", "56789", "Range: bytes=6-", "6789"),
        range("Range: bytes=-5", "bytes 5-9/10", "56789", "Range: bytes=-1", "9"),
        range("Range: bytes=-5", "bytes 5-9/10", "56789", "Range: bytes=4-6", nil),
        range("Range: bytes=-5", "bytes 5-9/10", "56789", "", nil),
        range("Range: bytes=-5", "bytes 5-9/10", "5678", "Range: bytes=-5", nil),
        range("Range: bytes=-5", "bytes 5-9/*", "56789", "Range: bytes=-5", nil),
        CacheCase(
            name: "two parts of one thing are the whole", kind: .optimal,
            steps: [
                CacheStep(
                    request: "Range: bytes=0-4", status: 206,
                    answer: "Cache-Control: max-age=99 | Content-Range: bytes 0-4/10 | ETag: \"e\"", body: "01234"),
                CacheStep(
                    request: "Range: bytes=5-9", status: 206,
                    answer: "Cache-Control: max-age=99 | Content-Range: bytes 5-9/10 | ETag: \"e\"", body: "56789",
                    outcome: .network),
                CacheStep(
                    outcome: .cached, clientStatus: 200, clientBody: "0123456789", shows: "Content-Length: 10",
                    hides: ["Content-Range"]),
                CacheStep(request: "Range: bytes=3-6", outcome: .cached, clientStatus: 206, clientBody: "3456"),
            ]),
        CacheCase(
            name: "a digest of one message says nothing of other bytes", kind: .required,
            steps: [
                CacheStep(
                    request: "Range: bytes=0-4", status: 206,
                    answer:
                        "Cache-Control: max-age=99 | Content-Range: bytes 0-4/10 | ETag: \"e\" | Content-Digest: sha-256=:AA==:",
                    body: "01234"),
                CacheStep(
                    request: "Range: bytes=5-9", status: 206,
                    answer:
                        "Cache-Control: max-age=99 | Content-Range: bytes 5-9/10 | ETag: \"e\" | Content-Digest: sha-256=:AB==: | Content-MD5: AA==",
                    body: "56789", outcome: .network),
                CacheStep(
                    outcome: .cached, clientStatus: 200, clientBody: "0123456789", shows: "Content-Length: 10",
                    hides: ["Content-Digest", "Content-MD5"]),
            ]),
        CacheCase(
            name: "a digest of the whole says nothing of a part", kind: .required,
            steps: [
                CacheStep(answer: "Cache-Control: max-age=99 | Content-Digest: sha-256=:AA==:", body: "0123456789"),
                CacheStep(
                    request: "Range: bytes=3-6", outcome: .cached, clientStatus: 206, clientBody: "3456",
                    hides: ["Content-Digest"]),
            ]),
        CacheCase(
            name: "a digest of no bytes does not replace that of the bytes that are held", kind: .required,
            steps: [
                CacheStep(
                    answer: "Cache-Control: max-age=0 | ETag: \"e\" | Content-Digest: sha-256=:AA==:",
                    body: "0123456789"),
                CacheStep(
                    status: 304, answer: "Cache-Control: max-age=99 | ETag: \"e\" | Content-Digest: sha-256=:AB==:",
                    outcome: .asksByTag, clientStatus: 200, clientBody: "0123456789",
                    shows: "Content-Digest: sha-256=:AA==:"),
            ]),
        CacheCase(
            name: "two parts of two things stay two", kind: .required,
            steps: [
                CacheStep(
                    request: "Range: bytes=0-4", status: 206,
                    answer: "Cache-Control: max-age=99 | Content-Range: bytes 0-4/10 | ETag: \"e\"", body: "01234"),
                CacheStep(
                    request: "Range: bytes=5-9", status: 206,
                    answer: "Cache-Control: max-age=99 | Content-Range: bytes 5-9/10 | ETag: \"f\"", body: "56789",
                    outcome: .network),
                CacheStep(outcome: .network),
            ]),
    ]

    static let others: [CacheCase] = [
        pair("the age is told", .required, "Cache-Control: max-age=100000 | Date: @0", .cached, shows: "Age: >2"),
        pair(
            "an age is added to", .required, "Cache-Control: max-age=100000 | Date: @0 | Age: 30", .cached,
            shows: "Age: >32"),
        pair("with Expires too", .required, "Expires: @2592000 | Date: @0 | Age: 30", .cached, shows: "Age: >32"),
        pair(
            "the date stays", .required, "Cache-Control: max-age=99999 | Date: Sat, 21 Nov 2026 06:59:59 GMT", .cached,
            shows: "Date: Sat, 21 Nov 2026 06:59:59 GMT"),
        pair("a cookie is set", .optimal, "Cache-Control: max-age=9999 | Set-Cookie: a=b", .cached),
        pair("a cookie is sent", .optimal, "Cache-Control: max-age=9999", .cached, then: "Cookie: a=b"),
        pair("a file to save", .check, "Cache-Control: max-age=99 | Content-Disposition: attachment", .cached),
        pair("credentials and none", .required, "Cache-Control: max-age=99", .network, asks: "Authorization: a"),
        pair("none and credentials", .required, "Cache-Control: max-age=99", .network, then: "Authorization: a"),
        pair(
            "other credentials, though public", .required, "Cache-Control: max-age=99, public", .network,
            asks: "Authorization: a", then: "Authorization: b"),
        pair(
            "the same credentials", .optimal, "Cache-Control: max-age=99", .cached, asks: "Authorization: a",
            then: "Authorization: a"),
        CacheCase(
            name: "another query", kind: .required,
            steps: [
                CacheStep(path: "/case?a=1", answer: "Cache-Control: max-age=99"),
                CacheStep(path: "/case?a=2", outcome: .network),
            ]),
        CacheCase(
            name: "the same query", kind: .optimal,
            steps: [
                CacheStep(path: "/case?a=1", answer: "Cache-Control: max-age=99"),
                CacheStep(path: "/case?a=1", outcome: .cached),
            ]),
        post("a POST that says what it is an answer for", .optimal, "Content-Location: /case", .cached),
        post("a POST that is an answer for something else", .required, "Content-Location: /other", .network),
        post("a POST that does not say it", .required, "A: 1", .network),
    ]

    private static func post(
        _ name: String, _ kind: CacheCase.Kind, _ answer: String, _ outcome: CacheStep.Outcome
    ) -> CacheCase {
        CacheCase(
            name: name, kind: kind,
            steps: [
                CacheStep(method: "POST", answer: "Cache-Control: max-age=3600 | Date: @0 | \(answer)"),
                CacheStep(outcome: outcome),
            ])
    }
}
