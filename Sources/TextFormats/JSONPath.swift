internal import TransferModel

/// A query into a JSON value (RFC 9535).
///
/// Covers all of the RFC, the five function extensions (`length`, `count`, `match`, `search`, `value`) included; the
/// public compliance suite tests it.
package struct JSONPath: Sendable {
    /// Why a text is no JSON path.
    package struct Problem: Error, Equatable, Sendable {
        /// The fault, for people.
        package let message: String
        /// Position of the fault, in bytes from the start of the path.
        package let offset: Int
    }

    private let segments: [Segment]
    /// The path as it is written.
    package let text: String
    /// For each segment, the offset in bytes at which it ends in `text`.
    private let ends: [Int]

    package init(_ text: String) throws(Problem) {
        (segments, ends) = try JSONPathParser.parse(text)
        self.text = text
    }

    private init(segments: [Segment], _ text: String, ends: [Int]) {
        (self.segments, self.text, self.ends) = (segments, text, ends)
    }

    /// Whether the last segment selects any number of values: `[*]`, a slice, a filter, `..name`.
    package var selectsSeveral: Bool {
        guard let last = segments.last else { return false }
        return last.selectors.count > 1 || last.selectsElements
    }

    /// The path's first `count` segments as they are written.
    private func beginning(_ count: Int) -> String {
        String(decoding: text.utf8.prefix(count == 0 ? 1 : ends[count - 1]), as: UTF8.self)
    }

    /// Returns the values that the path selects, in document order.
    package func select(from root: JSONValue) -> [JSONValue] {
        JSONPath.select(segments, from: [root], Walk(root: root, left: .max))
    }

    /// Returns the values that the path selects, or `nil` if that takes `steps` steps or more. For documents from
    /// servers: each `..` visits all that the one before it found, in a deep document many times.
    package func select(from root: JSONValue, steps: Int) -> [JSONValue]? {
        let walk = Walk(root: root, left: steps)
        let found = JSONPath.select(segments, from: [root], walk)
        return walk.left > 0 ? found : nil
    }

    /// Returns the longest beginning of the path that selects anything, as it is written, and the values it selects;
    /// `nil` if that takes `steps` steps or more. For messages about a path that leads to nothing.
    package func reach(in root: JSONValue, steps: Int) -> (path: String, found: [JSONValue])? {
        longestReach(in: root, steps).map { (beginning($0.count), $0.found) }
    }

    /// Whether the path, which selects nothing, ends at a list that is there and has no such element, and not at a name
    /// that is not there. Null in the place of a list counts as an empty one.
    package func endsAtEmptyList(in root: JSONValue, steps: Int) -> Bool {
        guard let (count, found) = longestReach(in: root, steps), count < segments.count else { return false }
        return segments[count].selectsElements && found.contains { $0.mayBeList }
    }

    private func longestReach(in root: JSONValue, _ steps: Int) -> (count: Int, found: [JSONValue])? {
        let walk = Walk(root: root, left: steps)
        var (reached, found) = (0, [root])
        for segment in segments {
            let next = JSONPath.select([segment], from: found, walk)
            guard walk.left > 0 else { return nil }
            if next.isEmpty { break }
            (reached, found) = (reached + 1, next)
        }
        return (reached, found)
    }

    /// State of one selection: the document and the steps that are left.
    final class Walk {
        let root: JSONValue
        var left: Int
        /// Compiled regular expressions, by their text; `nil` for a text that is no expression.
        var expressions: [String: Regex?] = [:]

        init(root: JSONValue, left: Int) {
            self.root = root
            self.left = left
        }

        /// Takes steps off those that are left; returns `false` if none remain.
        func spend(_ steps: Int) -> Bool {
            left -= min(left, steps)
            return left > 0
        }
    }

    // MARK: The path as it was written

    struct Segment: Equatable, Sendable {
        var selectors: [Selector]
        /// Whether the segment begins with `..`: the selectors apply to all descendants, too.
        var isDescendant: Bool

        /// Whether it selects any number of values of a list, which may be none.
        var selectsElements: Bool {
            isDescendant
                || selectors.contains { selector in
                    switch selector {
                    case .name, .index: false
                    case .wildcard, .slice, .filter: true
                    }
                }
        }
    }

    indirect enum Selector: Equatable, Sendable {
        case name(String)
        case wildcard
        case index(Int)
        case slice(start: Int?, end: Int?, step: Int)
        case filter(Condition)
    }

    indirect enum Condition: Equatable, Sendable {
        case any([Condition])
        case all([Condition])
        case not(Condition)
        case exists(Query)
        case compare(Operand, Comparison, Operand)
        case test(Function)
    }

    enum Comparison: String, Equatable, Sendable {
        case equal = "==", notEqual = "!=", lessOrEqual = "<=", greaterOrEqual = ">=", less = "<", greater = ">"
    }

    enum Operand: Equatable, Sendable {
        case literal(JSONValue)
        /// A query that selects one value at most.
        case query(Query)
        case function(Function)
    }

    struct Query: Equatable, Sendable {
        /// Whether the query begins with `@` (the value under test) rather than `$` (the document).
        var isRelative: Bool
        var segments: [Segment]
    }

    // MARK: Walking

    private static func select(_ segments: [Segment], from start: [JSONValue], _ walk: Walk) -> [JSONValue] {
        segments.reduce(start) { nodes, segment in
            nodes.flatMap { node -> [JSONValue] in
                let places = segment.isDescendant ? descendants(of: node, walk) : [node]
                guard walk.spend(places.count) else { return [] }
                return places.flatMap { place in segment.selectors.flatMap { apply($0, to: place, walk) } }
            }
        }
    }

    /// Returns the value and all of its descendants, in document order.
    private static func descendants(of value: JSONValue, _ walk: Walk) -> [JSONValue] {
        var waiting = [value]
        var ordered: [JSONValue] = []
        // A stack, children pushed in reverse, gives document order without recursion.
        while let value = waiting.popLast() {
            guard walk.spend(1) else { return [] }
            ordered.append(value)
            waiting.append(contentsOf: children(of: value).reversed())
        }
        return ordered
    }

    private static func children(of value: JSONValue) -> [JSONValue] {
        switch value {
        case .array(let elements): elements
        case .object(let members): members.map(\.value)
        case .null, .boolean, .number, .string, .broken: []
        }
    }

    private static func apply(_ selector: Selector, to value: JSONValue, _ walk: Walk) -> [JSONValue] {
        guard walk.left > 0 else { return [] }
        switch selector {
        case .name(let name): return value[name].map { [$0] } ?? []
        case .wildcard:
            let all = children(of: value)
            return walk.spend(all.count) ? all : []
        case .filter(let condition): return children(of: value).filter { holds(condition, for: $0, walk) }
        case .index(let index):
            guard case .array(let elements) = value else { return [] }
            let place = index < 0 ? elements.count + index : index
            return elements.indices.contains(place) ? [elements[place]] : []
        case .slice(let start, let end, let step):
            guard case .array(let elements) = value else { return [] }
            return slice(elements, start, end, step)
        }
    }

    private static func slice(_ elements: [JSONValue], _ start: Int?, _ end: Int?, _ step: Int) -> [JSONValue] {
        let count = elements.count
        func place(_ index: Int) -> Int { index < 0 ? count + index : index }
        if step == 0 { return [] }
        if step > 0 {
            let lower = min(max(place(start ?? 0), 0), count)
            let upper = min(max(place(end ?? count), 0), count)
            return stride(from: lower, to: upper, by: step).map { elements[$0] }
        }
        let upper = min(max(start.map(place) ?? count - 1, -1), count - 1)
        let lower = min(max(end.map(place) ?? -1, -1), count - 1)
        return stride(from: upper, to: lower, by: step).map { elements[$0] }
    }

    // MARK: Filters

    private static func holds(_ condition: Condition, for value: JSONValue, _ walk: Walk) -> Bool {
        guard walk.spend(1) else { return false }
        return switch condition {
        case .any(let conditions): conditions.contains { holds($0, for: value, walk) }
        case .all(let conditions): conditions.allSatisfy { holds($0, for: value, walk) }
        case .not(let condition): !holds(condition, for: value, walk)
        case .exists(let query): !results(query, value, walk).isEmpty
        case .compare(let left, let comparison, let right):
            compare(operand(left, value, walk), comparison, operand(right, value, walk))
        case .test(let function): holds(function, for: value, walk)
        }
    }

    static func results(_ query: Query, _ value: JSONValue, _ walk: Walk) -> [JSONValue] {
        select(query.segments, from: [query.isRelative ? value : walk.root], walk)
    }

    /// Returns the operand's value; `nil` if its query selects nothing or its function has no result.
    static func operand(_ operand: Operand, _ value: JSONValue, _ walk: Walk) -> JSONValue? {
        switch operand {
        case .literal(let literal): literal
        case .query(let query): results(query, value, walk).first
        case .function(let function): result(of: function, value, walk)
        }
    }

    private static func compare(_ left: JSONValue?, _ comparison: Comparison, _ right: JSONValue?) -> Bool {
        switch comparison {
        case .equal: areEqual(left, right)
        case .notEqual: !areEqual(left, right)
        case .less: isLess(left, right)
        case .greater: isLess(right, left)
        case .lessOrEqual: isLess(left, right) || areEqual(left, right)
        case .greaterOrEqual: isLess(right, left) || areEqual(left, right)
        }
    }

    private static func areEqual(_ left: JSONValue?, _ right: JSONValue?) -> Bool {
        switch (left, right) {
        case (.number(let left)?, .number(let right)?): return DecimalNumber.areSame(left, right)
        case (.string(let left)?, .string(let right)?): return left.isExactly(right)
        case (.array(let left)?, .array(let right)?):
            return left.count == right.count && zip(left, right).allSatisfy { areEqual($0, $1) }
        case (.object(let left)?, .object(let right)?):
            return left.count == right.count
                && left.allSatisfy { member in
                    right.contains { $0.name.isExactly(member.name) && areEqual($0.value, member.value) }
                }
        default: return left == right
        }
    }

    private static func isLess(_ left: JSONValue?, _ right: JSONValue?) -> Bool {
        switch (left, right) {
        case (.number(let left)?, .number(let right)?):
            if let left = DecimalNumber(left), let right = DecimalNumber(right) { left < right } else { false }
        case (.string(let left)?, .string(let right)?):
            left.unicodeScalars.lexicographicallyPrecedes(right.unicodeScalars)
        default: false
        }
    }
}

extension JSONValue {
    fileprivate var mayBeList: Bool {
        switch self {
        case .array, .object, .null: true
        case .boolean, .number, .string, .broken: false
        }
    }
}
