import RowFormats
import TransferModel
import YAMLTree

/// Reads `forEach` into lists of values.
struct ForEachReader {
    let reader: Reader
    /// The map of the task that is read, which says what it uses of the rows.
    let task: NodeID
    private static let fileLimit = 64 << 20

    /// The lists that were read; after a fault, at least those whose names are known.
    struct Lists {
        var all: [ForEachList] = []
        var isWhole = true
        /// Whether there may be names that cannot be read.
        var hasUnreadNames = false
    }

    /// Reads the names of `defaults` first, then a task's own over them.
    func lists(own: NodeID?, defaults: NodeID?) -> Lists {
        reader.key = "forEach"
        var lists = Lists()
        for node in [defaults, own].compactMap({ $0 }) {
            guard reader.tree.kind(node) == .mapping else {
                reader.wrongType(node, .map(.json), hint: "write `forEach: { name: [a, b] }`")
                (lists.isWhole, lists.hasUnreadNames) = (false, true)
                continue
            }
            for (name, key, value) in reader.named(node) {
                lists.all.removeAll { $0.name == name }
                if reader.tree.isNull(value) { continue }
                guard Names.isWellFormed(name) else {
                    reader.badName(name, key, "a value of `forEach`")
                    (lists.isWhole, lists.hasUnreadNames) = (false, true)
                    continue
                }
                let items = items(value, of: name)
                if items == nil { lists.isWhole = false }
                lists.all.append(ForEachList(name: name, node: value, items: items ?? .deferred))
            }
        }
        if lists.isWhole, lists.all.isEmpty {
            reader.error(
                "empty-map", "`forEach` names nothing to go over",
                at: reader.beginning(own ?? defaults ?? NodeID(raw: 0)))
            (lists.isWhole, lists.hasUnreadNames) = (false, true)
        }
        return lists
    }

    private func items(_ node: NodeID, of name: String) -> ForEachList.Items? {
        switch reader.tree.kind(node) {
        case .sequence:
            let values = reader.tree.children(node).map { value($0) }
            return values.contains { $0 == nil } ? nil : .values(values.compactMap { $0 })
        case .mapping: return source(node, of: name)
        case .scalar: return range(node)
        }
    }

    private func range(_ node: NodeID) -> ForEachList.Items? {
        let shape = Shape.either([
            .list(.json), .pattern("", words: "a range such as `1..20`"), .object("forEachSource"),
        ])
        guard let text = reader.text(node, shape) else { return nil }
        do {
            return try RangeText.parse(text)
        } catch {
            switch error {
            case .notARange:
                reader.invalid(
                    node, .pattern("", words: "a list, a range such as `1..20`, or a map such as `{ lines: FILE }`"),
                    text)
            case .backwards: reader.error("out-of-range", "the range `\(Reader.short(text))` runs backwards", node)
            case .tooLong:
                reader.error(
                    "too-many-tasks", "the range `\(Reader.short(text))` has more than \(RangeText.longest) numbers",
                    node)
            }
            return nil
        }
    }

    /// Reads an element of a list. Recursive: maps and lists in it are at most as deep as a file may be.
    private func value(_ node: NodeID) -> Value? {
        switch reader.tree.kind(node) {
        case .scalar:
            if let whole = Interpolation(reader: reader).wholeValue(node) { return whole }
            switch reader.scalar(node, .json) {
            case .null: return .null
            case .boolean(let value): return .boolean(value)
            case .number(let text): return .number(text)
            case .text(let text): return .text(text)
            case .unknown: return .unknown
            case nil: return nil
            }
        case .sequence:
            let values = reader.tree.children(node).map { value($0) }
            return values.contains { $0 == nil } ? nil : .list(values.compactMap { $0 })
        case .mapping:
            let entries = reader.named(node, .json).map { entry in value(entry.value).map { (entry.name, $0) } }
            return entries.contains { $0 == nil }
                ? nil : .map(entries.compactMap { $0 }.map { (key: $0.0, value: $0.1) })
        }
    }

    // MARK: Files

    private func source(_ node: NodeID, of name: String) -> ForEachList.Items? {
        var source = ForEachSource()
        Sections.forEachSource.decode(node, into: &source, reader)
        guard let kind = source.kind, let value = source.node, source.count == 1 else { return nil }
        if let path = source.path, kind != .json, kind != .xml {
            return reader.error(
                "conflicting-keys", "`\(kind.rawValue)` and `path` exclude each other",
                hint: "`path` picks the rows of `json` and `xml`", at: reader.beginning(path))
        }
        switch kind {
        case .captured: return captured(value)
        case .files: return files(value)
        case .lines, .csv, .json, .xml, .checksums, .debian, .links: return list(value, kind, source.path, of: name)
        }
    }

