import TransferModel
import YAMLTree

/// The source of a `forEach` name's values, if they are not a list in the job.
struct ForEachSource: Blank, Sendable {
    enum Kind: String, Sendable, CaseIterable { case lines, csv, json, checksums, files, captured }
    var kind: Kind?
    var node: NodeID?
    static var blank: ForEachSource { ForEachSource() }
}

extension Sections {
    static let forEachSource = Section<ForEachSource>(
        "forEachSource", in: "`forEach`", title: "`forEach`",
        """
        A map of name → a list, a range (`1..20`), or one of these. Several names give every combination, the last one \
        running fastest. `${name}` is the value and `${name.index}` its number from 1.
        """,
        keys: [
            source("lines", .lines, "each line that is not empty"),
            source("csv", .csv, "each row; `${name.column}` is a field, by the names in the first line"),
            source("json", .json, "each element of the list in it; `${name.key}` is a field of an object"),
            source(
                "checksums", .checksums,
                "each line of a `SHA256SUMS` file, signed or not: `${name.path}` and `${name.checksum}`"),
            source(
                "files", .files,
                """
                each file that the pattern matches, in order: `${name.path}` and `${name.name}`; `*`, `?` and `[a-z]` stay \
                within a name, `**` is any number of folders and at the end all that is below; a name that begins with a dot \
                is found where its pattern does too; links to files count, those to folders are not followed
                """),
            source(
                "captured", .captured,
                """
                each value of a list that a task captures (`tasks.ID.NAME`, of `capture: { NAME: { json: …, all: true } }`): \
                the tasks are made when task ID has succeeded, which this one then needs. `${name.key}` is a field of an \
                object. Values come from the network and can do no more than other captured values
                """),
        ],
        rules: [.exactlyOne(["lines", "csv", "json", "checksums", "files", "captured"])])

    private static func source(_ name: StaticString, _ kind: ForEachSource.Kind, _ meaning: String) -> Key<
        ForEachSource
    > {
        let shape: Shape =
            switch kind {
            case .files: .pattern(".", words: "a pattern of paths")
            case .captured: .pattern(CapturedList.pattern, words: "`tasks.ID.NAME`")
            case .lines, .csv, .json, .checksums: .either([.path, .object("fromTask")])
            }
        return Key(name, over: \.self, shape, default: "none", meaning) { source, node, _ in
            source.kind = kind
            source.node = node
        }
    }

    static let fromTask = Section<FromTask>(
        "fromTask", in: "a source of `forEach`", title: "`forEach`: a downloaded file",
        """
        `lines`, `csv`, `json` and `checksums` may name a download instead of a file; its tasks are made when it has \
        succeeded. *Not built yet.*
        """,
        keys: [Key("task", \.task, .text, default: "required", "the download's id") { $1.text($0).map { .some($0) } }])

    struct FromTask: Blank, Sendable {
        var task: String?
        static var blank: FromTask { FromTask() }
    }
}

/// Reads `forEach` into lists of values.
struct ForEachReader {
    let reader: Reader
    private static let fileLimit = 64 << 20

    init(reader: Reader) { self.reader = reader }

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
                if reader.isNull(value) { continue }
                guard Names.isWellFormed(name) else {
                    reader.badName(name, key, "a value of `forEach`")
                    (lists.isWhole, lists.hasUnreadNames) = (false, true)
                    continue
                }
                let items = items(value)
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

