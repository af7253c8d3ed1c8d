internal import Diagnostics

/// The parsed command line alone: without environment, defaults or files.
package struct TypedArguments: Hashable, Sendable {
    /// The command; `run` when its name was left out.
    package var command: CommandName
    /// Whether the command's name was left out.
    package var isImplicit: Bool
    /// Words that are no flags, without the command's name.
    package var operands: [String]
    /// Values in the order given; empty for a switch.
    package var values: [FlagName: [String]]
    /// Position of each flag's last occurrence: of two that contradict each other the later counts.
    package var places: [FlagName: Int]

    /// Whether a flag was typed.
    package func has(_ name: FlagName) -> Bool { values[name] != nil }

    /// Parses the words after the program's name.
    package static func parse(_ words: [String]) throws(UsageError) -> TypedArguments {
        var parser = Parser(words: words)
        try parser.read()
        return try parser.checkedArguments()
    }
}

private struct Parser {
    let words: [String]
    var index = 0
    var operands: [String] = []
    var values: [FlagName: [String]] = [:]
    var places: [FlagName: Int] = [:]
    var flagCount = 0

    init(words: [String]) { self.words = words }

    mutating func read() throws(UsageError) {
        while index < words.count {
            let word = words[index]
            index += 1
            if word == "--" {
                operands += words[index...]
                return
            }
            if word.hasPrefix("--") {
                try readLong(word)
            } else if word.hasPrefix("-"), word != "-" {
                try readShort(word)
            } else {
                operands.append(word)
            }
        }
    }

    private mutating func readLong(_ word: String) throws(UsageError) {
        let equals = word.firstIndex(of: "=")
        let long = equals.map { String(word[..<$0]) } ?? word
        guard let name = FlagName(rawValue: String(long.dropFirst(2))) else { throw unknown(long) }
        try setFlag(FlagTable[name], value: equals.map { String(word[word.index(after: $0)...]) })
    }

    /// Parses short flags, which are switches: `-vq` is `-v -q`.
    private mutating func readShort(_ word: String) throws(UsageError) {
        for letter in word.dropFirst() {
            guard let flag = FlagTable.all.first(where: { $0.short == letter }) else { throw unknown("-\(letter)") }
            try setFlag(flag, value: nil)
        }
    }

    private mutating func setFlag(_ flag: Flag, value: String?) throws(UsageError) {
        flagCount += 1
        places[flag.name] = flagCount
        guard let placeholder = flag.placeholder else {
            if value != nil { throw UsageError("`\(flag.long)` is a switch and takes no value") }
            values[flag.name] = []
            return
        }
        let given = if let value { value } else { try nextWord(flag, placeholder) }
        // Most likely an unset shell variable, whose intended value is unknown.
        if given.isEmpty {
            throw UsageError("`\(flag.long)` has an empty value", hint: "write `\(flag.long) \(placeholder)`")
        }
        if flag.isList { values[flag.name, default: []].append(given) } else { values[flag.name] = [given] }
    }

    private mutating func nextWord(_ flag: Flag, _ placeholder: String) throws(UsageError) -> String {
        guard index < words.count else {
            throw UsageError("`\(flag.long)` needs a value", hint: "write `\(flag.long) \(placeholder)`")
        }
        let word = words[index]
        if word.hasPrefix("--") {
            throw UsageError(
                "`\(flag.long)` needs a value, but `\(word)` follows",
                hint: "write `\(flag.long)=\(word)` if that is the value")
        }
        index += 1
        return word
    }

    private func unknown(_ word: String) -> UsageError {
        let names = FlagTable.all.map { $0.long }
        let named = operands.first.flatMap { CommandName(rawValue: $0) }
        let isForeign = named == .initialize || named == .importJob
        let foreign = isForeign ? operands.dropFirst().first : nil
        let hint =
            foreign.flatMap { ForeignOptions.commandHint(for: $0, operands[0]) } ?? ForeignOptions.hint(for: word)
            ?? Spelling.closest(to: word, among: names).map { "did you mean `\($0)`?" }
            ?? "`transfer-run help` lists the options; a file of that name is `./\(word)`"
        return UsageError("unknown option `\(word)`", hint: hint)
    }

    // MARK: The whole

    func checkedArguments() throws(UsageError) -> TypedArguments {
        let named = operands.first.flatMap { CommandName(rawValue: $0) }
        var typed = TypedArguments(
            command: named ?? .run, isImplicit: named == nil, operands: operands, values: values, places: places)
        if named != nil { typed.operands.removeFirst() }
        if values[.help] != nil || values[.version] != nil { return typed }
        try check(typed)
        return typed
    }

    private func check(_ typed: TypedArguments) throws(UsageError) {
        let command = CommandTable[typed.command]
        guard command.isBuilt else { throw .notBuilt("`transfer-run \(command.name.rawValue)`") }
        for flag in FlagTable.all {
            guard let values = typed.values[flag.name] else { continue }
            try flag.check(values, of: typed.command)
        }
        if typed.operands.count < command.count.lowerBound { throw missing(typed, command) }
        if typed.operands.count > command.count.upperBound {
            let extra = typed.operands[command.count.upperBound]
            throw UsageError(
                "`transfer-run \(command.name.rawValue)` does not take `\(extra)`",
                hint: "usage: transfer-run \(command.name.rawValue) \(command.operands)")
        }
    }

    private func missing(_ typed: TypedArguments, _ command: CommandEntry) -> UsageError {
        if words.isEmpty {
            return .noJob
        }
        return UsageError(
            "`transfer-run \(command.name.rawValue)` needs \(command.operands)",
            hint: "usage: transfer-run \(command.name.rawValue) \(command.operands)")
    }
}

extension Flag {
    /// Checks that the command accepts this flag with these values. Values of the environment are checked alike.
    func check(_ values: [String], of command: CommandName) throws(UsageError) {
        guard commands.contains(command) else {
            let others = commands.map { "`\($0.rawValue)`" }.joined(separator: ", ")
            throw UsageError("`\(long)` is an option of \(others), not of `\(command.rawValue)`")
        }
        guard isBuilt else { throw .notBuilt("`\(long)`") }
        guard case .choice(let words) = shape else { return }
        for value in values {
            if !words.contains(value) {
                let listed = words.map { "`\($0)`" }.joined(separator: ", ")
                throw UsageError("`\(long)` cannot be `\(value)`", hint: "it is one of \(listed)")
            }
        }
    }
}
