import TransferModel
import YAMLTree

/// Reads values that tasks have and nothing else.
extension Reader {
    func taskID(_ node: NodeID) -> String? {
        if tree.kind(node) == .scalar, !tree.hasDollar(node), !tree.isNull(node) {
            let id = tree.text(node)
            if TaskName.isWellFormed(id), !isBoolean(node, id) { return id }
        }
        guard let id = text(node) else { return nil }
        if TaskName.isWellFormed(id) || scope.isWild { return id }
        error(
            "invalid-id", "`\(Self.short(id))` is no task id", hint: "an id holds letters, digits, `.`, `_` and `-`",
            node)
        return nil
    }

    /// Returns whether the node is an unquoted boolean; checks the length first, which is cheap.
    private func isBoolean(_ node: NodeID, _ text: String) -> Bool {
        guard (4...5).contains(text.utf8.count), tree.isPlain(node) else { return false }
        if case .boolean = tree.resolve(node) { return true }
        return false
    }

    func destination(_ node: NodeID, into head: inout TaskHead) {
        (head.to, head.awaitedTo) = (nil, nil)
        guard tree.kind(node) == .scalar, tree.hasDollar(node) else {
            let text = tree.kind(node) == .scalar ? tree.text(node) : ""
            guard !isBoolean(node, text) else { return wrongType(node, .path) }
            return head.to = destination(node, text)
        }
        guard case .text(let text) = scalar(node, .path, place: .path), text.awaitsCapture, !text.isSecret else {
            return head.to = text(node, .path, place: .path).flatMap { destination(node, $0) }
        }
        if case .literal(let start)? = text.pieces.first, isElsewhere(start, node) { return }
        // Interpolation has already refused a destination that begins with a captured value.
        guard case .capture? = text.pieces.first, !text.begins(withPage: true) else { return head.awaitedTo = text }
    }

    /// Whether a destination is a URL that names no object, which is reported: a path would be made of it.
    private func isElsewhere(_ text: String, _ node: NodeID) -> Bool {
        // Hardly a path has a colon: those that have none are not searched.
        guard text.utf8.contains(UInt8(ascii: ":")), !ObjectPlace.isMeant(by: text) else { return false }
        if text.prefix(3).lowercased() == "s3:" {
            error(
                "invalid-value", "`\(Self.short(text))` names no object",
                hint: "an object is `s3://bucket/key`, a file of that name `./\(Self.short(text))`", node)
            return true
        }
        guard let mark = text.firstRange(of: "://"), mark.lowerBound > text.startIndex,
            text[..<mark.lowerBound].utf8.allSatisfy({ (0x61...0x7A).contains($0 | 0x20) || (0x30...0x39).contains($0) }
            )
        else { return false }
        error(
            "invalid-value", "`to` is a file or an object `s3://bucket/key`, not another URL: `\(Self.short(text))`",
            hint: "a task that needs this one can send the file on: `method: PUT, body: { file: FILE }`", node)
        return true
    }

    private func destination(_ node: NodeID, _ text: String) -> String? {
        if text.isEmpty || tree.kind(node) != .scalar {
            error("invalid-value", "`to` must be a file, or a folder ending in `/`", node)
            return nil
        }
        guard checked(SecretText(text), node, .path), !isElsewhere(text, node) else { return nil }
        if text == "." || text == ".." || text.hasSuffix("/.") || text.hasSuffix("/..") {
            error("invalid-value", "`to` names a folder: end it in `/`", hint: "write `\(Self.short(text))/`", node)
            return nil
        }
        warnOfShellPath(node)
        return text
    }

    // MARK: URLs

    func location(_ node: NodeID) -> TaskSpecification.Location? {
        if tree.kind(node) == .scalar, !tree.hasDollar(node) {
            let text = tree.text(node)
            if let url = try? urls.parse(text) {
                warnOfForeignReference(node)
                noteHost(url, node)
                return .url(url)
            }
        }
        guard let text = urlText(node, captures: true) else { return nil }
        if text.awaitsCapture {
            noteUnknownHost(text, node)
            return .awaitingCapture(text)
        }
        return parseURL(text, node).map { .url($0) }
    }

    func locations(_ node: NodeID) -> [TaskSpecification.Location]? {
        guard expectList(node, .list(.url)) else { return nil }
        if tree.count(node) == 0 { error("invalid-value", "`urls` must name at least one URL", node) }
        return tree.children(node).compactMap { location($0) }
    }

