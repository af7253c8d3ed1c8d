import Glibc
import JobLoader
import Testing
import TransferModel

/// Randomised tests print their seed when they fail and take it from TRANSFER_RUN_SEED.
enum Seed {
    static let value: UInt64 =
        getenv("TRANSFER_RUN_SEED").flatMap { UInt64(String(cString: $0)) } ?? UInt64.random(in: 1...UInt64.max)

    static func rounds(_ count: Int) -> Int { getenv("TRANSFER_RUN_LONG") == nil ? count : count * 50 }

    static func generator(_ seed: UInt64) -> Generator { Generator(state: seed) }

    struct Generator: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }
}

struct ValueTests {
    private func timeout(_ text: String) -> Int64? {
        load(dataTask("timeoutForRequest: \(text)")).job?.tasks[0].options.values.policies.timeoutForRequest.nanoseconds
    }

    private func size(_ text: String) -> Int64? {
        load(dataTask("sizeHint: \(text)")).job?.tasks[0].options.values.sizeHint
    }

    @Test func durations() {
        #expect(timeout("500ms") == 500_000_000)
        #expect(timeout("1h30m") == 5_400_000_000_000)
        #expect(timeout("7d") == 604_800_000_000_000)
        #expect(timeout("2") == 2_000_000_000)
        #expect(timeout("0.25") == 250_000_000)
        #expect(timeout("1.5s") == 1_500_000_000)
        #expect(timeout("\"90\"") == 90_000_000_000)
        for wrong in [
            "1x", "s", "1h1h", "1m1h", "1 s", "-1s", "1e3", ".5", "1.", "1s1", "99999999999999999999", "400000d",
        ] {
            #expect(timeout(wrong) == nil, "\(wrong)")
        }
    }

    @Test func sizes() {
        #expect(size("16KiB") == 16_384)
        #expect(size("10kB") == 10_000)
        #expect(size("5MB") == 5_000_000)
        #expect(size("2GiB") == 2 << 30)
        #expect(size("1.5KiB") == 1536)
        #expect(size("0") == 0)
        for wrong in ["1KB", "1k", "1.5", "KiB", "1 MiB", "1mib", "9999999TiB", "1MiB/s"] {
            #expect(size(wrong) == nil, "\(wrong)")
        }
    }

    @Test func randomDurationsAddUp() {
        let seed = Seed.value
        var generator = Seed.generator(seed)
        let units: [(String, Int64)] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)]
        for _ in 0..<Seed.rounds(100) {
            var text = ""
            var wanted: Int64 = 0
            for (unit, milliseconds) in units where Bool.random(using: &generator) {
                let count = Int64.random(in: 1...500, using: &generator)
                text += "\(count)\(unit)"
                wanted += count * milliseconds
            }
            guard !text.isEmpty else { continue }
            #expect(timeout(text) == wanted * 1_000_000, "\(text), TRANSFER_RUN_SEED=\(seed)")
        }
    }

    @Test func modes() {
        func mode(_ text: String) -> UInt16? { load(task("mode: \(text)")).job?.tasks[0].options.values.mode }
        #expect(mode("\"0644\"") == 0o644)
        #expect(mode("0o600") == 0o600)
        #expect(mode("0644") == nil)
        #expect(mode("420") == nil)
    }

    @Test func statuses() {
        func set(_ text: String) -> StatusSet? {
            load(dataTask("expect: { status: \(text) }")).job?.tasks[0].options.values.expect.status
        }
        #expect(set("200") == StatusSet(200))
        #expect(set("2xx") == .success)
        #expect(set("[200-204, 404, 5XX]") == StatusSet([200...204, 404...404, 500...599]))
    }

    /// The quick reader is only ever quicker.
    @Test func quickURLsAreTheParsersOwn() {
        let seed = Seed.value
        var generator = Seed.generator(seed)
        let starts = [
            "http://127.0.0.1:8080", "https://example.org", "https://EXAMPLE.org:443", "http://user@h.org", "file://",
            "https://[::1]:8443",
        ]
        let pieces = [
            "/a", "/b.c", "/.", "/..", "/...", "%20", "%zz", " ", "ä", "?", "#", "&x=1", "//", "/.x", "\"", "~", "\\",
            "@", ":",
        ]
        var reader = URLReader()
        for _ in 0..<Seed.rounds(3000) {
            var text = starts[
                Int.random(in: 0..<(Bool.random(using: &generator) ? 2 : starts.count), using: &generator)]
            for _ in 0..<Int.random(in: 0...5, using: &generator) {
                text += pieces.randomElement(using: &generator) ?? ""
            }
            let quick = try? reader.parse(text)
            let slow = try? ResourceURL.parse(text)
            #expect(quick == slow, "\(text), TRANSFER_RUN_SEED=\(seed)")
        }
    }

    @Test func whatIsBuiltNeedsNothing() {
        let text = """
            version: 1
            name: all
            failFast: true
            limits: { maximumConcurrentTasks: 3 }
            onOverlap: fail
            sessions:
              main:
                configuration: ephemeral
                maximumConcurrentTasks: 2
                tls: { minimum: "1.2", maximum: "1.3", trust: { ca: ca.pem, policy: only } }
                http: { version: "2", maximumStreamsPerConnection: 10, expectContinue: true, compression: false }
                redirects: { follow: sameHost, maximum: 3, allowDowngrade: true, allowHosts: ["*.org"], onRefuse: accept }
                retry: { attempts: 1, retryAfter: { honor: false }, nonIdempotent: true }
                onInvalidate: cancel
                durability: flush
                proxy: none
                cache: none
                cachePolicy: reloadIgnoringCacheData
            tasks:
              - id: a
                urls: [https://example.org/a]
                to: out/
                existing: skip
                segments: 1
                cookies: false
                requireLength: true
                maximumSize: 1GiB
                allowFailure: { status: [404] }
                expect: { status: 2xx, mimeType: text/*, size: 3, minimumSize: 1, notHTML: false }
              - { id: b, type: upload, method: PUT, url: https://example.org/, body: { form: { a: [1, 2] } }, contentType: x/y }
              - { id: c, url: "data:,hello" }
            """
        let result = load(text)
        #expect(result.summary == [])
        #expect(result.laterPlaces == [])
        #expect(result.job?.tasks.count == 3)
    }
}
