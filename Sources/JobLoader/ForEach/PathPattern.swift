/// A pattern of paths: `*` and `?` match within a name, `**` any number of folders, `[a-z]` one of these characters. A
/// `**` at the end matches everything below.
struct PathPattern {
    /// The folder before the first name with a wildcard, as it was written; empty for the job's own.
    let root: String
    /// Text before a matched path that gives it the pattern's form again.
    let prefix: String
    /// Largest number of names below the root in a matching path.
    let depth: Int
    private let parts: [[UInt8]]

    init(_ pattern: String) {
        let isAbsolute = pattern.hasPrefix("/")
        let all = pattern.split(separator: "/").filter { $0 != "." }
        let fixed = min(all.prefix { !Self.isWild($0) }.count, max(all.count - 1, 0))
        let folder = all.prefix(fixed).joined(separator: "/")
        root = (isAbsolute ? "/" : "") + folder
        prefix = root.isEmpty || root == "/" ? root : root + "/"
        let end: [Substring] = all.last == "**" ? ["*"] : []
        parts = (all.dropFirst(fixed) + end).map { Array($0.utf8) }
        depth = all.contains("**") ? .max : parts.count
    }

    private static func isWild(_ name: Substring) -> Bool {
        name.utf8.contains { $0 == 0x2A || $0 == 0x3F || $0 == 0x5B }
    }

    /// Returns whether a path matches; it is relative to the root.
    func matches(_ path: [UInt8]) -> Bool { states(after: path).contains(parts.count) }

    /// Returns whether a path below this folder could match.
    func reaches(below folder: [UInt8]) -> Bool { states(after: folder).contains { $0 < parts.count } }

    private func states(after path: [UInt8]) -> Set<Int> {
        let names = path.split(separator: UInt8(ascii: "/")).map { Array($0) }
        // The numbers of parts that the names so far may have matched.
        var states: Set<Int> = [0]
        expand(&states)
        for name in names {
            var next: Set<Int> = []
            for state in states where state < parts.count {
                if isAnyDepth(state) {
                    if name.first != UInt8(ascii: ".") { next.insert(state) }
                } else if Glob.matches(name, parts[state], hidesDots: true) {
                    next.insert(state + 1)
                }
            }
            expand(&next)
            states = next
            if states.isEmpty { break }
        }
        return states
    }

    private func isAnyDepth(_ state: Int) -> Bool { parts[state] == [0x2A, 0x2A] && state + 1 < parts.count }

    private func expand(_ states: inout Set<Int>) {
        for state in states.sorted() {
            var state = state
            while state < parts.count, isAnyDepth(state) {
                state += 1
                states.insert(state)
            }
        }
    }
}

/// Matches one name against one pattern, without backtracking further than the last `*`.
enum Glob {
    static func isPattern(_ text: String) -> Bool { text.utf8.contains { $0 == 0x2A || $0 == 0x3F || $0 == 0x5B } }

    static func matches(_ name: [UInt8], _ pattern: [UInt8], hidesDots: Bool = false) -> Bool {
        if hidesDots, name.first == UInt8(ascii: "."), pattern.first != UInt8(ascii: ".") { return false }
        var position = 0
        var place = 0
        var star: (place: Int, position: Int)?
        while position < name.count {
            if place < pattern.count, pattern[place] == UInt8(ascii: "*") {
                star = (place, position)
                place += 1
            } else if let next = step(name[position], pattern, place) {
                position += 1
                place = next
            } else if let last = star {
                star = (last.place, last.position + 1)
                place = last.place + 1
                position = last.position + 1
            } else {
                return false
            }
        }
        while place < pattern.count, pattern[place] == UInt8(ascii: "*") { place += 1 }
        return place == pattern.count
    }

    /// Returns the index after the part of the pattern that matches `byte`; `nil` if it does not match.
    private static func step(_ byte: UInt8, _ pattern: [UInt8], _ place: Int) -> Int? {
        guard place < pattern.count else { return nil }
        if pattern[place] == UInt8(ascii: "?") { return place + 1 }
        if pattern[place] == UInt8(ascii: "["), let (meets, next) = set(byte, pattern, place + 1) {
            return meets ? next : nil
        }
        return pattern[place] == byte ? place + 1 : nil
    }

    private static func set(_ byte: UInt8, _ pattern: [UInt8], _ start: Int) -> (meets: Bool, next: Int)? {
        var place = start
        let isNegated =
            place < pattern.count && (pattern[place] == UInt8(ascii: "!") || pattern[place] == UInt8(ascii: "^"))
        if isNegated { place += 1 }
        let first = place
        var meets = false
        while place < pattern.count, pattern[place] != UInt8(ascii: "]") || place == first {
            if place + 2 < pattern.count, pattern[place + 1] == UInt8(ascii: "-"),
                pattern[place + 2] != UInt8(ascii: "]")
            {
                meets = meets || (pattern[place] <= byte && byte <= pattern[place + 2])
                place += 3
            } else {
                meets = meets || pattern[place] == byte
                place += 1
            }
        }
        return place < pattern.count ? (meets != isNegated, place + 1) : nil
    }
}
