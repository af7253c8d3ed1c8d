import Diagnostics
import YAMLTree

/// A section's description for the schema and the reference.
struct SectionDocument: Sendable {
    let name: String
    /// Heading in the reference.
    let title: String
    let introduction: String
    let keys: [KeyDocument]
    let rules: [Rule]
}

/// The keys that one kind of map may have.
struct Section<Target>: Sendable {
    let name: String
    /// Name of the map in messages, after "unknown key … in": `a session`, `retry`.
    let place: String
    let title: String
    let introduction: String
    let keys: [Key<Target>]
    let rules: [SectionDocument.Rule]
    private let index: KeyIndex
    private let bounds: [Bound]

    /// Bounds on how many of some keys a map must have.
    private struct Bound: Sendable {
        var keys: UInt64
        var counts: ClosedRange<Int>
    }

    init(
        _ name: String, in place: String, title: String? = nil, _ introduction: String = "", keys: [Key<Target>],
        rules: [SectionDocument.Rule] = []
    ) {
        self.name = name
        self.place = place
        self.title = title ?? "`\(name)`"
        self.introduction = introduction
        self.keys = keys
        self.rules = rules
        index = KeyIndex(keys.map(\.document.name))
        precondition(keys.count <= UInt64.bitWidth, "more keys than have a bit")
        bounds = Self.bounds(keys.map(\.document), rules)
    }

    private static func bounds(_ keys: [KeyDocument], _ rules: [SectionDocument.Rule]) -> [Bound] {
        func bits(_ isMeant: (KeyDocument) -> Bool) -> UInt64 {
            keys.enumerated().reduce(0) { isMeant($1.element) ? $0 | 1 << UInt64($1.offset) : $0 }
        }
        let required = bits(\.isRequired)
        let all = Bound(keys: required, counts: required.nonzeroBitCount...required.nonzeroBitCount)
        return [all]
            + rules.compactMap { rule in
                switch rule {
                case .when, .always: nil
                case .exactlyOne(let names): Bound(keys: bits { names.contains($0.name.description) }, counts: 1...1)
                case .atMostOne(let names): Bound(keys: bits { names.contains($0.name.description) }, counts: 0...1)
                }
            }
    }

    var document: SectionDocument {
        SectionDocument(
            name: name, title: title, introduction: introduction, keys: keys.map(\.document), rules: rules)
    }

    func find(_ key: NodeID, _ tree: YAMLTree) -> Int? { tree.withUTF8(key) { index.find($0) } }

    /// Reads a map over `target`. A faulty value is reported and leaves the target's value as it was.
    func decode(_ node: NodeID, into target: inout Target, _ reader: Reader) {
        guard reader.expectMap(node, place) else { return }
        let outerKey = reader.key
        defer { reader.key = outerKey }
        var present: UInt64 = 0
        // Keys that misspelled ones probably stand for; they are not reported as missing, too.
        var meant: Set<String> = []
        for (keyNode, value) in reader.tree.entries(node) {
            guard let number = find(keyNode, reader.tree) else {
                let known = keys.map { $0.document.name.description }
                reader.unknownKey(keyNode, in: place, known: known)
                if let near = ForeignKeys.key(meantBy: reader.tree.text(keyNode), known) { meant.insert(near) }
                continue
            }
            if !reader.tree.isNull(value) { present |= 1 << UInt64(number) }
            apply(number, keyNode, value, to: &target, reader)
        }
        // Names are only compared if there is something to report.
        if !bounds.allSatisfy({ $0.counts.contains(($0.keys & present).nonzeroBitCount) }) {
            checkRules(node, meant, reader)
        }
    }

    func apply(_ number: Int, _ keyNode: NodeID, _ value: NodeID, to target: inout Target, _ reader: Reader) {
        let key = keys[number]
        if reader.tree.isNull(value) { return key.reset(&target) }
        reader.key = key.document.name
        key.decode(&target, value, reader)
        if let needsLater = key.needsLater, needsLater(target) { reader.notBuilt(keyNode, key.document.name) }
    }

    private func checkRules(_ node: NodeID, _ meant: Set<String>, _ reader: Reader) {
        for key in keys where key.document.isRequired && !has(node, [key.document.name.description], reader) {
            if meant.contains(key.document.name.description) { continue }
            reader.error(
                "missing-key", "\(place) needs `\(key.document.name)`", hint: "it must be \(key.document.shape.words)",
                at: reader.beginning(node))
        }
        for rule in rules {
            switch rule {
            case .when, .always: break
            case .exactlyOne(let names):
                let present = presentNames(node, names, reader)
                if present.isEmpty, meant.isDisjoint(with: names) {
                    let taken = reader.tree.entries(node).map { reader.tree.text($0.key) }.first { names.contains($0) }
                    reader.error(
                        "missing-key", "\(place) needs one of \(Shape.oneOf(names))",
                        hint: taken.map { "`\($0)` is null, which is as if it were not written" },
                        at: reader.beginning(node))
                }
                refuseSeveral(present, reader)
            case .atMostOne(let names): refuseSeveral(presentNames(node, names, reader), reader)
            }
        }
    }

    private func refuseSeveral(_ present: [(name: String, key: NodeID)], _ reader: Reader) {
        guard present.count > 1 else { return }
        reader.error(
            "conflicting-keys", "`\(present[0].name)` and `\(present[1].name)` exclude each other in \(place)",
            hint: "keep one of them", at: reader.tree.span(present[1].key))
    }

    private func has(_ node: NodeID, _ names: [String], _ reader: Reader) -> Bool {
        !presentNames(node, names, reader).isEmpty
    }

    private func presentNames(_ node: NodeID, _ names: [String], _ reader: Reader) -> [(name: String, key: NodeID)] {
        var present: [(String, NodeID)] = []
        for (key, value) in reader.tree.entries(node) where !reader.tree.isNull(value) {
            let name = reader.tree.text(key)
            if names.contains(name) { present.append((name, key)) }
        }
        return present
    }
}
