import TextFormats
import TransferModel
import YAMLTree

/// Reads dates, times of day and windows of time.
struct TimeReader {
    let reader: Reader

    func moment(_ node: NodeID) -> Moment? {
        guard let text = reader.text(node, .moment) else { return nil }
        if let span = ValueText.duration(text) { return .afterStart(span) }
        if let time = RFC3339.parse(text) { return .at(time) }
        return reader.invalid(node, .moment, text, hint: dateHint(text))
    }

    /// Returns a hint for text that lacks only a part of a date; else `nil`, as for a date that no calendar has.
    private func dateHint(_ text: String) -> String? {
        if RFC3339.parse(text + "Z") != nil { return "a date needs an offset, such as `Z` or `+01:00`: `\(text)Z`" }
        if RFC3339.parse(text + "T00:00:00Z") != nil { return "a date needs a time, too: `\(text)T00:00:00Z`" }
        // As people and other programs write it: a space between date and time, or no seconds.
        let date = text.prefix(10) + "T" + text.dropFirst(11)
        for meant in ["\(date)", "\(date)Z", "\(date):00Z"] where RFC3339.parse(meant) != nil {
            return "did you mean `\(meant)`?"
        }
        return ValueText.durationHint(text)
    }

    func date(_ node: NodeID) -> WallTime? {
        guard let text = reader.text(node, Sections.dateShape) else { return nil }
        if let time = RFC3339.parse(text) { return time }
        return reader.invalid(node, Sections.dateShape, text)
    }

    func timeZone(_ node: NodeID) -> String? {
        guard let text = reader.text(node, .timeZone) else { return nil }
        guard TimeZoneFile.load(text) != nil else {
            return reader.error(
                "invalid-value", "`\(Reader.short(text))` is no time zone that this machine knows",
                hint: "an IANA name, such as `Europe/Berlin` or `UTC`", node)
        }
        return text
    }

    func window(_ node: NodeID, into window: inout TimeWindow?) {
        var draft = window ?? TimeWindow(from: 0, to: 0)
        let known = reader.problems.count
        Sections.window.decode(node, into: &draft, reader)
        if reader.problems.count == known, draft.from == draft.to, reader.tree.kind(node) == .mapping,
            reader.tree.count(node) > 1
        {
            reader.error(
                "empty-window", "a `window` that ends when it begins is never open", at: reader.beginning(node))
        }
        window = draft
    }

    func days(_ node: NodeID) -> Set<Int>? {
        guard reader.expectList(node, .list(.choice(Sections.dayNames))) else { return nil }
        if reader.tree.count(node) == 0 {
            return reader.error(
                "empty-window", "a `window` without a day is never open", hint: "leave `days` out for all", node)
        }
        return reader.tree.children(node).reduce(into: []) { days, element in
            guard let text = reader.text(element, .choice(Sections.dayNames)) else { return }
            let meant = Sections.dayNames.firstIndex(of: text)
            if let meant { days.insert(meant) } else { reader.unknownWord(text, element, Sections.dayNames) }
        }
    }
}
