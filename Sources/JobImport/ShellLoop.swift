/// A loop of a script over values that are known, or over the lines of a file: its transfers become tasks with `forEach`.
struct ShellLoop: Hashable, Sendable {
    /// Name of the loop's variable in `forEach`.
    let name: String
    /// The list of `forEach`.
    let values: YAMLNode
    /// Whether no value changes by being encoded in a URL.
    let isUnreserved: Bool
    /// What the shell makes of the lines of a file beyond reading them; `nil` for nothing.
    var note: String?

    /// Names with which other references of a job begin.
    private static let takenNames: Set<String> = ["tasks", "env", "secret"]
    private static let most = 1000

    private init?(_ name: String, _ values: YAMLNode, isUnreserved: Bool) {
        guard ShellScript.isName(name) else { return nil }
        self.name = Self.jobName(name)
        self.values = values
        self.isUnreserved = isUnreserved
    }

    /// The job's name of a variable.
    static func jobName(_ name: String) -> String { takenNames.contains(name) ? name + "_" : name }

    /// The lines of a file, which the shell splits at blanks, or whose ends it trims.
    init?(_ name: String, linesOf file: ShellWord, splits: Bool = false, trims: Bool = false) {
        guard file.unknown == nil, !file.text.isEmpty, file.text != "-" else { return nil }
        self.init(name, .map(["lines": .text(file.text)]), isUnreserved: false)
        if splits { note = "the shell takes each word of `\(file.text)` for a value, the job each line" }
        if trims { note = "`read` leaves out blanks at the ends of a line, the job does not" }
    }

    /// The lines of a here-document.
    init?(_ name: String, linesIn document: ShellWord) {
        guard let text = document.literal else { return nil }
        let lines = text.split(separator: "\n").map { String($0) }
        self.init(name, list: lines)
    }

    private init?(_ name: String, list: [String]) {
        guard !list.isEmpty, list.count <= Self.most, !Self.hasSecrets(list) else { return nil }
        self.init(
            name, .list(list.map { .text($0) }),
            isUnreserved: list.allSatisfy { $0.utf8.allSatisfy(\.isUnreserved) })
    }

    /// Whether a value is a secret or has one in it, which must not come into the job.
    static func hasSecrets(_ list: [String]) -> Bool {
        list.contains { value in
            var job = ImportedJob()
            let hidden =
                value.contains("://")
                ? job.hideSecrets(ofValue: value, for: nil) : job.hideSecrets(ofBody: value, for: nil)
            return hidden != value || URLText(value).user != nil
        }
    }

    /// `for NAME in WORDS`; `nil` where only the shell knows the values.
    static func over(_ words: ArraySlice<ShellWord>, _ job: inout ImportedJob) -> ShellLoop? {
        let words = Array(words)
        guard words.count > 3, words[2].text == "in", let name = words[1].literal else { return nil }
        if words.count == 4, let range = range(words[3]) {
            if range.isPadded { return ShellLoop(name, list: range.list) }
            return ShellLoop(name, .plain("\(range.first)..\(range.last)"), isUnreserved: true)
        }
        if words.count == 4, isPattern(words[3]), let pattern = words[3].literal {
            return ShellLoop(name, .map(["files": .text(pattern)]), isUnreserved: false)
        }
        if words.count == 4, !words[3].isQuoted, words[3].text.isEmpty, let script = words[3].substitution {
            return over(name, script)
        }
        var list: [String] = []
        for word in words[3...] {
            guard word.unknown == nil else { return nil }
            if let range = range(word) {
                list += range.list
                continue
            }
            guard !isPattern(word), word.isQuoted || !word.text.contains("{") || word.text.contains("${") else {
                return nil
            }
            let value = job.filled(word.text)
            guard let plain = JobText.plain(value) else { return nil }
            list += word.isQuoted ? [plain] : plain.split { " \t\n".contains($0) }.map { String($0) }
        }
        return ShellLoop(name, list: list)
    }

    /// Why the values of `for NAME in WORDS` are not known.
    static func reason(_ words: ArraySlice<ShellWord>, _ job: ImportedJob) -> String {
        let values = words.dropFirst(3)
        if hasSecrets(values.compactMap { JobText.plain(job.filled($0.text)) }) {
            return "its values have secrets in them"
        }
        if values.contains(where: { $0.unknown == ShellWord.array }) { return "arrays are not read" }
        if values.contains(where: { word in job.loops.contains { word.text.contains("${\($0.name)") } }) {
            return "values that another loop changes are not read"
        }
        return "only the shell knows its values"
    }

