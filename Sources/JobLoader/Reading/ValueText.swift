package import TransferModel

/// Parsers for durations, sizes, rates and times as the job file writes them. Pure functions over bytes; `nil` means
/// that the text has another form.
package enum ValueText {
    /// Returns a duration: `500ms`, `30s`, `1h30m`, or a bare number of seconds. Larger units stand before smaller
    /// ones, each once.
    package static func duration(_ text: String) -> TimeSpan? {
        var scanner = Scanner(text)
        var total: Int64 = 0
        var lastUnit = Int64.max
        repeat {
            guard let number = scanner.decimal() else { return nil }
            let isBare = scanner.isAtEnd && lastUnit == .max
            guard let nanoseconds = isBare ? 1_000_000_000 : scanner.durationUnit() else { return nil }
            guard nanoseconds < lastUnit, let part = number.times(nanoseconds) else { return nil }
            lastUnit = nanoseconds
            let (sum, overflow) = total.addingReportingOverflow(part)
            guard !overflow, sum <= TimeSpan.forever.nanoseconds else { return nil }
            total = sum
        } while !scanner.isAtEnd
        return TimeSpan(nanoseconds: total)
    }

    /// Returns a size in bytes: `16KiB` (×1024), `10kB` (×1000), or a bare number of bytes.
    package static func size(_ text: String) -> Int64? {
        var scanner = Scanner(text)
        guard let number = scanner.decimal(), let unit = scanner.sizeUnit(), scanner.isAtEnd else { return nil }
        return unit == 1 && number.hasFraction ? nil : number.times(unit)
    }

    /// Returns a rate in bytes per second: a size with `/s`.
    package static func rate(_ text: String) -> Int64? {
        text.hasSuffix("/s") ? size(String(text.dropLast(2))) : nil
    }

    /// Returns a hint about a misspelled unit such as in `500KB`, `5 mb` or `10M`, with the `/s` of a rate; each unit
    /// has one spelling.
    package static func unitHint(_ text: String, isRate: Bool) -> String? {
        var rest = text[...]
        for end in ["/sec", "/s", "ps"] where rest.lowercased().hasSuffix(end) {
            rest = rest.dropLast(end.count)
            break
        }
        let digits = rest.prefix { $0.isNumber || $0 == "." }
        let unit = rest.dropFirst(digits.count).filter { $0 != " " }.lowercased()
        guard !digits.isEmpty, let letter = unit.first, "kmgt".contains(letter),
            ["", "b", "ib", "bit"].contains(String(unit.dropFirst()))
        else { return nil }
        let end = isRate ? "/s" : ""
        let decimal = letter == "k" ? "k" : letter.uppercased()
        let binary = letter.uppercased()
        return "did you mean `\(digits)\(decimal)B\(end)` (decimal) or `\(digits)\(binary)iB\(end)` (binary)?"
    }

    /// Returns a hint about a duration with units or spaces as other programs write them: `5min`, `1 hour`, `PT5M`.
    package static func durationHint(_ text: String) -> String? {
        var rest = text.lowercased()[...]
        if rest.hasPrefix("pt") { rest = rest.dropFirst(2) }
        var meant = ""
        while true {
            rest = rest.drop { $0 == " " }
            if rest.isEmpty { break }
            let digits = rest.prefix { $0.isNumber || $0 == "." }
            rest = rest.dropFirst(digits.count).drop { $0 == " " }
            let word = rest.prefix { $0.isLetter }
            rest = rest.dropFirst(word.count)
            guard !digits.isEmpty, let unit = durationWords[String(word)] else { return nil }
            meant += digits + unit
        }
        return meant != text && duration(meant) != nil ? "did you mean `\(meant)`?" : nil
    }

    private static let durationWords: [String: String] = {
        let spellings = [
            "ms": ["ms", "msec", "msecs", "millis", "millisecond", "milliseconds"],
            "s": ["s", "sec", "secs", "second", "seconds"], "m": ["m", "min", "mins", "minute", "minutes"],
            "h": ["h", "hr", "hrs", "hour", "hours"], "d": ["d", "day", "days"],
        ]
        var words: [String: String] = [:]
        for (unit, names) in spellings { for name in names { words[name] = unit } }
        return words
    }()

    /// Returns a hint about a rate that cannot be read: its unit, or that it is a size without a time.
    package static func rateHint(_ text: String) -> String? {
        if size(text) == 0 { return nil }
        return size(text) == nil ? unitHint(text, isRate: true) : "a rate says per what: `\(text)/s`"
    }

    /// Returns the text with each whole number replaced by 1: if the result can be read, the number was only too large.
    static func withOnes(_ text: String) -> String {
        var ones: [UInt8] = []
        var isFraction = false
        for byte in text.utf8 {
            let isDigit = (0x30...0x39).contains(byte)
            if isDigit, !isFraction, ones.last == UInt8(ascii: "1") { continue }
            ones.append(isDigit && !isFraction ? UInt8(ascii: "1") : byte)
            isFraction = byte == UInt8(ascii: ".") || isFraction && isDigit
        }
        return String(decoding: ones, as: UTF8.self)
    }

    /// Returns a time of day such as `01:00` as minutes after midnight.
    static func timeOfDay(_ text: String) -> Int? {
        let bytes = Array(text.utf8)
        guard bytes.count == 5, bytes[2] == UInt8(ascii: ":") else { return nil }
        let digits = [bytes[0], bytes[1], bytes[3], bytes[4]].map { Int($0) - 0x30 }
        guard digits.allSatisfy({ (0...9).contains($0) }) else { return nil }
        let (hour, minute) = (digits[0] * 10 + digits[1], digits[2] * 10 + digits[3])
        return hour < 24 && minute < 60 ? hour * 60 + minute : nil
    }

    /// Returns a file mode from octal digits, with or without `0o`.
    static func fileMode(_ text: String) -> UInt16? {
        let digits = text.hasPrefix("0o") ? text.dropFirst(2) : text[...]
        guard !digits.isEmpty, digits.utf8.count <= 5, digits.utf8.allSatisfy({ (0x30...0x37).contains($0) }),
            let mode = UInt16(digits, radix: 8), mode <= 0o7777
        else { return nil }
        return mode
    }

    /// Returns a whole number as YAML writes it: decimal, `0x` or `0o`.
    static func integer(_ text: String) -> Int64? {
        if text.hasPrefix("0x") { return Int64(text.dropFirst(2), radix: 16) }
        if text.hasPrefix("0o") { return Int64(text.dropFirst(2), radix: 8) }
        return Int64(text)
    }

    /// Returns the bytes that hex digits stand for.
    static func hex(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count % 2 == 0 else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = PercentEncoding.hexValue(digits[index]),
                let low = PercentEncoding.hexValue(digits[index + 1])
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    static func number(_ text: String) -> Double? {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }) else { return nil }
        return Double(text).flatMap { $0.isFinite ? $0 : nil }
    }
}