    /// Reads a list that is in a file, or that a task brings.
    private func list(
        _ node: NodeID, _ kind: ForEachSource.Kind, _ path: NodeID?, of name: String
    ) -> ForEachList.Items? {
        var draft = ListDraft()
        if reader.tree.kind(node) == .mapping || kind == .debian || kind == .links {
            section(kind).decode(node, into: &draft, reader)
            guard draft.task != nil || draft.file != nil else { return nil }
        } else {
            draft.file = node
        }
        if let path, draft.path != nil {
            return reader.error(
                "conflicting-keys", "`path` is there twice", hint: "write it once, beside `\(kind.rawValue)` or in it",
                at: reader.beginning(path))
        }
        draft.path = draft.path ?? path
        guard let format = format(kind, draft, node) else { return nil }
        if let file = draft.file { return rows(of: file, format) }
        guard let task = draft.task else { return nil }
        let fields = WrittenReferences(tree: reader.tree).fields(
            of: name, in: self.task, keepsWholeRows: kind == .json)
        let rows = RowList(task: task, format: format, fields: fields)
        let list = CapturedList(rows, node: draft.taskNode ?? node)
        reader.scope.capturedLists.append(list)
        return .captured(list, reader.templateValues?.captured.list(list.task, list.name))
    }

    private func section(_ kind: ForEachSource.Kind) -> Section<ListDraft> {
        switch kind {
        case .json: Sections.jsonList
        case .xml: Sections.xmlList
        case .links: Sections.linkList
        case .lines, .csv, .checksums, .debian, .files, .captured: Sections.listOfTask
        }
    }

    private func format(_ kind: ForEachSource.Kind, _ draft: ListDraft, _ node: NodeID) -> RowFormat? {
        switch kind {
        case .lines: return .lines
        case .csv: return .csv
        case .checksums: return .checksums
        case .debian: return .debian
        case .links: return .links(match: draft.match)
        case .json:
            guard let path = draft.path else { return .json(path: nil) }
            return reader.jsonPath(path).map { .json(path: $0) }
        case .xml: return elementPath(draft, node).map { .xml(path: $0) }
        case .files, .captured: return nil
        }
    }

    private func elementPath(_ draft: ListDraft, _ node: NodeID) -> String? {
        let shape = Shape.pattern(Sections.elementPath, words: Sections.elementPathWords)
        guard let path = draft.path else {
            return reader.error(
                "missing-key", "`xml` needs a `path`", hint: "it must be \(Sections.elementPathWords)",
                at: reader.beginning(node))
        }
        guard let text = reader.text(path, shape) else { return nil }
        guard ElementPath(text) != nil else { return reader.invalid(path, shape, text) }
        return text
    }

    private func rows(of file: NodeID, _ format: RowFormat) -> ForEachList.Items? {
        reader.key = "forEach"
        guard let path = reader.path(file) else { return nil }
        reader.scope.fileReads.append(FileRead(path: path, node: file))
        if !reader.usedFiles.lists.contains(path) { reader.usedFiles.lists.append(path) }
        switch reader.resources.readFile(path, Self.fileLimit) {
        case .failure(let problem):
            let text = reader.tree.text(file)
            return reader.error(
                "unreadable-file", "`\(Reader.short(text))`: \(problem.words)",
                hint: problem == .notFound ? reader.resources.fileMeant(by: text, at: path) : nil, file)
        case .success(let bytes): return rows(bytes, format, file)
        }
    }

    private func captured(_ node: NodeID) -> ForEachList.Items? {
        reader.key = "captured"
        let shape = Shape.pattern(CapturedList.pattern, words: "`tasks.ID.NAME`")
        let isScalar = reader.tree.kind(node) == .scalar
        // This is the list's name and not its value: `${…}` around it is a mistake with a message of its own.
        guard let text = isScalar ? reader.tree.text(node) : reader.text(node, shape) else { return nil }
        guard let list = CapturedList(text, node: node) else {
            let bare = text.hasPrefix("${") && text.hasSuffix("}") ? String(text.dropFirst(2).dropLast()) : text
            let meant = CapturedList(bare.hasPrefix("tasks.") ? bare : "tasks." + bare, node: node)
            return reader.error(
                "invalid-value", "`captured` names a list as `tasks.ID.NAME`, not `\(Reader.short(text))`",
                hint: meant.map { "write `tasks.\($0.task).\($0.name)`" }
                    ?? "ID is the task that captures it, NAME its name under `capture`", node)
        }
        reader.scope.capturedLists.append(list)
        return .captured(list, reader.templateValues?.captured.list(list.task, list.name))
    }

