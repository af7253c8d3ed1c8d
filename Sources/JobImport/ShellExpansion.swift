/// What a shell makes of a part of a variable's text: `${f%.txt}`, `${URL##*/}`, `${V/a/b}`.
enum ShellExpansion {
    /// The text of `${NAME…}` for the value of the variable and what stands after its name; `nil` for what is not read.
    static func text(_ value: String, _ rest: Substring) -> String? {
        guard !rest.contains(where: { "$`\"'\\{}[]".contains($0) }) else { return nil }
        for mark in ["%%", "%", "##", "#", "//", "/"] where rest.hasPrefix(mark) {
            let pattern = Array(rest.dropFirst(mark.count))
            let text = Array(value)
            switch mark {
            case "%", "%%":
                let starts = mark == "%" ? Array((0...text.count).reversed()) : Array(0...text.count)
                let start = starts.first { matches(text[$0...], pattern[...]) }
                return String(text[..<(start ?? text.count)])
            case "#", "##":
                let ends = mark == "#" ? Array(0...text.count) : Array((0...text.count).reversed())
                return String(text[(ends.first { matches(text[..<$0], pattern[...]) } ?? 0)...])
            default: return replaced(text, pattern, isAll: mark == "//")
            }
        }
        return nil
    }

    /// The text with what stands for a pattern replaced: the pattern and the new text are parted by `/`.
    private static func replaced(_ text: [Character], _ rest: [Character], isAll: Bool) -> String? {
        let mark = rest.firstIndex(of: "/") ?? rest.endIndex
        let (pattern, new) = (rest[..<mark], rest[mark...].dropFirst())
        guard let first = pattern.first, !"#%*".contains(first), !pattern.contains("*") else { return nil }
        var result = ""
        var place = 0
        var isOpen = true
        while place < text.count {
            let end = place + pattern.count
            if isOpen, end <= text.count, matches(text[place..<end], pattern) {
                result += new
                place = end
                isOpen = isAll
            } else {
                result.append(text[place])
                place += 1
            }
        }
        return result
    }

    /// Whether a pattern stands for a whole text.
    private static func matches(_ text: ArraySlice<Character>, _ pattern: ArraySlice<Character>) -> Bool {
        // The places in the text that the pattern so far may end at.
        var ends: Set<Int> = [text.startIndex]
        for character in pattern {
            if character == "*" {
                guard let least = ends.min() else { return false }
                ends = Set(least...text.endIndex)
            } else {
                ends = Set(
                    ends.filter { $0 < text.endIndex && (character == "?" || text[$0] == character) }.map { $0 + 1 })
            }
        }
        return ends.contains(text.endIndex)
    }
}

extension ShellScript {
    /// The text of a variable that the script sets to one which is known; `nil` for another one, and for a credential.
    func plainValue(of name: String) -> String? {
        guard let word = assigned[name], word.unknown == nil, !isSecret(name) else { return nil }
        var text = word.text
        for _ in 0..<5 where text.contains("${") {
            for other in ImportedJob.references(in: text) {
                guard let word = assigned[other], word.unknown == nil, !isSecret(other) else { return nil }
                text = text.replacing("${\(other)}", with: word.text)
            }
        }
        return JobText.plain(text)
    }

    /// Whether a variable holds a credential, by its name or by what a transfer does with it.
    func isSecret(_ name: String) -> Bool { secretNames.contains(name) || SecretNames.isField(name) }

