import TransferModel
import YAMLTree

/// Reads values that tasks have and nothing else.
struct TaskKeyReader {
    let reader: Reader

    func taskID(_ node: NodeID) -> String? {
        if reader.tree.kind(node) == .scalar, !reader.tree.hasDollar(node), !reader.tree.isNull(node) {
            let id = reader.tree.text(node)
            if TaskName.isWellFormed(id), !reader.tree.isBoolean(node, id) { return id }
        }
        guard let id = reader.text(node) else { return nil }
        if TaskName.isWellFormed(id) || reader.scope.isWild { return id }
        return reader.error(
            "invalid-id", "`\(Reader.short(id))` is no task id", hint: "an id holds letters, digits, `.`, `_` and `-`",
            node)
    }

    func location(_ node: NodeID) -> TaskSpecification.Location? {
        if reader.tree.kind(node) == .scalar, !reader.tree.hasDollar(node) {
            let text = reader.tree.text(node)
            if let url = try? reader.urls.parse(text) {
                reader.warnOfPlaceholder(node, in: .url)
                guard let url = reader.rewritten(url, node) else { return nil }
                reader.recordHost(url, node)
                return .url(url)
            }
        }
        guard let text = reader.urlText(node, captures: true) else { return nil }
        if text.awaitsCapture {
            reader.warnOfPlaceholder(node, in: .url)
            reader.recordUnknownHost(text, node)
            return .awaitingCapture(text)
        }
        return reader.parseURL(text, node).map { .url($0) }
    }

    func locations(_ node: NodeID) -> [TaskSpecification.Location]? {
        guard reader.expectList(node, .list(.url)) else { return nil }
        if reader.tree.count(node) == 0 { reader.error("invalid-value", "`urls` must name at least one URL", node) }
        return reader.tree.children(node).compactMap { location($0) }
    }

    func query(_ node: NodeID, into fields: inout [QueryField]) {
        for (name, _, value) in reader.named(node) where !reader.scope.replacedNames.contains(name) {
            fields.removeAll { $0.name == name }
            if reader.tree.isNull(value) { continue }
            for element in reader.oneOrMore(value) {
                reader.warnOfPlaceholder(element, in: .value)
                guard let text = reader.secretText(element, .scalar, captures: true) else { continue }
                fields.append(QueryField(name: name, value: text))
            }
        }
    }

