/// Sizes as people read them.
package enum SizeText {
    /// `512 B`, `12.3 MiB`.
    package static func of(_ bytes: Int64) -> String {
        if bytes < 1024 { return "\(bytes) B" }
        let (tenths, unit) = tenths(bytes)
        return "\(tenths / 10).\(tenths % 10)\(unit)"
    }

    /// Both sizes as people read them, or in bytes where they would read the same and are not: `10.0 MiB` and
    /// `47.7 MiB`, `10485760 bytes` and `10485761 bytes`.
    package static func distinct(_ one: Int64, _ other: Int64) -> (String, String) {
        let texts = (of(one), of(other))
        return texts.0 == texts.1 && one != other ? ("\(one) bytes", "\(other) bytes") : texts
    }

    /// `97.7 of 293.0 KiB`, `2.0 KiB of 7.4 MiB`.
    package static func part(_ one: Int64, of all: Int64) -> String {
        let texts = distinct(one, all)
        let (unit, other) = (texts.0.split(separator: " ").last, texts.1.split(separator: " ").last)
        return unit == other ? "\(texts.0.split(separator: " ")[0]) of \(texts.1)" : "\(texts.0) of \(texts.1)"
    }

    /// Returns the size in tenths of the unit, with the unit: of 1,024 bytes and more.
    package static func tenths(_ bytes: Int64) -> (tenths: Int64, unit: String) {
        var unit = 0
        var scaled = Double(bytes) / 1024
        while scaled >= 1023.95, unit < units.count - 1 {
            scaled /= 1024
            unit += 1
        }
        return (Int64((scaled * 10).rounded()), units[unit])
    }

    private static let units = [" KiB", " MiB", " GiB", " TiB", " PiB", " EiB"]
}