    private func rows(_ bytes: [UInt8], _ format: RowFormat, _ node: NodeID) -> ForEachList.Items? {
        do throws(RowProblem) {
            let table = try RowReader.rows(bytes, format)
            if let stray = table.stray {
                reader.warning("bad-line", passedOver(stray, node), at: reader.tree.span(node))
            }
            return .values(table.rows.map { Self.value(of: $0, format) })
        } catch {
            return reader.error("bad-file", words(error, node), node)
        }
    }

    /// Converts a row; in formats whose rows have a text of their own a map is a record.
    private static func value(of row: PlainValue, _ format: RowFormat) -> Value {
        guard case .map(let entries) = row, case .json = format else { return Value(row: row) }
        return Value(.map(entries))
    }

    private func words(_ problem: RowProblem, _ node: NodeID) -> String {
        let place = problem.line > 0 ? ", line \(problem.line)" : ""
        return "`\(Reader.short(reader.tree.text(node)))`\(place): \(problem.message)"
    }

    private func passedOver(_ problem: RowProblem, _ node: NodeID) -> String {
        words(problem, node) + "; it makes no task"
    }

    private func files(_ node: NodeID) -> ForEachList.Items? {
        reader.key = "files"
        guard let text = reader.text(node, .text, place: .path) else { return nil }
        let glob = PathPattern(text)
        let root = Paths.absolute(glob.root.isEmpty ? "." : glob.root, in: reader.baseDirectory)
        reader.recordFile(.read, root + "/", node)
        switch reader.resources.listFiles(root, glob.depth) {
        case .failure(let problem):
            return reader.error(
                "unreadable-file", "`\(Reader.short(glob.root.isEmpty ? "." : glob.root))`: \(problem.words)", node)
        case .success(let listed):
            let paths = listed.filter { $0.last != Self.slash }
            tellOfClosed(listed.filter { $0.last == Self.slash && glob.reaches(below: $0) }, glob.prefix, node)
            let matching = paths.filter { glob.matches($0) }.sorted { $0.lexicographicallyPrecedes($1) }
            return texts(matching, glob.prefix, node).map { texts in
                .values(
                    texts.map { path in
                        let whole = glob.prefix + path
                        let name = Paths.lastComponent(of: path)
                        return .record(text: whole, fields: [("path", whole), ("name", name)])
                    })
            }
        }
    }

    private static let slash = UInt8(ascii: "/")

    /// Warns of folders that cannot be opened: their files make no tasks.
    private func tellOfClosed(_ folders: [[UInt8]], _ prefix: String, _ node: NodeID) {
        for folder in folders.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            let shown = Reader.short(prefix + NotText.escaped(folder))
            let message = "the folder `\(shown)` cannot be opened; what lies in it makes no task"
            reader.warning("unreadable-folder", message, at: reader.tree.span(node))
        }
    }

    /// Returns the paths as text, or reports one that is not UTF-8 and returns `nil`. No name is skipped or altered,
    /// since it could become that of another file.
    private func texts(_ paths: [[UInt8]], _ prefix: String, _ node: NodeID) -> [String]? {
        let texts = paths.compactMap { String(validating: $0, as: UTF8.self) }
        let stray = paths.first { String(validating: $0, as: UTF8.self) == nil }
        guard let stray else { return texts }
        let others = paths.count - texts.count - 1
        let shown = Reader.short(prefix + NotText.escaped(stray))
        return reader.error(
            "bad-file",
            "the name of `\(shown)` is not UTF-8 text" + (others > 0 ? ", nor are \(others) more" : ""),
            hint: "rename it, or write a pattern that leaves it out", node)
    }
}

/// A file of this machine that a task's `forEach` reads while the job is loaded.
struct FileRead {
    let path: String
    let node: NodeID
}

/// A list that is known in mid-run: one that a task captures, as `forEach` names it (`tasks.ID.NAME`), or the rows of
/// what a task brings.
struct CapturedList {
    static let pattern = #"^tasks\.[A-Za-z0-9._-]+\.[A-Za-z_][A-Za-z0-9_-]*$"#

    /// Id of the task; of rows `RowList.key`.
    let task: String
    let name: String
    let node: NodeID
    /// Set if it is read from what a task brings.
    let rows: RowList?

    /// Id of the task that captures or brings the list.
    var source: String { rows?.task ?? task }

    init(_ rows: RowList, node: NodeID) {
        (task, name, self.node, self.rows) = (rows.key, RowList.name, node, rows)
    }

    init?(_ text: String, node: NodeID) {
        guard text.hasPrefix("tasks.") else { return nil }
        let rest = text.dropFirst(6)
        guard let dot = rest.lastIndex(of: "."), TaskName.isWellFormed(rest[..<dot]),
            Names.isWellFormed(rest[rest.index(after: dot)...])
        else { return nil }
        (task, name) = (String(rest[..<dot]), String(rest[rest.index(after: dot)...]))
        (self.node, rows) = (node, nil)
    }
}