    func query(_ node: NodeID, into fields: inout [QueryField]) {
        for (name, _, value) in named(node) where !scope.replacedNames.contains(name) {
            fields.removeAll { $0.name == name }
            if tree.isNull(value) { continue }
            for element in oneOrMore(value) {
                guard let text = secretText(element, .scalar, captures: true) else { continue }
                fields.append(QueryField(name: name, value: text))
            }
        }
    }

    // MARK: Others

    func method(_ node: NodeID) -> String? {
        guard let text = text(node) else { return nil }
        let isToken = !text.isEmpty && text.utf8.allSatisfy(Token.isTokenByte)
        guard isToken, text != "CONNECT" else {
            error("invalid-value", "`\(Self.short(text))` is no method that a task can have", node)
            return nil
        }
        let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]
        if known.contains(text.uppercased()), !known.contains(text) {
            error(
                "invalid-value",
                "methods are written in capitals: `\(text)` is another one than `\(text.uppercased())`",
                hint: "did you mean `\(text.uppercased())`?", node)
            return nil
        }
        return text
    }

    func needs(_ node: NodeID) -> Int? {
        if !tree.hasDollarBelow(node), let known = needLists.known[node] { return known }
        guard expectList(node, .list(.text)) else { return nil }
        var entries: [NeedLists.Entry] = []
        for element in tree.children(node) {
            guard let text = text(element) else { continue }
            if text.isEmpty {
                error("invalid-value", "an empty text is no task id", element)
            } else {
                entries.append(NeedLists.Entry(text: text, node: element))
            }
        }
        return needLists.add(entries, node)
    }

    func allowFailure(_ node: NodeID, into allow: inout AllowFailure) {
        guard tree.kind(node) == .mapping else {
            let shape = Shape.either([.boolean, .object("allowFailure")])
            if tree.kind(node) == .sequence { return wrongType(node, shape) }
            if tree.kind(node) == .scalar, !tree.hasDollar(node), case .integer = tree.resolve(node) {
                return wrongType(node, shape, hint: "write `allowFailure: { status: \(Self.short(tree.text(node))) }`")
            }
            guard let value = boolean(node) else { return }
            return allow = value ? .any : .no
        }
        var draft = Sections.FailureDraft()
        Sections.allowFailure.decode(node, into: &draft, self)
        if let statuses = draft.statuses { allow = .statuses(statuses) }
    }

    func resumption(_ node: NodeID) -> ResumePolicy? {
        let shape = Shape.either([.boolean, .choice(["adopt"])])
        if tree.kind(node) == .scalar, !tree.hasDollar(node) {
            if case .boolean(let isWanted) = tree.resolve(node) { return isWanted ? .own : .no }
            let text = tree.text(node)
            if text == "adopt" { return .adopt }
            wrongType(node, shape, hint: closest(text, ["adopt"]).map { "did you mean `\($0)`?" })
            return nil
        }
        guard let text = text(node, shape) else { return nil }
        switch text {
        case "adopt": return .adopt
        case "true": return .own
        case "false": return .no
        default:
            error("wrong-type", "`\(key)` must be \(shape.words), not `\(Self.short(text))`", node)
            return nil
        }
    }

    func decompression(_ node: NodeID) -> Decompression? {
        let shape = Shape.either([.boolean, .choice(["file"])])
        if tree.kind(node) == .scalar, !tree.hasDollar(node), case .boolean(let isWanted) = tree.resolve(node) {
            return isWanted ? .answer : .no
        }
        guard let text = text(node, shape) else { return nil }
        switch text {
        case "file": return .file
        case "true": return .answer
        case "false": return .no
        default:
            error(
                "invalid-value", "`decompress` must be \(shape.words), not `\(Self.short(text))`",
                hint: closest(text, ["file", "true", "false"]).map { "did you mean `\($0)`?" }, node)
            return nil
        }
    }

    func priority(_ node: NodeID) -> Double? {
        let words = ["low", "default", "high"]
        let shape = Shape.either([.number(0...1), .choice(words)])
        guard let text = text(node, shape) else { return nil }
        switch text {
        case "low": return 0.25
        case "default": return 0.5
        case "high": return 0.75
        default: break
        }
        guard let value = ValueText.number(text) else {
            error(
                "invalid-value", "`priority` must be \(shape.words), not `\(Self.short(text))`",
                hint: closest(text, words).map { "did you mean `\($0)`?" }, node)
            return nil
        }
        guard (0...1).contains(value) else {
            outOfRange(node, shape, text)
            return nil
        }
        return value
    }

    func labels(_ node: NodeID, into labels: inout [Job.Variable]) {
        for (name, _, value) in named(node) {
            labels.removeAll { $0.name == name }
            if tree.isNull(value) { continue }
            switch scalar(value, .scalar) {
            case .boolean(let flag): labels.append(Job.Variable(name: name, value: .boolean(flag)))
            case .number(let text): labels.append(Job.Variable(name: name, value: .number(text)))
            case .text(let text):
                if let plain = plain(text, value) { labels.append(Job.Variable(name: name, value: .string(plain))) }
            case .null, .unknown, nil: break
            }
        }
    }

    // MARK: Checksums

    func checksum(_ node: NodeID) -> ChecksumSource? {
        guard tree.kind(node) == .mapping else {
            guard let text = secretText(node, Sections.checksumShape, captures: true) else { return nil }
            if text.awaitsCapture, !text.isSecret { return .awaited(text) }
            return plain(text, node).flatMap { literalChecksum($0, node) }.map { .literal($0) }
        }
        var draft = Sections.ChecksumDraft()
        Sections.checksum.decode(node, into: &draft, self)
        if draft.algorithm == .xxh3, let named = named(node).first(where: { $0.name == "algorithm" }) {
            unknownWord("xxh3", named.value, DigestAlgorithm.allCases.map(\.rawValue))
        }
        guard let from = draft.from else { return nil }
        var listed = ListedChecksum(algorithm: draft.algorithm, entry: draft.entry)
        let proof = draft.signature.flatMap { signature in
            signature.key.map { ListProof(key: $0, url: signature.url, node: signature.node) }
        }
        // A signature that cannot be read was reported, and the job does not run.
        if from.text.contains("://") {
            guard let url = parseURL(SecretText(from.text), from.node) else { return nil }
            listed.signature = proof.map { signature($0, of: url) }
            return .url(url, listed)
        }
        checksumTasks.append(ChecksumTask(text: from.text, node: from.node, proof: proof))
        // The task is resolved once all are read; until then the index is that of its name in `checksumTasks`.
        let name = TaskIndex(raw: UInt32(checksumTasks.count - 1))
        return .task(name, listed)
    }

    /// Names the algorithm of a digest without one, where its length tells it.
    private static func hint(ofDigits text: String) -> String? {
        guard text.utf8.count % 2 == 0, text.utf8.allSatisfy({ PercentEncoding.hexValue($0) != nil }),
            let algorithm = DigestAlgorithm.allCases.first(where: { $0.byteCount * 2 == text.utf8.count })
        else { return nil }
        return "\(text.utf8.count) hex digits are most likely a \(algorithm.rawValue): "
            + "write `\(algorithm.rawValue):\(text.prefix(8))…`"
    }

    private func literalChecksum(_ text: String, _ node: NodeID) -> Checksum? {
        let known = DigestAlgorithm.allCases.map(\.rawValue)
        guard let colon = text.firstIndex(of: ":") else {
            let hint =
                "it begins with \(Shape.oneOf(known.map { "\($0):" })); a file of checksums is named by "
                + "`checksum: { from: … }`"
            invalid(node, Sections.checksumShape, text, hint: Self.hint(ofDigits: text) ?? hint)
            return nil
        }
        guard let algorithm = DigestAlgorithm.allCases.first(where: { $0.rawValue == text[..<colon] }) else {
            let name = String(text[..<colon])
            error(
                "invalid-value", "`\(Self.short(name))` is no checksum algorithm",
                hint: closest(name, known).map { "did you mean `\($0)`?" } ?? "known: \(Shape.oneOf(known))", node)
            return nil
        }
        let digits = String(text[text.index(after: colon)...])
        guard let bytes = decodeHex(digits) else {
            error("invalid-value", "a checksum is written in hex digits, not `\(Self.short(digits))`", node)
            return nil
        }
        guard bytes.count == algorithm.byteCount else {
            error(
                "invalid-value",
                "a \(algorithm.rawValue) checksum has \(algorithm.byteCount * 2) hex digits, this one has \(digits.utf8.count)",
                node)
            return nil
        }
        return Checksum(algorithm: algorithm, bytes: bytes)
    }
}

/// A task that `checksum: { from: … }` names.
struct ChecksumTask: Hashable {
    let text: String
    let node: NodeID
    /// How that file proves itself; `nil` if it need not.
    let proof: ListProof?
}

/// The `signature` of a `checksum`, while it is read.
struct ListProof: Hashable {
    let key: MinisignKey
    /// Where the signature is; `nil` for the usual place.
    let url: ResourceURL?
    let node: NodeID
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
