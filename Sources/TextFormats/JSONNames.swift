import TransferModel

/// Says what a JSON text has where a path ends, by names and kinds alone: values are not shown.
package enum JSONNames {
    /// Most keys shown, and the characters that they may fill together.
    private static let most = 12
    private static let longest = 160
    /// Length of a key up to which it is taken for a name, where the body may hold a secret.
    private static let longestName = 24

    /// Returns `` `$.data` has the keys `id`, `kind` ``; `nil` without a value. With `hidesOddNames`, keys that could be
    /// a secret themselves are counted, not shown. `root` names the whole text.
    package static func words(
        _ values: [JSONValue], at path: String, hidesOddNames: Bool, root: String = "the body"
    ) -> String? {
        guard let first = values.first else { return nil }
        let place = path == "$" ? root : ForeignText.quoted(path)
        let what = kind(first, hidesOddNames)
        return values.count == 1 ? "\(place) \(what)" : "the first of \(values.count) values of \(place) \(what)"
    }

    private static func kind(_ value: JSONValue, _ hidesOddNames: Bool) -> String {
        switch value {
        case .null: "is null"
        case .boolean: "is true or false"
        case .number: "is a number"
        case .string, .broken: "is a text"
        case .array(let elements) where elements.isEmpty: "is an empty list"
        case .array(let elements): "is a list of \(elements.count)"
        case .object(let members) where members.isEmpty: "has no keys"
        case .object(let members): keys(members.map(\.name), hidesOddNames)
        }
    }

    private static func keys(_ names: [String], _ hidesOddNames: Bool) -> String {
        var shown: [String] = []
        var length = 0
        for name in names where !hidesOddNames || isPlain(name) {
            length += name.unicodeScalars.count
            if shown.count == most || (length > longest && !shown.isEmpty) { break }
            shown.append(ForeignText.quoted(name))
        }
        let rest = names.count - shown.count
        if shown.isEmpty { return rest == 1 ? "has 1 key" : "has \(rest) keys" }
        let more = rest > 0 ? " and \(rest) more" : ""
        return "has the \(names.count == 1 ? "key" : "keys") \(shown.joined(separator: ", "))\(more)"
    }

    /// Whether the key is a short word of letters, as no generated secret is.
    private static func isPlain(_ name: String) -> Bool {
        name.utf8.count <= longestName
            && name.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte | 0x20) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
            }
    }
}
