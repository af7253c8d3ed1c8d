internal import TextFormats
package import TransferModel

/// Numbers as people read them.
package enum HumanText {
    /// `512 B`, `12.3 MiB`.
    package static func size(_ bytes: Int64) -> String { text { append(size: bytes, to: &$0) } }

    /// `0.34s`, `12.3s`, `5m03s`, `2h05m`.
    package static func duration(_ span: TimeSpan) -> String { text { append(duration: span, to: &$0) } }

    // Each finished task has three of these, put together where its line stands.

    static func append(size bytes: Int64, to line: inout [UInt8]) {
        if bytes < 1024 {
            append(bytes, to: &line)
            return line.append(contentsOf: " B".utf8)
        }
        let (tenths, unit) = SizeText.tenths(bytes)
        append(tenths: tenths, to: &line)
        line.append(contentsOf: unit.utf8)
    }

    /// Rate per second; `nil` where it cannot be expressed.
    static func rate(_ bytes: Int64, in span: TimeSpan) -> Int64? {
        guard span.nanoseconds > 0, bytes > 0 else { return nil }
        let rate = Double(bytes) / span.seconds
        return rate < 1e18 ? Int64(rate) : nil
    }

    static func append(duration span: TimeSpan, to line: inout [UInt8]) {
        let seconds = max(0, span.seconds)
        if seconds < 9.995 {
            let hundredths = Int64((seconds * 100).rounded())
            append(hundredths / 100, to: &line)
            line.append(UInt8(ascii: "."))
            append(twoDigits: hundredths % 100, to: &line)
            return line.append(UInt8(ascii: "s"))
        }
        if seconds < 59.95 {
            append(tenths: Int64((seconds * 10).rounded()), to: &line)
            return line.append(UInt8(ascii: "s"))
        }
        let whole = Int64(seconds.rounded())
        let isLong = whole >= 3600
        append(isLong ? whole / 3600 : whole / 60, to: &line)
        line.append(isLong ? UInt8(ascii: "h") : UInt8(ascii: "m"))
        append(twoDigits: isLong ? whole / 60 % 60 : whole % 60, to: &line)
        line.append(isLong ? UInt8(ascii: "m") : UInt8(ascii: "s"))
    }

    /// `1 task`, `3,011 tasks`.
    package static func count(_ count: Int, _ noun: String) -> String {
        "\(grouped(count)) \(noun)\(count == 1 ? "" : "s")"
    }

    /// `3,011`.
    package static func grouped(_ count: Int) -> String {
        let digits = Array(String(count.magnitude).utf8)
        var text: [UInt8] = count < 0 ? [UInt8(ascii: "-")] : []
        for (place, digit) in digits.enumerated() {
            if place > 0, (digits.count - place).isMultiple(of: 3) { text.append(UInt8(ascii: ",")) }
            text.append(digit)
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func text(_ write: (inout [UInt8]) -> Void) -> String {
        var bytes: [UInt8] = []
        write(&bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func append(_ number: Int64, to line: inout [UInt8]) {
        if number < 0 { line.append(UInt8(ascii: "-")) }
        DecimalDigits.append(number.magnitude, to: &line)
    }

    private static func append(tenths: Int64, to line: inout [UInt8]) {
        append(tenths / 10, to: &line)
        line.append(UInt8(ascii: "."))
        append(tenths % 10, to: &line)
    }

    private static func append(twoDigits value: Int64, to line: inout [UInt8]) {
        if value < 10 { line.append(UInt8(ascii: "0")) }
        append(value, to: &line)
    }

    /// A word as a POSIX shell reads it back.
    package static func shellWord(_ word: String) -> String {
        let needsNoQuotes =
            word.utf8.first.map { isPlain($0) } == true && word.utf8.allSatisfy { isPlain($0, inside: true) }
        return needsNoQuotes ? word : "'" + SafeText.replacing("'", with: "'\\''", in: word) + "'"
    }

    /// Excludes `~`, which a shell expands, and at the beginning characters that some shells interpret there.
    private static func isPlain(_ byte: UInt8, inside: Bool = false) -> Bool {
        switch byte {
        case UInt8(ascii: "="), UInt8(ascii: ","), UInt8(ascii: "@"), UInt8(ascii: "+"), UInt8(ascii: "%"): inside
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "/"), UInt8(ascii: ":"):
            true
        default: false
        }
    }
}
