/// Tells what could be a calendar expression of systemd (systemd.time) from what clearly is none. Where systemd itself is
/// there, it knows better.
package enum CalendarText {
    private static let shorthands: Set<String> = [
        "minutely", "hourly", "daily", "weekly", "monthly", "quarterly", "semiannually", "yearly", "annually",
        "biannually", "bi-annually", "semi-annually", "anually",
    ]
    private static let days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]

    /// Whether the text has the form: weekdays, a date, a time and a timezone, each optional, in this order.
    package static func isPlausible(_ text: String) -> Bool {
        var words = text.split(separator: " ").map { String($0) }[...]
        guard let first = words.first else { return false }
        if first.hasPrefix("@") { return words.count == 1 && isNumber(first.dropFirst()) }
        if shorthands.contains(first.lowercased()) {
            words.removeFirst()
        } else {
            let count = words.count
            if let word = words.first, isDays(word) { words.removeFirst() }
            if let word = words.first, isDate(word) { words.removeFirst() }
            if let word = words.first, isTime(word) { words.removeFirst() }
            if words.count == count { return false }
        }
        if let word = words.first, isZone(word) { words.removeFirst() }
        return words.isEmpty
    }

    /// Whether the text is five fields of a crontab.
    package static func isCron(_ text: String) -> Bool {
        let words = text.split(separator: " ")
        return words.count == 5
            && words.allSatisfy { $0.utf8.allSatisfy { (0x30...0x39).contains($0) || "*,-/".utf8.contains($0) } }
    }

    private static func isDays(_ word: String) -> Bool {
        let names = word.lowercased().split(separator: ",").flatMap { part in
            part.contains("..")
                ? part.split(separator: ".").map { String($0) } : part.split(separator: "-").map { String($0) }
        }
        return !names.isEmpty && names.allSatisfy { name in days.contains { $0 == name || $0.prefix(3) == name } }
    }

    private static func isDate(_ word: String) -> Bool {
        guard word.contains("-") || word.contains("~") else { return false }
        let parts = word.split(omittingEmptySubsequences: false) { $0 == "-" || $0 == "~" }
        let limits = [1...9999, 1...12, 1...31].suffix(parts.count)
        return (2...3).contains(parts.count) && zip(parts, limits).allSatisfy { isList($0, $1) }
    }

    private static func isTime(_ word: String) -> Bool {
        let parts = word.split(separator: ":", omittingEmptySubsequences: false)
        return (2...3).contains(parts.count) && zip(parts, [0...23, 0...59, 0...60]).allSatisfy { isList($0, $1) }
    }

    /// `*`, or numbers, each with a range (`1..5`), a step (`0/15`) or a fraction of a second.
    private static func isList(_ text: Substring, _ limits: ClosedRange<Int>) -> Bool {
        text.split(separator: ",", omittingEmptySubsequences: false).allSatisfy { item in
            let halves = item.split(separator: "/", omittingEmptySubsequences: false)
            guard halves.count <= 2, halves.dropFirst().allSatisfy({ isNumber($0) }) else { return false }
            if halves[0] == "*" { return true }
            let ends: [Substring] =
                halves[0].firstRange(of: "..").map { [halves[0][..<$0.lowerBound], halves[0][$0.upperBound...]] }
                ?? [halves[0]]
            return ends.allSatisfy { isNumber($0) && Int($0.prefix { $0 != "." }).map { limits.contains($0) } == true }
        }
    }

    private static func isNumber(_ text: Substring) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count <= 2 && parts.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
    }

    private static func isZone(_ word: String) -> Bool {
        word.first?.isLetter == true
            && word.unicodeScalars.allSatisfy {
                $0.isASCII && ($0.properties.isAlphabetic || "0123456789/_+-".unicodeScalars.contains($0))
            }
    }
}
