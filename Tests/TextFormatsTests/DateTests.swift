import Glibc
import TestSupport
import Testing
import TextFormats
import TransferModel

@Suite struct DateTests {
    private func text(_ time: WallTime) -> String {
        var bytes: [UInt8] = []
        RFC3339.append(time, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test(
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("2026-11-21T07:00:00.123Z", 1_795_244_400_123_000_000),
            ("2026-11-21t08:30:00+01:30", 1_795_244_400_000_000_000), ("1969-12-31T23:59:59.999999999z", -1),
            ("2000-02-29T12:00:00-00:00", 951_825_600_000_000_000), ("2016-12-31T23:59:60Z", 1_483_228_800_000_000_000),
            ("2016-12-31T18:59:60-05:00", 1_483_228_800_000_000_000), ("1970-01-01 00:00:00.0000000019Z", 1),
            ("2023-02-29T00:00:00Z", nil), ("2026-11-21T24:00:00Z", nil), ("2026-11-21T07:00:00", nil),
            ("2026-11-21T07:00:00.Z", nil), ("2026-11-21T07:00Z", nil), ("2026-11-21T07:00:60Z", nil),
            ("2026-13-01T00:00:00Z", nil), ("2026-00-01T00:00:00Z", nil), ("2026-11-21T07:00:00Zx", nil),
            ("9999-12-31T23:59:59Z", .max), ("0001-01-01T00:00:00Z", .min), ("2026-11-21T07:00:00+0100", nil),
            ("", nil),
        ] as [(String, Int64?)])
    func readsRFC3339(_ text: String, as nanoseconds: Int64?) {
        #expect(RFC3339.parse(text)?.nanoseconds == nanoseconds)
    }

    @Test func writesUTCWithMilliseconds() {
        #expect(text(WallTime(nanoseconds: 1_795_244_400_123_999_999)) == "2026-11-21T07:00:00.123Z")
        #expect(text(WallTime(nanoseconds: -1)) == "1969-12-31T23:59:59.999Z")
        #expect(text(WallTime(nanoseconds: .max)) == "2262-04-11T23:47:16.854Z")
        #expect(text(WallTime(nanoseconds: .min)) == "1677-09-21T00:12:43.145Z")
    }

    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Wed Nov 16 08:49:37 1994", 784_975_777),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Friday, 31-Dec-69 23:59:59 GMT", 3_155_759_999),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 9_223_372_036), ("0", nil), ("Sun, 06 Nov 1994 08:49:37", nil),
            ("Sun, 31 Feb 1994 08:49:37 GMT", nil), ("Sun, 06 Nov 1994 25:49:37 GMT", nil),
            ("Sun, 06 Nov 1994 08:49:37 +0100", nil), ("sun, 06 Nov 1994 08:49:37 GMT", nil), ("", nil),
        ] as [(String, Int64?)])
    func readsHTTPDates(_ text: String, as seconds: Int64?) {
        #expect(HTTPDate.parse(text)?.nanoseconds == seconds.map { $0 * 1_000_000_000 })
    }

    /// Both formats against each other and against the C library's calendar.
    @Test func datesReadBackAndAgreeWithTheCLibrary() {
        var random = Seeded("DateTests")
        for _ in 0..<Rounds.scaled(3000) {
            let seconds = Int64.random(in: -9_000_000_000...9_000_000_000, using: &random)
            let time = WallTime(nanoseconds: seconds * 1_000_000_000)
            #expect(RFC3339.parse(text(time)) == time, "seed \(random.seed)")
            #expect(HTTPDate.parse(HTTPDate.format(time)) == time, "seed \(random.seed)")
            var broken = tm()
            var input = time_t(seconds)
            gmtime_r(&input, &broken)
            var buffer = [UInt8](repeating: 0, count: 64)
            let length = buffer.withUnsafeMutableBytes {
                strftime($0.baseAddress!, 64, "%a, %d %b %Y %H:%M:%S GMT", &broken)
            }
            #expect(
                HTTPDate.format(time) == String(decoding: buffer.prefix(length), as: UTF8.self), "seed \(random.seed)")
        }
    }
}

@Suite struct TimeZoneTests {
    /// One test alone sets the process's zone, so nothing runs into it.
    @Test func agreesWithTheCLibraryInManyZones() throws {
        var random = Seeded("DateTests")
        let zones = [
            "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Pacific/Apia",
            "Africa/Casablanca",
            "America/St_Johns", "Asia/Tehran", "Europe/Dublin", "America/Nuuk", "Antarctica/Troll", "UTC", "Etc/GMT+5",
            "America/Santiago", "Asia/Gaza",
        ]
        for zone in zones {
            let rules = try #require(TimeZoneFile.load(zone), "\(zone)")
            setenv("TZ", ":" + zone, 1)
            tzset()
            for _ in 0..<Rounds.scaled(400) {
                // From the first transitions to long past the last one, where the footer's rule holds.
                let seconds = Int64.random(in: -4_000_000_000...9_000_000_000, using: &random)
                var broken = tm()
                var input = time_t(seconds)
                localtime_r(&input, &broken)
                let offset = rules.offset(at: WallTime(nanoseconds: seconds * 1_000_000_000))
                #expect(offset == broken.tm_gmtoff, "\(zone) at \(seconds), seed \(random.seed)")
            }
        }
        unsetenv("TZ")
    }

    @Test func changesAtTheVerySecond() throws {
        let berlin = try #require(TimeZoneFile.load("Europe/Berlin"))
        func offset(_ text: String) throws -> Int { berlin.offset(at: try #require(RFC3339.parse(text))) }
        #expect(try offset("2026-03-29T00:59:59Z") == 3600)
        #expect(try offset("2026-03-29T01:00:00Z") == 7200)
        #expect(try offset("2100-10-31T00:59:59Z") == 7200)
        #expect(try offset("2100-10-31T01:00:00Z") == 3600)
    }

    @Test(arguments: [
        "", "Nowhere/Land", "../../../etc/passwd", "/etc/localtime", "Europe", "Europe//Berlin", "tzdata.zi", ".",
    ])
    func takesNoOtherNames(_ name: String) {
        #expect(TimeZoneFile.load(name) == nil)
    }

    @Test func brokenFilesAreRefused() {
        #expect(TimeZoneRules([]) == nil)
        #expect(TimeZoneRules(Array("TZif2".utf8) + [UInt8](repeating: 0xFF, count: 200)) == nil)
        #expect(TimeZoneRules(Array("TZif2".utf8) + [UInt8](repeating: 0, count: 200)) == nil)
    }
}

@Suite struct Base64Tests {
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy"), ("ûï¾", "w7vDr8K+"),
    ])
    func encodesAsInTheRFC(_ text: String, as base64: String) {
        #expect(Base64.encode(Array(text.utf8)) == base64)
        #expect(Base64.decode(base64) == Array(text.utf8))
    }

    @Test(arguments: ["Zg", "Zg=", "Zh==", "Zm9=", "Z===", "====", "Zm9v\n", "Zm 9v", "Zm-v", "=Zg=", "Zg==Zg=="])
    func decodesStrictly(_ text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test func readsBack() {
        var random = Seeded("DateTests")
        for length in 0..<Rounds.scaled(200) {
            let bytes = (0..<length % 500).map { _ in UInt8.random(in: 0...255, using: &random) }
            #expect(Base64.decode(Base64.encode(bytes)) == bytes, "seed \(random.seed)")
        }
    }
}
