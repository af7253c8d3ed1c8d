/// Compares the output of a command with what a page shows of it.
///
/// Times, dates, sizes and rates are masked on both sides, and several blanks count as one. A shown line `...` stands for
/// any lines. Tasks may end in any order, so their lines are compared as a set; all other lines must come in order.
package enum ShownOutput {
    /// Returns `nil` if the output is as shown, else what differs, in lines for the person who wrote the page.
    package static func difference(shown: [String], real: String) -> String? {
        let realLines = trimmed(
            real.split(separator: "\n", omittingEmptySubsequences: false).map { masked(String($0)) })
        let shownLines = trimmed(shown.map { masked($0) })
        let (shownRest, shownTasks) = parted(shownLines)
        let (realRest, realTasks) = parted(realLines)
        let isOpen = shownRest.contains(["..."])
        var left = realTasks
        var missing: [[String]] = []
        for task in shownTasks {
            if let found = left.firstIndex(where: { matches(task, $0) }) {
                left.remove(at: found)
            } else {
                missing.append(task)
            }
        }
        let areTasksAlike = missing.isEmpty && (isOpen || left.isEmpty)
        if areTasksAlike, matches(shownRest.flatMap { $0 }, realRest.flatMap { $0 }) { return nil }
        return
            (["shown (masked):"] + shownLines.map { "-\($0)" } + ["real (masked):"] + realLines.map { "+\($0)" }
            + ["real:", real]).joined(separator: "\n")
    }

    /// First words of the line that a run writes when a task has ended.
    private static let outcomes: Set<Substring> = [
        "ok", "unchanged", "cached", "tolerated", "FAILED", "skipped", "cancelled", "deferred",
    ]

    /// Separates the lines about single tasks, each with the indented lines below it, from the rest.
    private static func parted(_ lines: [String]) -> (rest: [[String]], tasks: [[String]]) {
        var (rest, tasks): ([[String]], [[String]]) = ([], [])
        var isInTask = false
        for line in lines {
            if isInTask, line.hasPrefix(" ") {
                tasks[tasks.count - 1].append(line)
                continue
            }
            isInTask = !line.hasPrefix(" ") && line.split(separator: " ").first.map { outcomes.contains($0) } == true
            if isInTask { tasks.append([line]) } else { rest.append([line]) }
        }
        return (rest, tasks)
    }

    /// Whether the real lines match the shown ones. A shown `...` matches any number of lines.
    private static func matches(_ shown: [String], _ real: [String]) -> Bool {
        var (shownAt, realAt) = (0, 0)
        var wildcard: (shown: Int, real: Int)?
        while realAt < real.count {
            if shownAt < shown.count, shown[shownAt].drop(while: { $0 == " " }) == "..." {
                wildcard = (shownAt, realAt)
                shownAt += 1
            } else if shownAt < shown.count, shown[shownAt] == real[realAt] {
                shownAt += 1
                realAt += 1
            } else if let last = wildcard {
                wildcard = (last.shown, last.real + 1)
                (shownAt, realAt) = (last.shown + 1, last.real + 1)
            } else {
                return false
            }
        }
        return shown[shownAt...].allSatisfy { $0.drop { $0 == " " } == "..." }
    }

    private static func trimmed(_ lines: [String]) -> [String] {
        guard let first = lines.firstIndex(where: { !$0.isEmpty }), let last = lines.lastIndex(where: { !$0.isEmpty })
        else { return [] }
        return Array(lines[first...last])
    }

    /// Returns the line with `TIME`, `DATE`, `SIZE` and `RATE` for what differs from run to run, one blank for several
    /// after its indentation (one level or none), and none at its end.
    package static func masked(_ line: String) -> String {
        var scanner = MaskScanner(line)
        return scanner.masked()
    }
}

/// Goes through a line once and replaces what `ShownOutput` masks.
private struct MaskScanner {
    private let text: [UInt8]
    private var place = 0
    private var result: [UInt8] = []

    private static let sizes: Set<String> = ["B", "KiB", "MiB", "GiB", "TiB", "kB", "MB", "GB"]
    private static let spans: Set<String> = ["ns", "us", "ms", "s", "m", "h", "d"]

    init(_ line: String) { text = Array(line.utf8) }

    mutating func masked() -> String {
        while place < text.count {
            if isStartOfNumber, let (end, mask) = date ?? timeOfDay ?? quantity {
                result += mask.utf8
                place = end
            } else {
                let isSecondBlank = text[place] == UInt8(ascii: " ") && result.last == UInt8(ascii: " ")
                if !isSecondBlank { result.append(text[place]) }
                place += 1
            }
        }
        while result.last == UInt8(ascii: " ") { result.removeLast() }
        return String(decoding: result, as: UTF8.self)
    }

    private func byte(_ at: Int) -> UInt8 { at < text.count ? text[at] : 0 }
    private func isDigit(_ at: Int) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte(at)) }
    private func isLetter(_ at: Int) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte(at) | 0x20) }

    private var isStartOfNumber: Bool {
        guard isDigit(place) else { return false }
        guard place > 0 else { return true }
        return !isDigit(place - 1) && !isLetter(place - 1) && !"._:/-".utf8.contains(byte(place - 1))
    }

    /// Whether the bytes from `at` on are as a pattern, in which `0` stands for a digit.
    private func has(_ pattern: String, _ at: Int) -> Bool {
        pattern.utf8.enumerated().allSatisfy { index, expected in
            expected == UInt8(ascii: "0") ? isDigit(at + index) : byte(at + index) == expected
        }
    }

    /// `2026-11-21`, with or without `T07:00:00.123Z`.
    private var date: (Int, String)? {
        guard has("0000-00-00", place) else { return nil }
        var end = place + 10
        if has("T00:00:00", end) {
            end += 9
            if byte(end) == UInt8(ascii: ".") { repeat { end += 1 } while isDigit(end) }
            if byte(end) == UInt8(ascii: "Z") { end += 1 }
        }
        return (end, "DATE")
    }

    /// `07:00` or `07:00:00`.
    private var timeOfDay: (Int, String)? {
        for pattern in ["00:00:00", "00:00"] where has(pattern, place) {
            let end = place + pattern.utf8.count
            if !isDigit(end), byte(end) != UInt8(ascii: ":") { return (end, "TIME") }
        }
        return nil
    }

    /// `12.3 KiB`, `1,204 B`, `5MiB/s`, `0.01s`, `2 s`, `1h30m`.
    private var quantity: (Int, String)? {
        guard let first = unit(after: place) else { return nil }
        if Self.sizes.contains(first.unit) {
            return byte(first.end) == UInt8(ascii: "/") && byte(first.end + 1) == UInt8(ascii: "s")
                && !isLetter(first.end + 2) ? (first.end + 2, "RATE") : (first.end, "SIZE")
        }
        guard Self.spans.contains(first.unit) else { return nil }
        var end = first.end
        while let next = unit(after: end) ?? (byte(end) == UInt8(ascii: " ") ? unit(after: end + 1) : nil),
            Self.spans.contains(next.unit)
        { end = next.end }
        return (end, "TIME")
    }

    /// A number and the word of letters that follows it at once or after one blank.
    private func unit(after start: Int) -> (end: Int, unit: String)? {
        guard isDigit(start) else { return nil }
        var end = start
        while isDigit(end) || (".,".utf8.contains(byte(end)) && isDigit(end + 1)) { end += 1 }
        if byte(end) == UInt8(ascii: " ") { end += 1 }
        let letters = end
        while isLetter(end) { end += 1 }
        return (end, String(decoding: text[min(letters, text.count)..<min(end, text.count)], as: UTF8.self))
    }
}
