/// What the public suite of http-tests/cache-tests asks of a private cache, in our own words: an answer, a pause, and what
/// must come of the next request. Kinds are that suite's. Cases that we answer otherwise on purpose carry `deliberately`.
enum CacheCases {
    static let all: [CacheCase] =
        freshness + directives + ages + expiry + dates + responseDirectives + requestDirectives + heuristics + statuses
        + varying + validation + storedFields + updatedFields + heads + invalidations + ranges + others

    /// One answer, and a second request some seconds later.
    static func pair(
        _ name: String, _ kind: CacheCase.Kind, _ answer: String, _ outcome: CacheStep.Outcome, status: Int = 200,
        asks: String = "", then request: String = "", wait: Int64 = 3, shows: String = "", hides: [String] = []
    ) -> CacheCase {
        let first = CacheStep(request: asks, status: status, answer: answer, wait: wait)
        let second = CacheStep(request: request, status: status, outcome: outcome, shows: shows, hides: hides)
        return CacheCase(name: name, kind: kind, steps: [first, second])
    }

    private static func maxAge(_ value: String, _ kind: CacheCase.Kind, _ outcome: CacheStep.Outcome) -> CacheCase {
        pair("Cache-Control: \(value)", kind, "Cache-Control: \(value)", outcome)
    }

    // RFC 9111, section 4.2.1
    static let freshness: [CacheCase] = [
        pair("nothing said", .check, "", .network),
        maxAge("max-age=3600", .optimal, .cached), maxAge("max-age=2", .required, .network),
        maxAge("max-age=0", .required, .network), maxAge("max-age=2147483647", .optimal, .cached),
        maxAge("max-age=2147483648", .optimal, .cached), maxAge("max-age=2147483649", .optimal, .cached),
        maxAge("max-age=99999999999", .optimal, .cached), maxAge("max-age=99999999999999999999999", .optimal, .cached),
        maxAge("foobar, max-age=3600", .optimal, .cached), maxAge("MaX-aGe=3600", .optimal, .cached),
        maxAge("max-age=-3600", .required, .network), maxAge("s-maxage=3600, max-age=1", .required, .network),
        pair(
            "s-maxage on a line of its own", .required, "Cache-Control: s-maxage=3600 | Cache-Control: max-age=1",
            .network),
        pair("older than it may be", .required, "Date: @0 | Cache-Control: max-age=3600 | Age: 7200", .network),
        pair("made long ago", .check, "Date: @-7200 | Cache-Control: max-age=3600", .network),
        pair("max-age before Expires", .optimal, "Cache-Control: max-age=3600 | Expires: @-7200 | Date: @0", .cached),
        pair(
            "max-age before an Expires that is none", .optimal, "Cache-Control: max-age=3600 | Expires: 0 | Date: @0",
            .cached),
        pair(
            "max-age=0 before Expires", .required, "Expires: @3600 | Cache-Control: max-age=0 | Date: @0", .network),
    ]

    // Sections 4.2.1 and 5.2
    static let directives: [CacheCase] = [
        maxAge("max-age=1800, max-age=1", .check, .cached),
        pair("two lines, long first", .check, "Cache-Control: max-age=1800 | Cache-Control: max-age=1", .cached),
        maxAge("max-age=1, max-age=1800", .check, .network),
        pair("two lines, short first", .check, "Cache-Control: max-age=1 | Cache-Control: max-age=1800", .network),
        maxAge("max-age=\"3600\"", .check, .cached),
        maxAge("extension=\"max-age=3600\", max-age=1", .required, .network),
        maxAge("max-age=1, extension=\"max-age=3600\"", .required, .network),
        maxAge("extension=\"a\\\", max-age=3600\", max-age=1", .required, .network),
        maxAge("extension=\"open, no-store, max-age=3600", .required, .network),
        maxAge("max-age =3600", .check, .network), maxAge("max-age= 3600", .check, .network),
        maxAge("max-age=003600", .required, .cached), maxAge("max-age='3600'", .required, .network),
        maxAge("max-age=3600.0", .check, .network), maxAge("max-age=3600.5", .check, .network),
        maxAge("max-age=a3600", .check, .network), maxAge("max-age=3600a", .check, .network),
        maxAge("max-age", .check, .network), maxAge("max-age=", .check, .network),
    ]