    /// The lines of `$(cat FILE)` or `$(< FILE)`, or the numbers of `$(seq 10)`.
    private static func over(_ name: String, _ script: String) -> ShellLoop? {
        let commands = ShellScript(script).commands
        guard commands.count == 1, let command = commands.first else { return nil }
        if command.words.isEmpty { return command.inputFile.flatMap { ShellLoop(name, linesOf: $0, splits: true) } }
        guard command.redirections.isEmpty else { return nil }
        let words = command.words.compactMap(\.literal)
        guard words.count == command.words.count else { return nil }
        if words.count == 2, words[0] == "cat", !words[1].hasPrefix("-") {
            return ShellLoop(name, linesOf: command.words[1], splits: true)
        }
        let isPadded = words.count > 2 && words[0] == "seq" && words[1] == "-w"
        let typed = words.dropFirst(isPadded ? 2 : 1)
        let numbers = typed.compactMap { Int($0) }
        guard words[0] == "seq", (1...3).contains(numbers.count), numbers.count == typed.count else { return nil }
        let (first, last) = (numbers.count == 1 ? 1 : numbers[0], numbers[numbers.count - 1])
        if numbers.count < 3, !isPadded {
            return range(ShellWord(text: "{\(first)..\(last)}")).flatMap {
                ShellLoop(name, .plain("\($0.first)..\($0.last)"), isUnreserved: true)
            }
        }
        let step = numbers.count == 3 ? numbers[1] : 1
        guard step > 0, first >= 0, first <= last, (last - first) / step < most else { return nil }
        let list = stride(from: first, through: last, by: step).map { String($0) }
        let width = isPadded ? typed.map(\.count).max() ?? 0 : 0
        return ShellLoop(name, list: list.map { String(repeating: "0", count: max(0, width - $0.count)) + $0 })
    }

    /// The file of `cat FILE` or `< FILE`, where a script does nothing else.
    static func fileOfCat(_ script: String) -> ShellWord? {
        let commands = ShellScript(script).commands
        guard commands.count == 1, let command = commands.first else { return nil }
        if command.words.isEmpty { return command.inputFile }
        return command.redirections.isEmpty && command.words.count == 2 && command.words[0].literal == "cat"
            && command.words[1].literal != nil ? command.words[1] : nil
    }

    /// Number of the values; `nil` where they are not known before the run.
    var count: Int? {
        switch values {
        case .list(let list): return list.count
        case .plain(let range):
            let ends = range.split(separator: ".").compactMap { Int($0) }
            return ends.count == 2 ? ends[1] - ends[0] + 1 : nil
        default: return nil
        }
    }

    /// Whether each value is a name, without folders.
    var holdsNames: Bool {
        switch values {
        case .plain: true
        case .list(let list):
            list.allSatisfy { if case .text(let text) = $0 { !text.isEmpty && !text.contains("/") } else { false } }
        default: false
        }
    }

    /// How the shell's variable is written in the job: a file that a pattern found has a path and other fields.
    static func reference(to name: String, in words: ArraySlice<ShellWord>) -> String {
        "${\(jobName(name))" + (words.count == 4 && words.last.map(isPattern) == true ? ".path}" : "}")
    }

    /// Whether the shell puts names of files in the place of the word.
    private static func isPattern(_ word: ShellWord) -> Bool {
        !word.isQuoted && word.text.contains { "*?[".contains($0) }
    }

    /// `{1..10}`.
    static func range(_ word: ShellWord) -> (first: Int, last: Int, isPadded: Bool, list: [String])? {
        guard !word.isQuoted, word.unknown == nil, word.text.hasPrefix("{"), word.text.hasSuffix("}"),
            let dots = word.text.firstRange(of: "..")
        else { return nil }
        let (low, high) = (word.text[..<dots.lowerBound].dropFirst(), word.text[dots.upperBound...].dropLast())
        guard let first = Int(low), let last = Int(high), first >= 0, first <= last, last - first < most else {
            return nil
        }
        let isPadded = low.hasPrefix("0") && low.count > 1 || high.hasPrefix("0") && high.count > 1
        let width = isPadded ? max(low.count, high.count) : 0
        let list = (first...last).map { number in
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        return (first, last, isPadded, list)
    }
}

/// `xargs`, which runs a command for each line that it reads.
struct XArgs {
    /// The command's words, with a reference where the line belongs.
    let words: ArraySlice<ShellWord>
    let program: String
    let loop: ShellLoop

