/// The table of contents and the index of keys of the reference.
enum ReferenceLinks {
    private static let indexTitle = "Index of keys"

    /// Sections with which a part of the contents begins, and its title.
    private static let parts = ["job": "The job", "session": "Sessions", "task": "Tasks"]

    /// Returns links to every section, by parts.
    static func contents() -> String {
        let rules = headings(ReferenceText.language) + headings(ReferenceText.closing)
        var parts: [(title: String, links: [String])] = [("The language", rules.map { link($0) })]
        for section in Catalog.sections {
            if let title = Self.parts[section.name] { parts.append((title, [])) }
            parts[parts.count - 1].links.append(link(section.title))
        }
        let lines = parts.map { "- \($0.title): \($0.links.joined(separator: ", "))\n" }
        return "\nOn this page:\n\n\(lines.joined())- \(link(indexTitle))\n"
    }

    /// Returns a table of all keys by their names, with links to the sections that have them.
    static func index() -> String {
        var places: [String: [String]] = [:]
        // `defaults` has the keys of a task, and no table of its own.
        for section in Catalog.sections where section.name != "defaults" {
            for key in section.keys { places[key.name.description, default: []].append(link(section.title)) }
        }
        let names = places.keys.sorted { ($0.lowercased(), $0) < ($1.lowercased(), $1) }
        let rows = names.map { "| `\($0)` | \(places[$0, default: []].joined(separator: ", ")) |\n" }
        return "\n## \(indexTitle)\n\n| key | where |\n| --- | --- |\n\(rows.joined())"
    }

    private static func headings(_ text: String) -> [String] {
        text.split(separator: "\n").filter { $0.hasPrefix("## ") }.map { String($0.dropFirst(3)) }
    }

    private static func link(_ title: String) -> String { "[\(title)](#\(anchor(title)))" }

    /// The anchor that a heading has on a page: small letters, digits and hyphens, with hyphens for spaces.
    private static func anchor(_ title: String) -> String {
        var anchor = ""
        for scalar in title.lowercased().unicodeScalars {
            switch scalar {
            case " ": anchor += "-"
            case "a"..."z", "0"..."9", "-", "_": anchor.unicodeScalars.append(scalar)
            default: break
            }
        }
        return anchor
    }
}