    private func items(_ node: NodeID) -> ForEachList.Items? {
        switch reader.tree.kind(node) {
        case .sequence:
            let values = reader.tree.children(node).map { value($0) }
            return values.contains { $0 == nil } ? nil : .values(values.compactMap { $0 })
        case .mapping: return source(node)
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
            if let whole = reader.wholeValue(node) { return whole }
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

    private func source(_ node: NodeID) -> ForEachList.Items? {
        var source = ForEachSource()
        Sections.forEachSource.decode(node, into: &source, reader)
        guard let kind = source.kind, let value = source.node, reader.tree.count(node) == 1 else { return nil }
        if kind == .captured { return captured(value) }
        if reader.tree.kind(value) == .mapping, kind != .files { return task(value) }
        if kind == .files { return files(value) }
        reader.key = "forEach"
        guard let path = reader.path(value) else { return nil }
        reader.fileReads.append(FileRead(path: path, node: value))
        if !reader.lists.contains(path) { reader.lists.append(path) }
        switch reader.resources.readFile(path, Self.fileLimit) {
        case .failure(let problem):
            reader.error("unreadable-file", "`\(Reader.short(reader.tree.text(value)))`: \(problem.words)", value)
            return nil
        case .success(let bytes): return rows(bytes, kind, value)
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
            reader.error(
                "invalid-value", "`captured` names a list as `tasks.ID.NAME`, not `\(Reader.short(text))`",
                hint: meant.map { "write `tasks.\($0.task).\($0.name)`" }
                    ?? "ID is the task that captures it, NAME its name under `capture`", node)
            return nil
        }
        reader.capturedLists.append(list)
        return .captured(list, reader.templateValues?.captured.list(list.task, list.name))
    }

    private func task(_ node: NodeID) -> ForEachList.Items? {
        var from = Sections.FromTask()
        Sections.fromTask.decode(node, into: &from, reader)
        guard let task = from.task else { return nil }
        reader.forEachTasks.append(ChecksumTask(text: task, node: node))
        reader.problems.isNotBuilt("`forEach` from a task", at: reader.beginning(node), in: reader.source)
        return .deferred
    }

    private func rows(_ bytes: [UInt8], _ kind: ForEachSource.Kind, _ node: NodeID) -> ForEachList.Items? {
        do {
            switch kind {
            case .lines: return .values(try TableFiles.lines(bytes))
            case .csv: return .values(try TableFiles.csv(bytes))
            case .json: return .values(try TableFiles.json(bytes))
            case .checksums:
                let (values, other) = try TableFiles.checksums(bytes)
                if let other { reader.warning("bad-line", passedOver(other, node), at: reader.tree.span(node)) }
                return .values(values)
            case .files, .captured: return nil
            }
        } catch {
            reader.error("bad-file", words(error, node), node)
            return nil
        }
    }

    private func words(_ problem: TableFiles.Problem, _ node: NodeID) -> String {
        let place = problem.line > 0 ? ", line \(problem.line)" : ""
        return "`\(Reader.short(reader.tree.text(node)))`\(place): \(problem.message)"
    }

    private func passedOver(_ problem: TableFiles.Problem, _ node: NodeID) -> String {
        words(problem, node) + "; it makes no task"
    }

    private func files(_ node: NodeID) -> ForEachList.Items? {
        reader.key = "files"
        guard let text = reader.text(node, .text, place: .path) else { return nil }
        let glob = PathPattern(text)
        let root = Paths.absolute(glob.root.isEmpty ? "." : glob.root, in: reader.baseDirectory)
        reader.noteFile(.read, root + "/", node)
        switch reader.resources.listFiles(root, glob.depth) {
        case .failure(let problem):
            reader.error(
                "unreadable-file", "`\(Reader.short(glob.root.isEmpty ? "." : glob.root))`: \(problem.words)", node)
            return nil
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
        reader.error(
            "bad-file",
            "the name of `\(shown)` is not UTF-8 text" + (others > 0 ? ", nor are \(others) more" : ""),
            hint: "rename it, or write a pattern that leaves it out", node)
        return nil
    }
}

/// A file of this machine that a task's `forEach` reads while the job is loaded.
struct FileRead {
    let path: String
    let node: NodeID
}

/// A captured list as `forEach` names it: `tasks.ID.NAME`.
struct CapturedList {
    static let pattern = #"^tasks\.[A-Za-z0-9._-]+\.[A-Za-z_][A-Za-z0-9_-]*$"#

    let task: String
    let name: String
    let node: NodeID

    init?(_ text: String, node: NodeID) {
        guard text.hasPrefix("tasks.") else { return nil }
        let rest = text.dropFirst(6)
        guard let dot = rest.lastIndex(of: "."), TaskName.isWellFormed(rest[..<dot]),
            Names.isWellFormed(rest[rest.index(after: dot)...])
        else { return nil }
        (task, name) = (String(rest[..<dot]), String(rest[rest.index(after: dot)...]))
        self.node = node
    }
}