    /// Name of the line in the job.
    private static let name = "line"

    /// `nil` where it gives its command several lines at once, or reads what is not known.
    init?(_ arguments: ArraySlice<ShellWord>, linesOf file: ShellWord?) {
        var words = arguments
        var placeholder: String?
        var isOneByOne = false
        while let word = words.first?.literal, word.hasPrefix("-") {
            words.removeFirst()
            switch word {
            case "-r", "--no-run-if-empty", "-t": continue
            case "-n1", "-L1": isOneByOne = true
            case "-n", "-L":
                guard words.popFirst()?.literal == "1" else { return nil }
                isOneByOne = true
            case "-P": words = words.dropFirst()
            case "-I": placeholder = words.popFirst()?.literal
            case _ where word.hasPrefix("-P"): continue
            case _ where word.hasPrefix("-I"): placeholder = String(word.dropFirst(2))
            default: return nil
            }
        }
        guard let file, let loop = ShellLoop(Self.name, linesOf: file, splits: placeholder == nil) else { return nil }
        guard isOneByOne || placeholder?.isEmpty == false, let first = words.popFirst()?.literal else { return nil }
        program = first.split(separator: "/").last.map { String($0) } ?? first
        let reference = "${\(Self.name)}"
        if let placeholder {
            let text = JobText.literal(placeholder)
            words = ArraySlice(
                words.map { word in
                    var word = word
                    word.text = word.text.replacing(text, with: reference)
                    return word
                })
        } else {
            words.append(ShellWord(text: reference, isQuoted: true))
        }
        self.words = words
        self.loop = loop
    }
}

extension ShellCommand {
    /// The words without the steps of a compound command before them, such as `do`.
    var afterSteps: ArraySlice<ShellWord> {
        words.drop { !$0.isQuoted && (Self.steps.contains($0.text) || $0.text == "{" || $0.text == "!") }
    }

    /// The name of `while read NAME`, with or without `IFS=` and `-r`; `nil` for another command.
    var readName: String? {
        var words = afterSteps
        guard words.popFirst()?.text == "while" else { return nil }
        if words.first?.text == "IFS=" { words.removeFirst() }
        guard words.popFirst()?.text == "read" else { return nil }
        if words.first?.text == "-r" { words.removeFirst() }
        return words.count == 1 ? words.first?.literal : nil
    }

    /// The file of `cat FILE`, which the next command reads.
    var catFile: ShellWord? {
        guard end == "|", words.count == 2, words[0].text == "cat", redirections.isEmpty,
            !words[1].text.hasPrefix("-")
        else { return nil }
        return words[1]
    }

    /// The text of `cat <<X`, which the next command reads.
    var catText: ShellWord? {
        let isCat = [["cat"], ["cat", "-"]].contains(words.map(\.text))
        return end == "|" && isCat && redirections.allSatisfy { $0.sign.hasPrefix("<<") } ? input : nil
    }

    /// The file of `< FILE`.
    var inputFile: ShellWord? {
        redirections.count == 1 && redirections[0].sign == "<" ? redirections[0].word : nil
    }
}

extension ImportedTask {
    /// Makes the task one for each value of a loop.
    mutating func loop(over loop: ShellLoop) {
        let reference = "${\(loop.name)"
        let lists = forEach
        fields.removeAll { $0.key == "forEach" }
        fields.insert(YAMLField("forEach", .map([YAMLField(loop.name, loop.values)] + lists)), at: 0)
        idSuffix = "-\(reference).index}" + idSuffix
        guard let to = text("to"), to != "-", !to.hasSuffix("/"), !to.contains(reference) else { return }
        sharedFile = sharedFile ?? to
        set("to", .text("\(to).\(reference).index}"))
        comments.append("each turn of the loop writes `\(to)`: here each has a file of its own")
    }
}