    private static func age(_ value: String, _ kind: CacheCase.Kind, _ outcome: CacheStep.Outcome) -> CacheCase {
        let lines = value.split(separator: "/").map { "| Age: \($0)" }.joined()
        return pair("Age: \(value)", kind, "Date: @0 | Cache-Control: max-age=3600" + lines, outcome)
    }

    // Section 5.1; `/` begins another line
    static let ages: [CacheCase] = [
        age("abc", .required, .cached), age("-7200", .required, .cached), age("7200.0", .required, .cached),
        age("2147483647", .required, .network), age("2147483648", .required, .network),
        age("2147483649", .required, .network), age("99999999999999999999", .required, .network),
        age("7200, 0", .required, .network), age("0, 7200", .required, .cached), age("7200/0", .required, .network),
        age("0/7200", .required, .cached), age("0, 0", .required, .cached), age("0/0", .required, .cached),
        age("1800/1800", .required, .cached), age("7200;foo=bar", .check, .cached),
        age("7200;foo=111", .check, .cached),
    ]

    // Section 5.3
    static let expiry: [CacheCase] = [
        pair("Expires in a month", .optimal, "Expires: @2592000 | Date: @0", .cached),
        pair("Expires a month ago", .required, "Expires: @-2592000 | Date: @0", .network),
        pair("Expires now", .required, "Expires: @0 | Date: @0", .network, wait: 0),
        pair("Expires before its Date", .required, "Expires: @300 | Date: @400", .network),
        pair("Expires: 0", .required, "Expires: 0 | Date: @0", .network),
        pair("Expires with a Date that is none", .optimal, "Date: foo | Expires: @10", .cached),
        pair("Expires, Date slow, old", .required, "Date: @-10 | Expires: @10 | Age: 25", .network, wait: 0),
        pair("Expires, Date fast, old", .required, "Date: @10 | Expires: @20 | Age: 15", .network, wait: 0),
    ]

    private static func expires(_ date: String, _ kind: CacheCase.Kind, _ outcome: CacheStep.Outcome) -> CacheCase {
        pair("Expires: \(date)", kind, "Expires: \(date) | Date: @0", outcome)
    }

    // Section 4.2 on dates
    static let dates: [CacheCase] = [
        expires("Tue, 19 Jan 2038 14:14:08 GMT", .optimal, .cached),
        expires("Sun, 21 Nov 2286 04:46:39 GMT", .optimal, .cached),
        expires("Fri, 31 Dec 9999 23:59:59 GMT", .optimal, .cached),
        expires("Thursday, 18-Aug-50 02:01:18 GMT", .optimal, .cached),
        expires("Thu Aug  8 02:01:18 2050", .optimal, .cached),
        expires("THU, 18 Aug 2050 02:01:18 GMT", .optimal, .cached),
        expires("Thu, 18 AUG 2050 02:01:18 GMT", .optimal, .cached),
        expires("Thu, 18 Aug 2050 02:01:18 gMT", .optimal, .cached),
        expires("Thu, 18 Aug 2050 02:01:18 UTC", .required, .network),
        expires("Thu, 18 Aug 2050 02:01:18 AEST", .required, .network),
        expires("Thu, 18 Aug 50 02:01:18 GMT", .required, .network),
        expires("Thu 18 Aug 2050 02:01:18 GMT", .required, .network),
        expires("Thu, 18  Aug  2050 02:01:18 GMT", .required, .network),
        expires("Thu, 18-Aug-2050 02:01:18 GMT", .required, .network),
        expires("Thu, 18 Aug 2050 02.01.18 GMT", .required, .network),
        expires("Thu, 18 Aug 2050 2:01:18 GMT", .required, .network),
        pair(
            "several Expires that are none", .required,
            "Expires: Thu, 18 Aug 2050 2:01:18 GMT | Expires: Thu, 18 Aug 2050 2:01:19 GMT | Date: @0", .network),
    ]

