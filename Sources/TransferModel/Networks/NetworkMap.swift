/// What the operator says of this machine's networks, over everything that the system tells.
package struct NetworkMap: Hashable, Sendable {
    package struct Entry: Hashable, Sendable {
        /// `*` stands for anything, `?` for one character.
        package var pattern: String
        /// `nil`, here and below: as the system says.
        package var networkClass: NetworkClass?
        package var isMetered: Bool?
        package var isConstrained: Bool?

        package init(
            pattern: String, networkClass: NetworkClass? = nil, isMetered: Bool? = nil, isConstrained: Bool? = nil
        ) {
            self.pattern = pattern
            self.networkClass = networkClass
            self.isMetered = isMetered
            self.isConstrained = isConstrained
        }
    }

    /// As they are written: of those that match an interface the first counts, and it alone.
    package var entries: [Entry]

    package init(_ entries: [Entry] = []) { self.entries = entries }

    package func entry(for interface: String) -> Entry? {
        entries.first { NamePattern.matches(interface, $0.pattern) }
    }
}

/// File-name patterns without folders.
enum NamePattern {
    static func matches(_ name: String, _ pattern: String) -> Bool {
        let (name, pattern) = (Array(name.utf8), Array(pattern.utf8))
        var (at, place) = (0, 0)
        // Where the last star stood, and how far the name was when it took nothing.
        var star: (place: Int, at: Int)?
        while at < name.count {
            if place < pattern.count, pattern[place] == UInt8(ascii: "*") {
                star = (place, at)
                place += 1
            } else if place < pattern.count, pattern[place] == UInt8(ascii: "?") || pattern[place] == name[at] {
                at += 1
                place += 1
            } else if let last = star {
                star = (last.place, last.at + 1)
                (place, at) = (last.place + 1, last.at + 1)
            } else {
                return false
            }
        }
        return pattern[place...].allSatisfy { $0 == UInt8(ascii: "*") }
    }
}