    /// `${NAME…}` of a part of a text that is known, of an array, or of an argument of a function; `nil` for another one.
    func part(_ content: String) -> ShellWord? {
        if let number = Int(content) { return argument(number) }
        if let mark = content.firstIndex(of: "["), content.last == "]" {
            let (name, key) = (String(content[..<mark]), content[mark...].dropFirst().dropLast())
            guard let elements = assigned[name]?.elements, !isSecret(name) else { return nil }
            if key == "@" || key == "*" { return ShellWord(elements: elements) }
            guard let index = Int(key) else { return nil }
            return elements.indices.contains(index) ? elements[index] : ShellWord()
        }
        let digits = content.prefix { $0.isASCII && $0.isNumber }
        if let number = Int(digits), let known = argument(number) {
            let rest = content[digits.endIndex...]
            guard rest.hasPrefix(":-"), !rest.contains(where: { "$`\"'\\{}".contains($0) }) else { return nil }
            return known.text.isEmpty && known.unknown == nil ? ShellWord(text: String(rest.dropFirst(2))) : known
        }
        let name = String(content.prefix { Self.isName("a\($0)") })
        guard !keepsNames else {
            // A part of it is as secret as the whole.
            return Self.isName(name) && assigned[name] != nil
                && "%#/".contains(content.dropFirst(name.count).first ?? " ")
                ? ShellWord(text: "${\(name)}") : nil
        }
        return plainValue(of: name).flatMap { ShellExpansion.text($0, content.dropFirst(name.count)) }.map {
            ShellWord(text: JobText.literal($0))
        }
    }

    /// The values of an array, `(a b)`, whose text is known; `nil` where one of them is not.
    mutating func elements(of text: String, _ line: Int) -> [ShellWord]? {
        var reader = ShellScript(assigned, text, line: line, nesting: nesting + 1, answers: Self.most)
        reader.follow(self)
        let words = reader.readWords()
        guard
            words.allSatisfy({ word in
                word.unknown == nil && (word.isQuoted || !word.text.contains { "*?[".contains($0) })
            })
        else { return nil }
        variables = reader.variables
        return words
    }

    /// Reads all words of a text.
    mutating func readWords() -> [ShellWord] {
        var words: [ShellWord] = []
        while index < scalars.count {
            skipBlanks()
            let start = index
            if index < scalars.count, scalars[index] == "#" {
                while index < scalars.count, scalars[index] != "\n" { index += 1 }
            }
            let word = readWord()
            if index == start {
                index += 1
            } else {
                words += word.values ?? ShellBraces.words(word, isExpanded: expandsBraces, isList: false)
            }
        }
        return words
    }

    /// `for ((i = 1; i <= 9; i++))` as `for i in {1..9}`; another command as it is.
    func counted(_ words: [ShellWord]) -> [ShellWord] {
        guard words.count >= 2, words[words.count - 2].text == "for", let text = words.last?.substitution else {
            return words
        }
        let parts = text.filter { !" ()\t\n".contains($0) }.split(separator: ";").map { String($0) }
        guard parts.count == 3, let equals = parts[0].firstIndex(of: "="),
            let first = Int(parts[0][equals...].dropFirst())
        else { return words }
        let name = String(parts[0][..<equals])
        let steps = ["\(name)++", "++\(name)", "\(name)+=1"]
        guard Self.isName(name), steps.contains(parts[2]), parts[1].hasPrefix("\(name)<") else { return words }
        var end = parts[1].dropFirst(name.count + 1)
        let isIncluded = end.hasPrefix("=")
        if isIncluded { end = end.dropFirst() }
        if end.hasPrefix("$") { end = end.dropFirst() }
        guard let last = Int(end) ?? plainValue(of: String(end)).flatMap({ Int($0) }), last > Int.min else {
            return words
        }
        return words.dropLast() + [
            ShellWord(text: name), ShellWord(text: "in"),
            ShellWord(text: "{\(first)..\(isIncluded ? last : last - 1)}"),
        ]
    }
}

extension ShellWord {
    /// The values of an array.
    init(elements: [ShellWord]) {
        self.init(unknown: Self.array)
        self.elements = elements
    }

    /// The words that a shell makes of it, where it is an array and nothing else; `nil` for another word.
    var values: [ShellWord]? {
        guard text.isEmpty, let elements else { return nil }
        if isQuoted { return elements }
        return elements.allSatisfy { word in !word.text.contains { " \t\n*?[".contains($0) } } ? elements : nil
    }
}