    func method(_ node: NodeID) -> String? {
        guard let text = reader.text(node) else { return nil }
        let isToken = !text.isEmpty && text.utf8.allSatisfy(Token.isTokenByte)
        guard isToken, text != "CONNECT" else {
            return reader.error("invalid-value", "`\(Reader.short(text))` is no method that a task can have", node)
        }
        let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]
        if known.contains(text.uppercased()), !known.contains(text) {
            return reader.error(
                "invalid-value",
                "methods are written in capitals: `\(text)` is another one than `\(text.uppercased())`",
                hint: "did you mean `\(text.uppercased())`?", node)
        }
        return text
    }

    func needs(_ node: NodeID) -> Int? {
        if !reader.tree.hasDollarBelow(node), let known = reader.needLists.known[node] { return known }
        guard reader.expectList(node, .list(.text)) else { return nil }
        var entries: [NeedLists.Entry] = []
        for element in reader.tree.children(node) {
            guard let text = reader.text(element) else { continue }
            if text.isEmpty {
                reader.error("invalid-value", "an empty text is no task id", element)
            } else {
                entries.append(NeedLists.Entry(text: text, node: element))
            }
        }
        return reader.needLists.add(entries, node)
    }

    func allowFailure(_ node: NodeID, into allow: inout AllowFailure) {
        guard reader.tree.kind(node) == .mapping else {
            let shape = Shape.either([.boolean, .object("allowFailure")])
            if reader.tree.kind(node) == .sequence { return reader.wrongType(node, shape) }
            if reader.tree.kind(node) == .scalar, !reader.tree.hasDollar(node),
                case .integer = reader.tree.resolve(node)
            {
                return reader.wrongType(
                    node, shape, hint: "write `allowFailure: { status: \(Reader.short(reader.tree.text(node))) }`")
            }
            guard let value = reader.boolean(node) else { return }
            return allow = value ? .any : .no
        }
        var draft = Sections.FailureDraft()
        Sections.allowFailure.decode(node, into: &draft, reader)
        if let statuses = draft.statuses { allow = .statuses(statuses) }
    }

    func resumption(_ node: NodeID) -> ResumePolicy? {
        let shape = Shape.either([.boolean, .choice(["adopt"])])
        if reader.tree.kind(node) == .scalar, !reader.tree.hasDollar(node) {
            if case .boolean(let isWanted) = reader.tree.resolve(node) { return isWanted ? .own : .no }
            let text = reader.tree.text(node)
            if text == "adopt" { return .adopt }
            return reader.wrongType(node, shape, hint: reader.closest(text, ["adopt"]).map { "did you mean `\($0)`?" })
        }
        guard let text = reader.text(node, shape) else { return nil }
        switch text {
        case "adopt": return .adopt
        case "true": return .own
        case "false": return .no
        default:
            return reader.error(
                "wrong-type", "`\(reader.key)` must be \(shape.words), not `\(Reader.short(text))`", node)
        }
    }

    func decompression(_ node: NodeID) -> Decompression? {
        let shape = Shape.either([.boolean, .choice(["file"])])
        if reader.tree.kind(node) == .scalar, !reader.tree.hasDollar(node),
            case .boolean(let isWanted) = reader.tree.resolve(node)
        {
            return isWanted ? .answer : .no
        }
        guard let text = reader.text(node, shape) else { return nil }
        switch text {
        case "file": return .file
        case "true": return .answer
        case "false": return .no
        default:
            return reader.error(
                "invalid-value", "`decompress` must be \(shape.words), not `\(Reader.short(text))`",
                hint: reader.closest(text, ["file", "true", "false"]).map { "did you mean `\($0)`?" }, node)
        }
    }

    func priority(_ node: NodeID) -> Double? {
        let words = ["low", "default", "high"]
        let shape = Shape.either([.number(0...1), .choice(words)])
        guard let text = reader.text(node, shape) else { return nil }
        switch text {
        case "low": return 0.25
        case "default": return 0.5
        case "high": return 0.75
        default: break
        }
        guard let value = ValueText.number(text) else {
            return reader.error(
                "invalid-value", "`priority` must be \(shape.words), not `\(Reader.short(text))`",
                hint: reader.closest(text, words).map { "did you mean `\($0)`?" }, node)
        }
        guard (0...1).contains(value) else { return reader.outOfRange(node, shape, text) }
        return value
    }

    func labels(_ node: NodeID, into labels: inout [Job.Variable]) {
        for (name, _, value) in reader.named(node) {
            labels.removeAll { $0.name == name }
            if reader.tree.isNull(value) { continue }
            switch reader.scalar(value, .scalar) {
            case .boolean(let flag): labels.append(Job.Variable(name: name, value: .boolean(flag)))
            case .number(let text): labels.append(Job.Variable(name: name, value: .number(text)))
            case .text(let text):
                if let plain = reader.plain(text, value) {
                    labels.append(Job.Variable(name: name, value: .string(plain)))
                }
            case .null, .unknown, nil: break
            }
        }
    }
}

/// The `needs` of tasks as written; tasks made by one `forEach` share a list that is the same for all.
struct NeedLists {
    struct Entry {
        let text: String
        let node: NodeID
    }
    private(set) var lists: [[Entry]] = []
    private(set) var known: [NodeID: Int] = [:]

    mutating func add(_ entries: [Entry], _ node: NodeID) -> Int {
        lists.append(entries)
        known[node] = lists.count - 1
        return lists.count - 1
    }
}
