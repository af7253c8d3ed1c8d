/// curl's URL globbing: `{a,b}` and `[1-10]`.
enum CurlGlob {
    /// A URL and what its globs stood for, for `#1` in the name of the output.
    struct URL {
        var text: String
        var parts: [String] = []

        /// Fills `#1` and its like in.
        func filled(_ name: String) -> String {
            guard !parts.isEmpty else { return name }
            var result = ""
            var rest = name[...]
            while let character = rest.popFirst() {
                let digits = character == "#" ? rest.prefix { $0.isASCII && $0.isNumber } : ""
                if let number = Int(digits), (1...parts.count).contains(number) {
                    result += parts[number - 1]
                    rest = rest[digits.endIndex...]
                } else {
                    result.append(character)
                }
            }
            return result
        }
    }

    private static let most = 10_000

    /// Returns the URLs that a glob stands for: one for a URL without any.
    static func expand(_ text: String, isOff: Bool, job: inout ImportedJob, _ place: ImportPlace) -> [URL] {
        if isOff { return [URL(text: text)] }
        var urls = [URL(text: "")]
        var rest = text[...]
        while let character = rest.popFirst() {
            guard let choices = choices(character, &rest, before: urls[0].text) else {
                for index in urls.indices { urls[index].text.append(character) }
                continue
            }
            guard urls.count * choices.count <= most else {
                job.lose(place, "a URL that stands for more than \(most) was left out: `forEach` says that shorter")
                return []
            }
            urls = urls.flatMap { url in
                choices.map { URL(text: url.text + $0, parts: url.parts + [$0]) }
            }
        }
        return urls
    }

    private static func choices(_ first: Character, _ rest: inout Substring, before: String) -> [String]? {
        if first == "{", before.last != "$", let end = rest.firstIndex(of: "}") {
            let body = rest[..<end]
            // A reference to a variable among the choices is beyond this.
            guard !body.contains("{"), !body.contains("$") else { return nil }
            rest = rest[rest.index(after: end)...]
            return body.split(separator: ",", omittingEmptySubsequences: false).map { String($0) }
        }
        guard first == "[", let end = rest.firstIndex(of: "]"), let range = range(rest[..<end]) else { return nil }
        rest = rest[rest.index(after: end)...]
        return range
    }

    /// `1-10`, `001-100`, `a-z`, each with `:STEP`.
    private static func range(_ text: Substring) -> [String]? {
        let halves = text.split(separator: ":", omittingEmptySubsequences: false)
        guard halves.count <= 2, let step = halves.count == 2 ? Int(halves[1]) : 1, step > 0 else { return nil }
        let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2 else { return nil }
        if let first = letter(ends[0]), let last = letter(ends[1]), first <= last {
            return stride(from: Int(first), through: Int(last), by: step).map { String(UnicodeScalar(UInt8($0))) }
        }
        guard let first = number(ends[0]), let last = number(ends[1]), first <= last, (last - first) / step < most
        else {
            return nil
        }
        let width = ends[0].hasPrefix("0") ? ends[0].count : 0
        return stride(from: first, through: last, by: step).map { value in
            String(repeating: "0", count: max(0, width - "\(value)".count)) + "\(value)"
        }
    }

    private static func letter(_ text: Substring) -> UInt8? {
        guard text.utf8.count == 1, let byte = text.utf8.first else { return nil }
        return (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) ? byte : nil
    }

    private static func number(_ text: Substring) -> Int? {
        guard !text.isEmpty, text.utf8.count <= 9, text.utf8.allSatisfy(\.isASCIIDigit) else {
            return nil
        }
        return Int(text)
    }
}
