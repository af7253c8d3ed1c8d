/// An option of a program whose command lines are imported.
struct ForeignOption: Sendable {
    /// What becomes of the option.
    enum Effect: Hashable, Sendable {
        /// Translated.
        case translated
        /// Changes only what the program prints.
        case shown
        /// What it asks for happens here without an option.
        case usual
        /// Has no equal, and the request is the same without it; the text says what to do, if there is anything.
        case lost(String)
        /// Has no equal, and changes what is sent or to whom: a transfer with it is left out.
        case refused(String)
    }
    /// Long name, without its dashes.
    let name: String
    /// Short name, without its dash; `nil` without one.
    let short: Character?
    /// Whether a value follows.
    let takesValue: Bool
    let effect: Effect
}

/// The options of a program, from a table of lines: name, short name or `-`, `V` for a value, the effect, and a hint.
struct OptionTable: Sendable {
    private var byName: [String: ForeignOption] = [:]
    private var byShort: [Character: ForeignOption] = [:]

    init(_ rows: String) {
        for row in rows.split(separator: "\n") {
            let words = row.split(separator: " ", maxSplits: 4, omittingEmptySubsequences: true)
            guard words.count >= 4 else { continue }
            let hint = words.count > 4 ? String(words[4]) : ""
            let effect: ForeignOption.Effect =
                switch words[3] {
                case "translated": .translated
                case "shown": .shown
                case "usual": .usual
                case "refused": .refused(hint)
                default: .lost(hint)
                }
            let option = ForeignOption(
                name: String(words[0]), short: words[1] == "-" ? nil : words[1].first, takesValue: words[2] == "V",
                effect: effect)
            byName[option.name] = option
            if let short = option.short { byShort[short] = option }
        }
    }

    /// The names of all options.
    var names: [String] { byName.keys.sorted() }

    subscript(short: Character) -> ForeignOption? { byShort[short] }

    /// The option of a long name, or of the only one that begins so.
    subscript(name: String) -> ForeignOption? {
        if let option = byName[name] { return option }
        guard name.utf8.count >= 3 else { return nil }
        let fitting = byName.values.filter { $0.name.hasPrefix(name) }
        return fitting.count == 1 ? fitting[0] : nil
    }
}

/// A command line as options and operands, in order.
struct ParsedCommand: Sendable {
    struct Item: Sendable {
        /// Name of the option; empty for an operand.
        let name: String
        let value: String
    }
    var items: [Item] = []
    /// Options that are lost, as typed, with what to do instead.
    var lost: [(option: String, hint: String)] = []
    /// Options with which a transfer is left out, as typed, with what to do instead.
    var refused: [(option: String, hint: String)] = []
    /// Options that change only what is printed.
    var shown: [String] = []
    /// Words that are no option of the program.
    var unknown: [String] = []
    /// Options that lack their value.
    var incomplete: [String] = []

    /// Parses words after the program's name. `negates`: whether `--no-NAME` takes back an option.
    init(_ words: [String], _ table: OptionTable, negates: Bool) {
        var words = words[...]
        var hasEnded = false
        while let word = words.popFirst() {
            if hasEnded || !word.hasPrefix("-") || word == "-" {
                items.append(Item(name: "", value: word))
            } else if word == "--" {
                hasEnded = true
            } else if word.hasPrefix("--") {
                takeLong(word, &words, table, negates: negates)
            } else {
                takeShort(word, &words, table)
            }
        }
    }

    private mutating func takeLong(
        _ word: String, _ words: inout ArraySlice<String>, _ table: OptionTable, negates: Bool
    ) {
        let body = word.dropFirst(2)
        let equals = body.firstIndex(of: "=")
        let name = String(equals.map { body[..<$0] } ?? body)
        if let option = table[name] {
            let value = equals.map { String(body[body.index(after: $0)...]) }
            return take(option, as: "--\(name)", value, &words)
        }
        if negates, name.hasPrefix("no-"), let option = table[String(name.dropFirst(3))], !option.takesValue {
            items.removeAll { $0.name == option.name }
            lost.removeAll { $0.option == "--\(option.name)" }
            refused.removeAll { $0.option == "--\(option.name)" }
            if option.effect != .translated { shown.append("--\(name)") }
            return
        }
        unknown.append("--\(name)")
    }

    private mutating func takeShort(_ word: String, _ words: inout ArraySlice<String>, _ table: OptionTable) {
        var letters = word.dropFirst()
        while let letter = letters.popFirst() {
            guard let option = table[letter] else {
                unknown.append("-\(letter)")
                return
            }
            guard option.takesValue else {
                take(option, as: "-\(letter)", nil, &words)
                continue
            }
            take(option, as: "-\(letter)", letters.isEmpty ? nil : String(letters), &words)
            return
        }
    }

    private mutating func take(
        _ option: ForeignOption, as typed: String, _ value: String?, _ words: inout ArraySlice<String>
    ) {
        var value = value
        if option.takesValue, value == nil {
            value = words.popFirst()
            if value == nil {
                incomplete.append(typed)
                return
            }
        }
        switch option.effect {
        case .translated: items.append(Item(name: option.name, value: value ?? ""))
        case .shown: shown.append(typed)
        case .usual: break
        case .lost(let hint):
            lost.append((typed, hint))
            items.append(Item(name: option.name, value: value ?? ""))
        case .refused(let hint):
            refused.append((typed, hint))
            items.append(Item(name: option.name, value: value ?? ""))
        }
    }

    /// The last value of an option.
    func value(_ name: String) -> String? { items.last { $0.name == name }?.value }
    /// All values of an option.
    func values(_ name: String) -> [String] { items.filter { $0.name == name }.map(\.value) }
    /// Whether an option was given.
    func has(_ name: String) -> Bool { items.contains { $0.name == name } }
}
