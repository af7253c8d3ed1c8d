/// The operator's description of this machine's networks, which overrides what the system says.
package struct NetworkMap: Hashable, Sendable {
    /// A line of the map: what holds for interfaces whose name matches.
    package struct Entry: Hashable, Sendable {
        /// Pattern for the interface's name: `*` stands for anything, `?` for one character.
        package var pattern: String
        /// The kind of network; `nil`, here and below: as the system says.
        package var networkClass: NetworkClass?
        /// Whether bytes over it cost money.
        package var isMetered: Bool?
        /// Whether it is in low data mode.
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

    /// The entries as they are written; only the first that matches an interface counts.
    package var entries: [Entry]

    package init(_ entries: [Entry] = []) { self.entries = entries }

    /// Returns the entry for an interface of that name, or `nil` if none matches.
    package func entry(for interface: String) -> Entry? {
        entries.first { NamePattern.matches(interface, $0.pattern) }
    }
}

/// Matches names against patterns with `*` and `?`.
enum NamePattern {
    static func matches(_ name: String, _ pattern: String) -> Bool {
        let (name, pattern) = (Array(name.utf8), Array(pattern.utf8))
        var (at, place) = (0, 0)
        // The last star in the pattern, and how much of the name was matched when it stood for nothing.
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
