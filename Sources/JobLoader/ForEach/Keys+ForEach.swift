import TransferModel
import YAMLTree

/// The source of a `forEach` name's values, if they are not a list in the job.
struct ForEachSource: Blank, Sendable {
    enum Kind: String, Sendable, CaseIterable { case lines, csv, json, xml, checksums, files, captured, debian, links }
    var kind: Kind?
    var node: NodeID?
    /// How many kinds are written; one is right.
    var count = 0
    /// The `path` beside the kind.
    var path: NodeID?
    static var blank: ForEachSource { ForEachSource() }
}

/// A list of `forEach` that is written as a map: the file or task that has it, and what picks its rows.
struct ListDraft: Blank, Sendable {
    var task: String?
    var taskNode: NodeID?
    var file: NodeID?
    var path: NodeID?
    var match: String?
    static var blank: ListDraft { ListDraft() }
}

extension Sections {
    static let forEachSource = Section<ForEachSource>(
        "forEachSource", in: "`forEach`", title: "`forEach`",
        """
        A map of name → a list, a range (`1..20`), or one of these. Several names give every combination, the last one \
        running fastest. `${name}` is the value and `${name.index}` its number from 1. All but `files` and `captured` \
        may name a task instead of a file: `{ csv: { task: ID } }`. The tasks are then made when that download or data \
        task, which they need, has succeeded; what it brought may be packed (gzip, xz, zstd). Its values come from the \
        network and can do no more than captured ones: they may not begin a file path, make it absolute or add a `..`.
        """,
        keys: [
            source("lines", .lines, "each line that is not empty"),
            source("csv", .csv, "each row; `${name.column}` is a field, by the names in the first line"),
            source(
                "json", .json,
                """
                each element of the list in it, or what its `path` selects; `${name.key}` is a field of an object, \
                `${name.key.inner}` one of an object in it
                """),
            source(
                "xml", .xml,
                """
                each element at its `path`; `${name.title}` is an attribute or the text of a child element, \
                `${name.enclosure.url}` one further inside
                """),
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
            source(
                "debian", .debian,
                """
                each stanza of a Debian index (`Packages`, `Sources`) that a task brings: `${name.Filename}`, \
                `${name.SHA256}`; continuation lines are joined with a blank
                """),
            source(
                "links", .links,
                """
                each link of an HTML page that a task brings: `${name}` is its URL, resolved against the page's, \
                `${name.name}` the last part of its path; each URL once
                """),
            Key(
                "path", over: \.path, .text, default: "none",
                "of `json` the JSON path of the rows, such as `$.items[*]`; of `xml` the path of their elements"
            ) { path, node, _ in path = node },
        ],
        rules: [
            .exactlyOne(["lines", "csv", "json", "xml", "checksums", "files", "captured", "debian", "links"]),
            .when(.has("path"), .needsOne(of: ["json", "xml"])),
        ])

    private static func source(_ name: StaticString, _ kind: ForEachSource.Kind, _ meaning: String) -> Key<
        ForEachSource
    > {
        let shape: Shape =
            switch kind {
            case .files: .pattern(".", words: "a pattern of paths")
            case .captured: .pattern(CapturedList.pattern, words: "`tasks.ID.NAME`")
            case .lines, .csv, .checksums: .either([.path, .object("listOfTask")])
            case .json: .either([.path, .object("jsonList")])
            case .xml: .either([.path, .object("xmlList")])
            case .debian: .object("listOfTask")
            case .links: .object("linkList")
            }
        return Key(name, over: \.self, shape, default: "none", meaning) { source, node, _ in
            source.kind = kind
            source.node = node
            source.count += 1
        }
    }

    static let listOfTask = Section<ListDraft>(
        "listOfTask", in: "a source of `forEach`", title: "`forEach`: what a task brought",
        "For `lines`, `csv`, `checksums` and `debian`.", keys: [task("required")])

    static let jsonList = Section<ListDraft>(
        "jsonList", in: "`json`", title: "`forEach`: `json`", "A file or a task, and the rows in it.",
        keys: [
            task("none"), file,
            Key(
                "path", over: \.path, .jsonPath, default: "none",
                "the JSON path of the rows; without one, the elements of the list that the file must be"
            ) { path, node, _ in path = node },
        ], rules: [.exactlyOne(["task", "file"])])

    static let xmlList = Section<ListDraft>(
        "xmlList", in: "`xml`", title: "`forEach`: `xml`", "A file or a task, and the elements in it.",
        keys: [
            task("none"), file,
            Key(
                "path", over: \.path, .pattern(elementPath, words: elementPathWords), default: "none",
                "the names of elements from the outermost one on; `*` is any. It may stand beside `xml` instead"
            ) { path, node, _ in path = node },
        ], rules: [.exactlyOne(["task", "file"])])

    static let elementPath = #"^(/([A-Za-z_:][A-Za-z0-9_:.-]*|\*))+$"#
    static let elementPathWords = "a path of elements, such as `/rss/channel/item`"

    static let linkList = Section<ListDraft>(
        "linkList", in: "`links`", title: "`forEach`: `links`", "The page, and which of its links.",
        keys: [
            task("required"),
            Key(
                "match", \.match, .regex, default: "none",
                "only links whose `href`, as the page has it, matches; a page without one is an error"
            ) { $1.regex($0).map { .some($0) } },
        ])

    private static func task(_ standard: String) -> Key<ListDraft> {
        Key("task", over: \.self, .text, default: standard, "id of the download or data task that brings it") {
            draft, node, reader in
            draft.task = reader.text(node)
            draft.taskNode = node
        }
    }

    private static var file: Key<ListDraft> {
        Key("file", over: \.file, .path, default: "none", "a file of this machine") { file, node, _ in file = node }
    }
}