/// Reads the parts of one value from its bytes.
private struct Scanner {
    private let bytes: [UInt8]
    private var position = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    var isAtEnd: Bool { position == bytes.count }
    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    /// Takes digits, and perhaps a dot and more digits.
    mutating func decimal() -> Decimal? {
        guard let whole = digits(), whole.count <= 18 else { return nil }
        var fraction: ArraySlice<UInt8> = []
        if next == UInt8(ascii: ".") {
            position += 1
            guard let digits = digits(), digits.count <= 9 else { return nil }
            fraction = digits
        }
        return Decimal(whole: whole, fraction: fraction)
    }

    private mutating func digits() -> ArraySlice<UInt8>? {
        let start = position
        while let byte = next, (0x30...0x39).contains(byte) { position += 1 }
        return start == position ? nil : bytes[start..<position]
    }

    /// Takes a unit of time and returns its length in nanoseconds.
    mutating func durationUnit() -> Int64? {
        switch word() {
        case "ms": 1_000_000
        case "s": 1_000_000_000
        case "m": 60_000_000_000
        case "h": 3_600_000_000_000
        case "d": 86_400_000_000_000
        default: nil
        }
    }

    mutating func sizeUnit() -> Int64? {
        switch word() {
        case "", "B": 1
        case "kB": 1000
        case "MB": 1_000_000
        case "GB": 1_000_000_000
        case "TB": 1_000_000_000_000
        case "KiB": 1 << 10
        case "MiB": 1 << 20
        case "GiB": 1 << 30
        case "TiB": 1 << 40
        default: nil
        }
    }

    private mutating func word() -> String {
        let start = position
        while let byte = next, (0x61...0x7A).contains(byte | 0x20) { position += 1 }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }
}

/// A decimal number that is never rounded.
private struct Decimal {
    let whole: Int64
    let fraction: Int64
    let scale: Int64
    var hasFraction: Bool { fraction != 0 }

    init(whole: ArraySlice<UInt8>, fraction: ArraySlice<UInt8>) {
        self.whole = whole.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
        self.fraction = fraction.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
        scale = fraction.reduce(1) { scale, _ in scale * 10 }
    }

    func times(_ unit: Int64) -> Int64? {
        let (product, overflow) = whole.multipliedReportingOverflow(by: unit)
        let part = fraction.multipliedFullWidth(by: unit)
        let (sum, tooLarge) = product.addingReportingOverflow(scale.dividingFullWidth(part).quotient)
        return overflow || tooLarge ? nil : sum
    }
}
