import TextFormats
import TransferModel

/// Reads rows from a JSON text; numbers keep their text.
enum JSONRows {
    /// Most steps of a path in a text: each `..` visits all that the one before it found.
    private static let mostSteps = 20_000_000

    static func rows(_ bytes: [UInt8], _ path: String?, _ filter: FieldFilter) throws(RowProblem) -> RowTable {
        let root: JSONValue
        do {
            root = try JSONParser.parse(bytes)
        } catch {
            throw RowProblem(error.message, line: error.line)
        }
        var table = RowTable()
        for value in try elements(of: root, path) { try filter.add(row(value, filter), to: &table.rows) }
        return table
    }

    private static func elements(of root: JSONValue, _ path: String?) throws(RowProblem) -> [JSONValue] {
        guard let path else {
            if case .array(let elements) = root { return elements }
            throw RowProblem("the file must hold a JSON list\(names([root], at: "$"))", line: 1)
        }
        let query: JSONPath
        do { query = try JSONPath(path) } catch { throw RowProblem("`\(path)` is no JSON path: \(error.message)") }
        let found = try select(query, root, path)
        if found.count == 1, !query.selectsSeveral, case .array = found[0] {
            throw RowProblem("`\(path)` is one list; its elements are `\(path)[*]`")
        }
        if !found.isEmpty { return found }
        // A list that is there and has no elements is empty; one that is not there is a mistake.
        guard query.endsAtEmptyList(in: root, steps: mostSteps) else {
            let reach = query.reach(in: root, steps: mostSteps)
            throw RowProblem("`\(path)` finds nothing\(reach.map { names($0.found, at: $0.path) } ?? "")")
        }
        return []
    }

    /// Returns `; the JSON has the keys `items`, `next``: what is there instead. A key that may be a secret is counted.
    private static func names(_ values: [JSONValue], at path: String) -> String {
        JSONNames.words(values, at: path, hidesOddNames: true, root: "the JSON").map { "; \($0)" } ?? ""
    }

    private static func select(
        _ query: JSONPath, _ root: JSONValue, _ path: String
    ) throws(RowProblem) -> [JSONValue] {
        guard let found = query.select(from: root, steps: mostSteps) else {
            throw RowProblem("`\(path)` takes too many steps")
        }
        return found
    }

    private static func row(_ value: JSONValue, _ filter: FieldFilter) throws(RowProblem) -> PlainValue {
        guard let names = filter.wantedNames else { return plain(value) }
        guard case .object(let members) = value, !names.contains(PlainValue.ownText) else {
            return try bounded(value, filter)
        }
        var entries: [PlainValue.Entry] = []
        for name in names {
            guard let field = field(name, of: members, value) else { continue }
            entries.append(PlainValue.Entry(key: name, value: try bounded(field, filter)))
        }
        return .map(entries)
    }

    /// Returns the member of that name or, where the name has dots, a member of members.
    private static func field(_ name: String, of members: [JSONValue.Member], _ value: JSONValue) -> JSONValue? {
        if let member = value[name] { return member }
        guard name.utf8.contains(UInt8(ascii: ".")) else { return nil }
        var place = value
        for part in name.split(separator: ".", omittingEmptySubsequences: false) {
            guard let next = place[String(part)] else { return nil }
            place = next
        }
        return place
    }

    /// Converts a value within the bound of one: a text of itself, a list or an object of its JSON.
    private static func bounded(_ value: JSONValue, _ filter: FieldFilter) throws(RowProblem) -> PlainValue {
        switch value {
        case .null, .boolean: break
        case .number(let text), .string(let text), .broken(let text): try filter.check(length: text.utf8.count)
        case .array, .object:
            var writer = JSONWriter()
            value.append(to: &writer)
            try filter.check(length: writer.bytes.count)
        }
        return plain(value)
    }

    /// Converts a whole value; the parser has limited the depth.
    private static func plain(_ value: JSONValue) -> PlainValue {
        switch value {
        case .null: .null
        case .boolean(let value): .boolean(value)
        case .number(let text): .number(text)
        case .string(let text), .broken(let text): .string(text)
        case .array(let elements): .list(elements.map { plain($0) })
        case .object(let members):
            .map(members.map { PlainValue.Entry(key: $0.name, value: plain($0.value)) })
        }
    }
}