    // Section 5.2.2
    static let responseDirectives: [CacheCase] = [
        pair("private", .optimal, "Cache-Control: private, max-age=3600", .cached),
        pair("no-store", .required, "Cache-Control: no-store", .network),
        pair("no-store in any case", .required, "Cache-Control: No-StOrE", .network),
        pair("no-store beside freshness", .required, "Cache-Control: max-age=10000, no-store", .network),
        pair("no-cache beside freshness", .required, "Cache-Control: max-age=10000, no-cache", .network),
        pair("no-cache in any case", .required, "Cache-Control: max-age=10000, No-CaChE", .network),
        pair("no-cache asks", .optimal, "Cache-Control: no-cache | ETag: \"a\"", .asksByTag),
        pair("no-cache asks though fresh", .optimal, "Cache-Control: max-age=9999, no-cache | ETag: \"a\"", .asksByTag),
        pair(
            "no-cache for a field", .check, "Cache-Control: no-cache=\"a\", max-age=3600 | A: 1 | B: 2", .cached,
            shows: "B: 2", hides: ["A"]),
        pair(
            "no-cache for two fields", .check, "Cache-Control: no-cache=\"a, b\", max-age=3600 | A: 1 | B: 2 | C: 3",
            .cached, shows: "C: 3", hides: ["A", "B"]),
        pair("must-revalidate, fresh", .optimal, "Cache-Control: max-age=99, must-revalidate | ETag: \"a\"", .cached),
        pair(
            "must-revalidate, stale", .required, "Cache-Control: max-age=2, must-revalidate | ETag: \"a\"", .asksByTag),
        pair(
            "immutable, reloaded", .optimal, "Cache-Control: max-age=10000, immutable | ETag: \"a\"", .cached,
            then: "Cache-Control: max-age=0"),
        pair(
            "immutable, stale", .required, "Cache-Control: max-age=2, immutable | ETag: \"a\"", .asksByTag,
            then: "Cache-Control: max-age=0"),
        pair(
            "must-understand what we do", .optimal, "Cache-Control: max-age=3600, no-store, must-understand", .cached),
        pair(
            "must-understand what nobody does", .required, "Cache-Control: max-age=3600, no-store, must-understand",
            .network, status: 599),
        pair("Pragma of an answer", .check, "Cache-Control: max-age=3600 | Pragma: no-cache", .cached),
        CacheCase(
            name: "stale while it is revalidated, and no longer", kind: .required,
            steps: [
                CacheStep(answer: "Cache-Control: max-age=1, stale-while-revalidate=4 | ETag: \"a\" | N: 1"),
                CacheStep(answer: "Cache-Control: no-cache | ETag: \"b\" | N: 2", outcome: .cached, shows: "N: 1"),
                CacheStep(answer: "N: 3", outcome: .network, shows: "N: 3"),
            ]),
        failing("stale-if-error, no connection", .check, "max-age=2, stale-if-error=60", breaks: true, .cached),
        failing("stale-if-error, 503", .check, "max-age=2, stale-if-error=60", breaks: false, .cached),
        failing("stale-if-error is over", .required, "max-age=1, stale-if-error=1", breaks: false, .network),
        failing("stale and nothing allowed", .check, "max-age=2", breaks: true, .network),
        failing("must-revalidate, no connection", .required, "max-age=2, must-revalidate", breaks: true, .network),
        failing("no-cache, no connection", .required, "max-age=2, no-cache", breaks: true, .network),
        failing(
            "must-revalidate before stale-if-error", .required, "max-age=2, must-revalidate, stale-if-error=60",
            breaks: true, .network),
    ]

    private static func failing(
        _ name: String, _ kind: CacheCase.Kind, _ control: String, breaks: Bool, _ outcome: CacheStep.Outcome
    ) -> CacheCase {
        let second = CacheStep(
            status: 503, breaks: breaks, outcome: outcome, clientStatus: outcome == .cached ? 200 : 503)
        return CacheCase(
            name: name, kind: kind, steps: [CacheStep(answer: "Cache-Control: \(control) | Date: @0"), second])
    }

    private static func asked(
        _ request: String, _ answer: String, _ outcome: CacheStep.Outcome, _ note: String = ""
    ) -> CacheCase {
        pair("\(request) to \(answer)\(note)", .check, answer, outcome, then: request)
    }

