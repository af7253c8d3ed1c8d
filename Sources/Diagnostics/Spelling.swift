/// Finds the name that a misspelled word most likely stands for.
package enum Spelling {
    /// Returns the candidate that `word` is most likely a misspelling of; `nil` if none is near enough for a hint.
    ///
    /// Three kinds of slips count: other case or separators (`max_redirects`), a few wrong letters, and words left out
    /// or shortened (`maxConnections` for `maximumConnectionsPerHost`). With `lettersOnly` the last kind does not
    /// count.
    package static func closest(
        to word: String, among candidates: [String], lettersOnly: Bool = false
    ) -> String? {
        // A typed word may be a whole paragraph; a name is not.
        guard word.utf8.count <= 64 else { return nil }
        let folded = fold(word)
        let typedWords = words(of: word)
        var best: (candidate: String, cost: Int)?
        for candidate in candidates where candidate != word {
            guard let cost = cost(folded, typedWords, candidate), !lettersOnly || cost < leftOut else { continue }
            if best.map({ cost < $0.cost }) ?? true { best = (candidate, cost) }
        }
        return best?.candidate
    }

    /// Returns the candidate that takes the fewest changes to become `word`, for a word that `closest` knows no
    /// correction of; `nil` if each takes more than half of its letters.
    package static func nearest(to word: String, among candidates: [String]) -> String? {
        guard word.utf8.count <= 64 else { return nil }
        let folded = fold(word)
        var best: (candidate: String, cost: Int)?
        for candidate in candidates {
            let other = fold(candidate)
            let allowed = min(best.map { $0.cost - 1 } ?? .max, min(folded.count, other.count) * 3 / 5)
            if let cost = distance(folded, other, atMost: allowed) { best = (candidate, cost) }
        }
        return best?.candidate
    }

    /// Added to the cost of a match with words left out, so that matches by letters come first.
    private static let leftOut = 100

    /// Returns how far a candidate is from the word, or `nil` if it is too far; a match by letters costs less than one
    /// with words left out.
    private static func cost(_ folded: [UInt8], _ typedWords: [[UInt8]], _ candidate: String) -> Int? {
        let other = fold(candidate)
        let allowed = max(1, max(folded.count, other.count) / 4)
        let letters = distance(folded, other, atMost: allowed)
        if let letters, letters < min(folded.count, other.count) { return letters }
        let theirs = words(of: candidate)
        guard matches(typedWords, in: theirs) || matches(theirs, in: typedWords) else { return nil }
        return leftOut + abs(folded.count - other.count)
    }

    private static func fold(_ word: String) -> [UInt8] {
        word.utf8.filter { $0 != UInt8(ascii: "_") && $0 != UInt8(ascii: "-") }.map(lowercased)
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 { byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte }

    /// Returns the words of a name in camel case, snake case or kebab case, in lower case.
    private static func words(of name: String) -> [[UInt8]] {
        var words: [[UInt8]] = [[]]
        for byte in name.utf8 {
            let isUpper = byte >= 0x41 && byte <= 0x5A
            let isSeparator = byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
            if (isUpper || isSeparator) && !words[words.count - 1].isEmpty { words.append([]) }
            if !isSeparator { words[words.count - 1].append(lowercased(byte)) }
        }
        return words.filter { !$0.isEmpty }
    }

    /// Returns whether each of `few` stands for one of `many`, in order. At least one of `few` must have four letters.
    private static func matches(_ few: [[UInt8]], in many: [[UInt8]]) -> Bool {
        guard few.contains(where: { $0.count >= 4 }) else { return false }
        var rest = many[...]
        for word in few {
            guard let index = rest.firstIndex(where: { isShort(word, for: $0) || isShort($0, for: word) }) else {
                return false
            }
            rest = rest[(index + 1)...]
        }
        return true
    }

    private static func isShort(_ word: [UInt8], for other: [UInt8]) -> Bool {
        word == other || (word.count >= 3 && other.starts(with: word))
    }

    /// Returns the number of insertions, deletions, changes and swaps of neighbours between two words (optimal string
    /// alignment); `nil` past `limit`.
    static func distance(_ left: [UInt8], _ right: [UInt8], atMost limit: Int) -> Int? {
        guard abs(left.count - right.count) <= limit else { return nil }
        var beforeLast = [Int](repeating: 0, count: right.count + 1)
        var last = Array(0...right.count)
        var current = last
        for row in stride(from: 1, through: left.count, by: 1) {
            current[0] = row
            for column in stride(from: 1, through: right.count, by: 1) {
                let change = left[row - 1] == right[column - 1] ? 0 : 1
                var cost = min(last[column] + 1, current[column - 1] + 1, last[column - 1] + change)
                if row > 1, column > 1, left[row - 1] == right[column - 2], left[row - 2] == right[column - 1] {
                    cost = min(cost, beforeLast[column - 2] + 1)
                }
                current[column] = cost
            }
            if current.min() ?? 0 > limit { return nil }
            (beforeLast, last, current) = (last, current, beforeLast)
        }
        return last[right.count] <= limit ? last[right.count] : nil
    }
}
