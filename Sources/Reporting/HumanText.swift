internal import TransferModel

/// Numbers as people read them.
package enum HumanText {
    /// `512 B`, `12.3 MiB`.
    package static func size(_ bytes: Int64) -> String {
        if bytes < 1024 { return String(bytes) + " B" }
        var unit = 0
        var scaled = Double(bytes) / 1024
        while scaled >= 1023.95, unit < units.count - 1 {
            scaled /= 1024
            unit += 1
        }
        // Put together from pieces: what is interpolated is made in the heap first, and each finished task has two of these.
        return tenths(scaled) + " " + units[unit]
    }

    private static let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]

    static func rate(_ bytes: Int64, in span: TimeSpan) -> String? {
        guard span.nanoseconds > 0, bytes > 0 else { return nil }
        let rate = Double(bytes) / span.seconds
        return rate < 1e18 ? size(Int64(rate)) + "/s" : nil
    }

    /// `0.34s`, `12.3s`, `5m03s`, `2h05m`.
    static func duration(_ span: TimeSpan) -> String {
        let seconds = max(0, span.seconds)
        if seconds < 9.995 {
            let hundredths = Int((seconds * 100).rounded())
            return String(hundredths / 100) + "." + twoDigits(hundredths % 100) + "s"
        }
        if seconds < 59.95 { return "\(tenths(seconds))s" }
        let whole = Int(seconds.rounded())
        if whole < 3600 { return "\(whole / 60)m\(twoDigits(whole % 60))s" }
        return "\(whole / 3600)h\(twoDigits(whole / 60 % 60))m"
    }

    static func count(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

    private static func tenths(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return String(tenths / 10) + "." + String(tenths % 10)
    }

    private static func twoDigits(_ value: Int) -> String { value < 10 ? "0" + String(value) : String(value) }

    /// A word as a POSIX shell reads it back.
    static func shellWord(_ word: String) -> String {
        let needsNoQuotes =
            word.utf8.first.map { isPlain($0) } == true && word.utf8.allSatisfy { isPlain($0, inside: true) }
        return needsNoQuotes ? word : "'" + SafeText.replacing("'", with: "'\\''", in: word) + "'"
    }

    /// Not `~`, which a shell expands, nor at the beginning what some shells do something with there.
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
