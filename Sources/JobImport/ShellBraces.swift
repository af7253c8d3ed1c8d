/// What bash and its like make of braces outside of quotes: `a{b,c}` is two words, `{1..3}` is three. In `sh` they mean
/// nothing.
enum ShellBraces {
    /// Characters that stand for unquoted `{`, `,` and `}` while a word is read: Unicode leaves them to such uses.
    static let marks: [Unicode.Scalar: Unicode.Scalar] = ["{": "\u{10FFF0}", ",": "\u{10FFF1}", "}": "\u{10FFF2}"]
    private static let (open, comma, close): (Unicode.Scalar, Unicode.Scalar, Unicode.Scalar) =
        ("\u{10FFF0}", "\u{10FFF1}", "\u{10FFF2}")
    private static let most = 10_000

    /// The words that a word with marks becomes. `isList`: it is a value of `for`, where a range is read later.
    static func words(_ word: ShellWord, isExpanded: Bool, isList: Bool) -> [ShellWord] {
        var word = word
        let marked = Array(word.text.unicodeScalars)
        word.text = plain(marked[...])
        guard marked.contains(open) else { return [word] }
        if isExpanded, isList, ShellLoop.range(word) != nil { return [word] }
        guard let all = expand(marked[...]) else {
            word.unknown = "{…}"
            return [word]
        }
        // A loop over what another shell would expand.
        if !isExpanded, isList, all.count > 1 { word.unknown = "{…}" }
        guard isExpanded, all.count > 1 else { return [word] }
        return all.map { text in
            var one = word
            one.text = plain(text[...])
            return one
        }
    }

    private static func plain(_ text: ArraySlice<Unicode.Scalar>) -> String {
        var result = String.UnicodeScalarView()
        result.append(contentsOf: text.map { scalar in marks.first { $0.value == scalar }?.key ?? scalar })
        return String(result)
    }

    /// Returns all that the text stands for; `nil` where that is too much.
    private static func expand(_ text: ArraySlice<Unicode.Scalar>) -> [[Unicode.Scalar]]? {
        var start = text.startIndex
        while let first = text[start...].firstIndex(of: open) {
            guard let (parts, end) = alternatives(text, first) else {
                start = first + 1
                continue
            }
            guard let tails = expand(text[end...]) else { return nil }
            var all: [[Unicode.Scalar]] = []
            for part in parts {
                guard let heads = expand(part[...]), all.count + heads.count * tails.count <= most else { return nil }
                for head in heads { all += tails.map { Array(text[..<first]) + head + $0 } }
            }
            return all
        }
        return [Array(text)]
    }

    /// The alternatives of the brace at a place, and the place after it; `nil` where it is no such expression.
    private static func alternatives(
        _ text: ArraySlice<Unicode.Scalar>, _ first: Int
    ) -> (parts: [[Unicode.Scalar]], end: Int)? {
        var parts: [[Unicode.Scalar]] = [[]]
        var depth = 0
        for place in text[first...].indices {
            let scalar = text[place]
            if scalar == open { depth += 1 }
            if scalar == close { depth -= 1 }
            if depth == 0 {
                if parts.count > 1 { return (parts, place + 1) }
                return sequence(parts[0]).map { ($0, place + 1) }
            }
            if place == first { continue }
            if scalar == comma, depth == 1 { parts.append([]) } else { parts[parts.count - 1].append(scalar) }
        }
        return nil
    }

    /// `1..10`, `a..e`, `01..10`, each with a step as in `1..10..2`.
    private static func sequence(_ text: [Unicode.Scalar]) -> [[Unicode.Scalar]]? {
        var words: [Substring] = []
        var rest = plain(text[...])[...]
        while let dots = rest.firstRange(of: "..") {
            words.append(rest[..<dots.lowerBound])
            rest = rest[dots.upperBound...]
        }
        words.append(rest)
        guard (2...3).contains(words.count), let step = words.count == 3 ? Int(words[2]) : 1, step != Int.min else {
            return nil
        }
        let size = max(1, abs(step))
        if let first = Int(words[0]), let last = Int(words[1]), abs(first) < 1 << 40, abs(last) < 1 << 40,
            abs(last - first) / size < most
        {
            let isPadded = words.prefix(2).contains {
                $0.drop { $0 == "-" }.hasPrefix("0") && $0.drop { $0 == "-" }.count > 1
            }
            let width = isPadded ? max(words[0].count, words[1].count) : 0
            return stride(from: first, through: last, by: first <= last ? size : -size).map { number in
                let digits = String(abs(number))
                let sign = number < 0 ? "-" : ""
                let zeros = String(repeating: "0", count: max(0, width - sign.count - digits.count))
                return Array((sign + zeros + digits).unicodeScalars)
            }
        }
        guard let first = letter(words[0]), let last = letter(words[1]) else { return nil }
        return stride(from: first, through: last, by: first <= last ? size : -size).map {
            [Unicode.Scalar(UInt8($0))]
        }
    }

    private static func letter(_ text: Substring) -> Int? {
        guard text.utf8.count == 1, let byte = text.utf8.first, byte.isASCIILetter else { return nil }
        return Int(byte)
    }
}
