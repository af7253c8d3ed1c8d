/// How a list that `forEach` reads is written.
package enum RowFormat: Hashable, Sendable {
    /// Each line that is not empty.
    case lines
    /// RFC 4180, with the names of the columns in the first line.
    case csv
    /// The lines of a checksum file.
    case checksums
    /// The stanzas of a Debian index.
    case debian
    /// The values that a JSON path selects; without one, the elements of the list that the file is.
    case json(path: String?)
    /// The elements at a path such as `/rss/channel/item`.
    case xml(path: String)
    /// The links of an HTML page whose `href` matches the expression.
    case links(match: String?)

    /// The names of the fields of each row; `nil` if that depends on the list.
    package var fieldNames: [String]? {
        switch self {
        case .lines: []
        case .checksums: ["path", "checksum", "size"]
        case .links: ["url", "name"]
        case .csv, .debian, .json, .xml: nil
        }
    }

    /// The format in few words, which tell two lists of one file apart.
    fileprivate var key: String {
        switch self {
        case .lines: "lines"
        case .csv: "csv"
        case .checksums: "checksums"
        case .debian: "debian"
        case .json(let path): "json \(path ?? "")"
        case .xml(let path): "xml \(path)"
        case .links(let match): "links \(match ?? "")"
        }
    }
}

/// The fields of a list's rows that are of use; all others are passed over while the list is read.
package struct RowFields: Hashable, Sendable {
    /// Fields that each row must have.
    package var needed: [String]
    /// Fields that a row may lack. `PlainValue.ownText` is the whole of a JSON row.
    package var optional: [String]

    package init(needed: [String] = [], optional: [String] = []) {
        self.needed = needed
        self.optional = optional
    }
}

/// A list of `forEach` that is read from what a task brought, once that task has succeeded.
package struct RowList: Hashable, Sendable {
    /// Id of the task that brings the list.
    package let task: String
    /// How the list is written.
    package let format: RowFormat
    /// The fields in use.
    package let fields: RowFields

    package init(task: String, format: RowFormat, fields: RowFields = RowFields()) {
        self.task = task
        self.format = format
        self.fields = fields
    }

    /// The name under which `CapturedValues` keeps the rows, as if a task of that name had captured a list. Equal lists
    /// have equal names, and no task can have such a name.
    package var key: String {
        let fields = (fields.needed.map { "\($0)!" } + fields.optional).joined(separator: ",")
        return "\(task)@\(format.key) \(fields)"
    }

    /// The name of the list under its `key`.
    package static let name = "rows"

    /// Returns the id of the task that brings the list with this key; `nil` for the id of a task.
    package static func task(of key: String) -> String? {
        key.utf8.firstIndex(of: UInt8(ascii: "@")).map { String(key[..<$0]) }
    }
}

extension PlainValue {
    /// The key of a row's own text in its map: `${name}` of a row that has fields, too.
    package static let ownText = ""

    /// A row with fields that also has a text of its own.
    package static func row(_ text: String, _ fields: [(key: String, value: String)]) -> PlainValue {
        .map(
            [Entry(key: ownText, value: .string(text))]
                + fields.map { Entry(key: $0.key, value: .string($0.value)) })
    }
}

// MARK: What the task brought

extension CapturedValue {
    /// Names of values that a task leaves for lists and that no report shows; no capture can have them.
    private static let hiddenMark = UInt8(ascii: "@")

    /// Whether the value is only there for lists of `forEach` that are read from what the task brought.
    package var isHidden: Bool { name.utf8.first == Self.hiddenMark }
}

/// Where a list of `forEach` is read from: what a task that succeeded brought.
package struct RowOrigin: Hashable, Sendable {
    /// The content, or the file that it is in.
    package enum Content: Hashable, Sendable {
        case file(String)
        case text(String)
        /// Bytes that are no UTF-8, in base64.
        case base64(String)
    }
    /// What was brought.
    package let content: Content
    /// URL of the last request, after redirects.
    package let url: String

    package init(_ content: Content, url: String) {
        self.content = content
        self.url = url
    }

    private static let (file, text, base64, url) = ("@file", "@text", "@base64", "@url")

    /// The origin as values that are kept and passed on like captured ones.
    package var captures: [CapturedValue] {
        let content =
            switch content {
            case .file(let path): CapturedValue(name: Self.file, text: path)
            case .text(let text): CapturedValue(name: Self.text, text: text)
            case .base64(let text): CapturedValue(name: Self.base64, text: text)
            }
        return [content, CapturedValue(name: Self.url, text: url)]
    }

    /// Reads the origins from a task's values, in their order: one, or one of each page.
    package static func all(in captures: [CapturedValue]) -> [RowOrigin] {
        var found: [RowOrigin] = []
        var content: CapturedValue?
        for value in captures where value.isHidden {
            if value.name != url {
                content = value
            } else if let known = content, let origin = RowOrigin([known, value]) {
                found.append(origin)
                content = nil
            }
        }
        return found
    }

    /// Reads the origin from a task's values; `nil` if it left none.
    package init?(_ captures: [CapturedValue]) {
        func text(_ name: String) -> String? { captures.first { $0.name == name }?.text }
        let content =
            text(Self.file).map { Content.file($0) } ?? text(Self.text).map { .text($0) }
            ?? text(Self.base64).map { .base64($0) }
        guard let content else { return nil }
        self.init(content, url: text(Self.url) ?? "")
    }
}
