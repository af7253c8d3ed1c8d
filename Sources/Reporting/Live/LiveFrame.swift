package import TransferModel

/// The live part of a terminal at one moment: a row for each of the tasks that run longest, and one of totals. Pure.
package struct LiveFrame {
    /// Properties of the terminal that decide the layout.
    package struct Style {
        /// The columns of the terminal; rows stay one short of them, so that none wraps.
        var columns: Int
        /// Lines of the terminal.
        var height: Int
        var color: Bool
        /// Whether the terminal shows characters beyond ASCII.
        var isUnicode: Bool

        package init(columns: Int, height: Int, color: Bool, isUnicode: Bool) {
            (self.columns, self.height) = (columns, height)
            (self.color, self.isUnicode) = (color, isUnicode)
        }
    }

    private static let mostRows = 10
    private let style: Style
    private var width: Int { style.columns - 1 }

    package init(_ style: Style) { self.style = style }

    /// Returns the lines, without control characters except colours.
    ///
    /// `nameWidth` is the widest that the column of names was so far: it does not shrink while the run goes on.
    package func lines(_ run: LiveRun, at now: WallTime, nameWidth: inout Int, id: (TaskIndex) -> String) -> [String] {
        let room = max(0, min(Self.mostRows, style.height - 4))
        // The row that counts the other tasks replaces one of a task.
        let isMore = run.order.count > room
        let shown = run.order.prefix(isMore ? max(0, room - 1) : room)
        let names = shown.map { SafeText.line(id($0)) }
        nameWidth = names.reduce(nameWidth) { max($0, TextLayout.width(of: $1)) }
        let columns = max(1, min(nameWidth, max(style.columns / 3, style.columns - 75)))
        var lines = zip(shown, names).map { task, name in
            run.tasks[task].map { row(name, columns, $0, now) } ?? name
        }
        let more = run.order.count - shown.count
        if more > 0, room > 0 { lines.append(dim(fit("and \(HumanText.grouped(more)) more"))) }
        lines.append(total(run, now))
        return lines
    }

    // MARK: A task

    private func row(_ name: String, _ nameWidth: Int, _ task: LiveTask, _ now: WallTime) -> String {
        if let pause = task.pause, !task.isRunning { return paused(name, nameWidth, pause, now) }
        let figures = figures(task, now)
        let least = min(nameWidth, 8)
        var used = least
        // What matters most comes first; what does not fit is left out. The bar comes before the last.
        var kept: [Int] = []
        for place in Figure.byRank where used + 2 + figures[place].width <= width - (place == Figure.size ? 10 : 0) {
            used += 2 + figures[place].width
            kept.append(place)
        }
        let columns = min(nameWidth, width - used + least)
        let room = width - used + least - columns
        let bar = room >= 10 ? "  " + self.bar(task, columns: min(40, room - 2)) : ""
        let text =
            TextLayout.padded(cut(name, to: columns), to: columns) + bar
            + kept.sorted().map { "  " + figures[$0].text }.joined()
        return TextLayout.trimmed(text)
    }

    private struct Figure {
        let text: String
        let width: Int

        /// Places among the figures of a row.
        static let size = 1
        /// The share, the rate, the time that is left, and the size.
        static let byRank = [0, 2, 3, size]

        init(_ text: String?, width: Int) {
            self.text = TextLayout.leftPadded(text ?? "", to: width)
            self.width = width
        }
    }

    private func figures(_ task: LiveTask, _ now: WallTime) -> [Figure] {
        let rate = task.isRunning && task.moved > 0 ? task.meter.bytesPerSecond(at: now) : nil
        let left = rate.flatMap { rate in rate > 0 ? task.left.map { Double($0) / Double(rate) } : nil }
        return [
            Figure(task.share.map { "\(Int($0.done * 100))%" }, width: 4),
            Figure(HumanText.size(task.bytes), width: 10),
            Figure(rate.map { "\(HumanText.size($0))/s" }, width: 12),
            Figure(left.flatMap { Self.time($0) }, width: 6),
        ]
    }

    private func paused(_ name: String, _ nameWidth: Int, _ pause: LiveTask.Pause, _ now: WallTime) -> String {
        let columns = min(nameWidth, max(8, width / 3))
        let start = TextLayout.padded(cut(name, to: columns), to: columns) + "  "
        let words = cut(SafeText.line(Self.words(pause, now)), to: max(0, width - columns - 2))
        return start + paint(words, "33")
    }

    /// `again in 14s, for 9m12s at most: the server answered 503`, `waits for a network it may use`.
    static func words(_ pause: LiveTask.Pause, _ now: WallTime) -> String {
        let failure = pause.failure.map { PeopleText.message($0) }
        if let until = pause.until {
            let time = Self.time(max(0, (until - now).seconds)) ?? "a while"
            let asked = pause.reason == .retryAfter ? ", as the server asked" : ""
            let bound =
                pause.givesUpAt.flatMap { Self.time(max(0, ($0 - now).seconds)) }.map { ", for \($0) at most" } ?? ""
            return "again in \(time)\(asked)\(bound)" + (failure.map { ": \($0)" } ?? "")
        }
        return "waits for \(pause.lacks ?? Explanation.words(pause.reason))" + (failure.map { ": \($0)" } ?? "")
    }

    // MARK: Bars

    /// Returns a bar that shows which share of the expected bytes has arrived.
    package func bar(_ bytes: Int64, of expected: Int64, columns: Int) -> String {
        bar((expected > 0 ? min(1, Double(bytes) / Double(expected)) : 1, 0), columns)
    }

    private func bar(_ task: LiveTask, columns: Int) -> String {
        task.share.map { bar($0, columns) } ?? String(repeating: " ", count: columns)
    }

    /// Draws the resumed share, the share that arrived since, and the rest.
    private func bar(_ share: (done: Double, resumed: Double), _ columns: Int) -> String {
        let done = min(columns, Int(share.done * Double(columns)))
        let resumed = min(done, Int(share.resumed * Double(columns)))
        let parts: [(count: Int, plain: String, ascii: String, color: String)] = [
            (resumed, "▒", "=", "36"), (done - resumed, "█", "#", "32"), (columns - done, "░", ".", "2"),
        ]
        return parts.filter { $0.count > 0 }.map { part in
            guard style.isUnicode else { return String(repeating: part.ascii, count: part.count) }
            if style.color { return paint(String(repeating: "━", count: part.count), part.color) }
            return String(repeating: part.plain, count: part.count)
        }.joined()
    }

    // MARK: Totals

    /// `12/120 done  1 failed  8 running  100 waiting   1.2 GiB of 4.0 GiB  94.0 MiB/s  31s left`
    private func total(_ run: LiveRun, _ now: WallTime) -> String {
        let totals = run.totals
        let elapsed = run.beganAt.flatMap { Self.time((now - $0).seconds) } ?? ""
        let moved = HumanText.size(totals.moved)
        let amount = totals.expected.map { "\(moved) of \(HumanText.size(max($0, totals.moved)))" } ?? moved
        // The less it matters the later it stands in the order of ranks.
        let parts: [(text: String?, rank: Int)] = [
            ("\(HumanText.grouped(totals.done))/\(HumanText.grouped(totals.tasks)) done", 0),
            (totals.failed > 0 ? paint("\(HumanText.grouped(totals.failed)) failed", "31") : nil, 1),
            (totals.running > 0 ? "\(HumanText.grouped(totals.running)) running" : nil, 5),
            (totals.waiting > 0 ? "\(HumanText.grouped(totals.waiting)) waiting" : nil, 6),
            (totals.moved > 0 ? amount : nil, 4),
            (totals.running > 0 ? totals.rate.map { "\(HumanText.size($0))/s" } : nil, 2),
            (totals.left.flatMap { Self.time($0) }.map { "\($0) left" }, 3),
            (totals.pause.map { Self.words($0, now) }.map { SafeText.line($0) }, 2),
            (elapsed, 7),
        ]
        var kept: [Int] = []
        var used = 0
        let known = parts.enumerated().compactMap { place, part in
            part.text.map { (place: place, text: $0, rank: part.rank) }
        }
        for part in known.sorted(by: { ($0.rank, $0.place) < ($1.rank, $1.place) }) {
            let columns = Self.shownWidth(part.text) + (kept.isEmpty ? 0 : 3)
            guard used + columns <= width else { continue }
            used += columns
            kept.append(part.place)
        }
        let separator = style.isUnicode ? " · " : " | "
        return known.filter { kept.contains($0.place) }.map(\.text).joined(separator: separator)
    }

    // MARK: Words

    /// `9s`, `5m03s`, `2h05m`: whole seconds, because fractions of a forecast are of no use.
    static func time(_ seconds: Double) -> String? {
        guard seconds >= 0, seconds < 100 * 3600 else { return nil }
        if seconds < 59.5 { return "\(Int(seconds.rounded()))s" }
        return HumanText.duration(TimeSpan(nanoseconds: Int64(seconds.rounded()) * 1_000_000_000))
    }

    private func fit(_ text: String) -> String { cut(text, to: width) }
    private func cut(_ text: String, to columns: Int) -> String {
        TextLayout.cut(text, to: columns, mark: style.isUnicode ? "…" : "...")
    }
    private func dim(_ text: String) -> String { paint(text, "2") }
    private func paint(_ text: String, _ color: String) -> String {
        style.color && !text.isEmpty ? "\u{1B}[\(color)m\(text)\u{1B}[0m" : text
    }

    /// Columns of a text that may contain colours.
    static func shownWidth(_ text: String) -> Int {
        guard text.utf8.contains(0x1B) else { return TextLayout.width(of: text) }
        var plain = ""
        var isEscape = false
        for character in text {
            if character == "\u{1B}" {
                isEscape = true
            } else if isEscape {
                isEscape = character != "m"
            } else {
                plain.append(character)
            }
        }
        return TextLayout.width(of: plain)
    }
}