    // Sections 5.2.1 and 5.4
    static let requestDirectives: [CacheCase] = [
        asked("Cache-Control: max-age=0", "Cache-Control: max-age=100000", .network),
        asked("Cache-Control: max-age=1", "Cache-Control: max-age=100000", .network),
        asked("Cache-Control: max-age=600", "Cache-Control: max-age=100000 | Age: 1800", .network),
        asked("Cache-Control: max-age=600", "Cache-Control: max-age=100000 | Age: 500", .cached),
        asked("Cache-Control: max-stale=1000", "Cache-Control: max-age=2", .cached),
        asked("Cache-Control: max-stale", "Cache-Control: max-age=2", .cached),
        asked("Cache-Control: max-stale=x", "Cache-Control: max-age=2", .network),
        asked("Cache-Control: max-stale=1000", "Cache-Control: max-age=2, must-revalidate", .network),
        asked("Cache-Control: max-stale=1000", "Cache-Control: max-age=1500 | Age: 2000", .cached),
        asked("Cache-Control: max-stale=400", "Cache-Control: max-age=1500 | Age: 2000", .network),
        asked("Cache-Control: min-fresh=2000", "Cache-Control: max-age=1500", .network),
        asked("Cache-Control: min-fresh=1000", "Cache-Control: max-age=1500 | Age: 1000", .network),
        asked("Cache-Control: min-fresh=400", "Cache-Control: max-age=1500 | Age: 1000", .cached),
        asked("Cache-Control: min-fresh=x", "Cache-Control: max-age=1500", .network),
        asked("Cache-Control: no-cache", "Cache-Control: max-age=3600", .network),
        asked(
            "Cache-Control: no-cache", "Cache-Control: max-age=3600 | Last-Modified: @-10000 | Date: @0", .asksByDate),
        asked("Cache-Control: no-cache", "Cache-Control: max-age=3600 | ETag: \"a\"", .asksByTag),
        asked("Cache-Control: no-store", "Cache-Control: max-age=100000", .network),
        asked("Pragma: no-cache", "Cache-Control: max-age=100000", .network, " where nothing else is said"),
        asked("Pragma: no-cache | Cache-Control: x", "Cache-Control: max-age=100000", .cached),
        asked("Pragma: something", "Cache-Control: max-age=100000", .cached),
        CacheCase(
            name: "only-if-cached with nothing there", kind: .check,
            steps: [CacheStep(request: "Cache-Control: only-if-cached", clientStatus: 504)]),
    ]

    // Section 4.2.2, which `cache.guessLifetime` allows
    private static let guessed: [CacheCase] =
        [200, 203, 204, 404, 405, 410, 414, 501].map {
            pair("guessed for \($0)", .optimal, "Last-Modified: @-86400 | Date: @0", .cached, status: $0)
        }
        + [201, 202, 403, 502, 503, 504, 599].map {
            pair("not guessed for \($0)", .required, "Last-Modified: @-86400 | Date: @0", .network, status: $0)
        }
        + [
            pair(
                "guessed where `public` allows it", .optimal,
                "Last-Modified: @-86400 | Date: @0 | Cache-Control: public", .cached, status: 599)
        ]
        + [(5, false), (10, false), (30, false), (60, true), (600, true), (3600, true), (43_200, true)].map {
            pair(
                "unchanged for \($0) s", .check, "Last-Modified: @-\($0) | Date: @0", $1 ? .cached : .network)
        }

    // Without the key a lifetime is never guessed, whatever else the server said.
    private static let notGuessed = ["", "public", "immutable", "private", "stale-if-error=60"].flatMap { control in
        let validators: [(String, CacheStep.Outcome)] = [
            ("Last-Modified: @-86400000", .asksByDate), ("ETag: \"a\"", .asksByTag), ("X: 1", .network),
        ]
        return validators.map { validator, outcome in
            pair(
                "not guessed by default for `\(control)` and \(validator)", .required,
                "\(validator) | Date: @0 | Cache-Control: \(control)", outcome)
        }
    }

    static let heuristics =
        notGuessed
        + guessed.map { one in
            var one = one
            one.guessesLifetime = true
            return one
        }

    // Section 3: any final status may be kept when the server says for how long
    static let statuses: [CacheCase] = [
        200, 203, 204, 299, 301, 302, 303, 307, 308, 400, 404, 410, 499, 500, 502, 503, 504, 599,
    ].flatMap {
        [
            pair("\($0), fresh", .optimal, "Cache-Control: max-age=100000 | Date: @0", .cached, status: $0),
            pair(
                "\($0), stale", .required, "Expires: @-5000 | Last-Modified: @-100000 | Date: @0", .network, status: $0),
        ]
    }
}
