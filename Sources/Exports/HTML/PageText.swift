internal import Reporting

/// Text and numbers as the page shows them. All text comes from job files and servers: markup is escaped, and
/// characters that reorder or break a line are shown as `\u{…}`.
enum PageText {
    /// Appends text, escaped for an element's content or a quoted attribute.
    static func append(_ text: String, to bytes: inout [UInt8]) {
        for byte in SafeText.line(text).utf8 {
            switch byte {
            case UInt8(ascii: "&"): bytes.append(contentsOf: "&amp;".utf8)
            case UInt8(ascii: "<"): bytes.append(contentsOf: "&lt;".utf8)
            case UInt8(ascii: ">"): bytes.append(contentsOf: "&gt;".utf8)
            case UInt8(ascii: "\""): bytes.append(contentsOf: "&quot;".utf8)
            case UInt8(ascii: "'"): bytes.append(contentsOf: "&#39;".utf8)
            default: bytes.append(byte)
            }
        }
    }

    static func escaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        append(text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the text escaped, with words in backticks as `<code>`.
    static func withCode(_ text: String) -> String {
        let parts = text.split(separator: "`", omittingEmptySubsequences: false).map { escaped(String($0)) }
        guard parts.count % 2 == 1 else { return escaped(text) }
        return parts.enumerated().map { $0.isMultiple(of: 2) ? $1 : "<code>\($1)</code>" }.joined()
    }

    /// Appends a JSON string that is safe inside a `<script>` element. With `keepsLines`, line feeds and tabs stay.
    static func append(json text: String, keepsLines: Bool = false, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for byte in (keepsLines ? SafeText.lines(text) : SafeText.line(text)).utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case UInt8(ascii: "\n"): bytes.append(contentsOf: "\\n".utf8)
            case UInt8(ascii: "\t"): bytes.append(contentsOf: "\\t".utf8)
            // `</script>` and `<!--` would end or change the element.
            case UInt8(ascii: "<"): bytes.append(contentsOf: "\\u003c".utf8)
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Returns a number such as `3,011`.
    static func grouped(_ count: Int) -> String {
        var text = ""
        let digits = String(count.magnitude)
        for (place, digit) in digits.enumerated() {
            if place > 0, (digits.count - place).isMultiple(of: 3) { text.append(",") }
            text.append(digit)
        }
        return count < 0 ? "-" + text : text
    }

    static func count(_ count: Int, _ noun: String, _ several: String? = nil) -> String {
        "\(grouped(count)) \(count == 1 ? noun : several ?? noun + "s")"
    }

    /// Returns a duration such as `0 ms`, `12 ms`, `1.24 s`, `38.1 s`, `5m 03s`, `2h 05m`, as the page's script shows
    /// it.
    static func duration(seconds: Double) -> String {
        let milliseconds = max(0, seconds * 1000)
        if milliseconds < 9.95 { return decimal(milliseconds, places: 1, isShort: true) + " ms" }
        if milliseconds < 999.5 { return decimal(milliseconds, places: 0) + " ms" }
        if milliseconds < 9_995 { return decimal(seconds, places: 2) + " s" }
        if milliseconds < 59_950 { return decimal(seconds, places: 1) + " s" }
        let whole = Int(min(seconds, 1e12).rounded())
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return whole < 3600
            ? "\(whole / 60)m \(two(whole % 60))s" : "\(whole / 3600)h \(two(whole / 60 % 60))m"
    }

    private static func decimal(_ value: Double, places: Int, isShort: Bool = false) -> String {
        let scale = places == 0 ? 1 : places == 1 ? 10 : 100
        let scaled = Int((value * Double(scale)).rounded())
        let (whole, rest) = scaled.quotientAndRemainder(dividingBy: scale)
        if places == 0 || isShort && rest == 0 { return String(whole) }
        let digits = String(rest)
        return "\(whole)." + String(repeating: "0", count: places - digits.count) + digits
    }
}
