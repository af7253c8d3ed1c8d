import TransferModel
import YAMLTree

/// A body while it is read.
struct BodyDraft: Blank, Sendable {
    var body: RequestBody?
    static var blank: BodyDraft { BodyDraft() }
}

extension Sections {
    static let body = Section<BodyDraft>(
        "body", in: "`body`", "What a request carries: one of these. A body is replaced as a whole, never merged.",
        keys: [
            bodyKey("data", .scalar, "this text") { node, reader in
                reader.secretText(node, .scalar, place: .body, captures: true).map { .data($0) }
            },
            bodyKey(
                "base64", .pattern("^[A-Za-z0-9+/\\s]*={0,2}\\s*$", words: "base64"), "the bytes that this stands for"
            ) {
                BodyReader(reader: $1).base64($0).map { .base64($0) }
            },
            bodyKey("json", .json, "this value as JSON") { JSONReader(reader: $1).jsonTemplate($0).map { .json($0) } },
            bodyKey(
                "form", .map(.either([.scalar, .list(.scalar)])),
                "these fields, encoded as a form; a list gives several of one name"
            ) { node, reader in
                BodyReader(reader: reader).formFields(node).map { .form($0) }
            },
            bodyKey("file", .path, "this file") { $1.pathText($0).map { .file($0) } },
            bodyKey("stream", .object("stream"), "what this command writes, run anew each time it is sent") {
                BodyReader(reader: $1).stream($0)
            },
            bodyKey("multipart", .list(.object("part")), "these parts, as `multipart/form-data`") {
                BodyReader(reader: $1).parts($0).map { .multipart($0) }
            },
        ],
        rules: [.exactlyOne(["data", "base64", "json", "form", "file", "stream", "multipart"])])

    private static func bodyKey(
        _ name: StaticString, _ shape: Shape, _ meaning: String, _ availability: Availability<BodyDraft> = .built,
        read: @escaping @Sendable (NodeID, Reader) -> RequestBody?
    ) -> Key<BodyDraft> {
        Key(name, \.body, shape, default: "none", meaning, availability) { read($0, $1).map { .some($0) } }
    }

    static let stream = Section<StreamDraft>(
        "stream", in: "`stream`", title: "`body.stream`",
        """
        The command runs in the job's folder. What it writes goes out as it comes; a command that fails, or writes more or \
        less than `length` says, fails the task before the server could take what came for the whole. An HTTP/1.1 \
        connection of its own carries it.
        """,
        keys: [
            .command(
                "command", \.command, default: "required",
                "the program and its arguments; no shell. `[\"-\"]` is what `transfer-run` itself is given on standard "
                    + "input: once"),
            .size(
                "length", \.length, default: "unknown",
                "how many bytes it writes, for a server that must know before; else it is sent in chunks"),
        ],
        rules: [.always(.filled(["command"]))])

    struct StreamDraft: Blank, Sendable {
        var command: [SecretText]?
        var length: Int64?
        static var blank: StreamDraft { StreamDraft() }
    }

    static let part = Section<PartDraft>(
        "part", in: "a part of `multipart`", title: "`body.multipart`",
        keys: [
            .text("name", \.name, default: "required", "the field's name"),
            partKey("data", .scalar, "this text") {
                $1.secretText($0, .scalar, place: .body, captures: true).map { .data($0) }
            },
            partKey("json", .json, "this value as JSON") { JSONReader(reader: $1).jsonTemplate($0).map { .json($0) } },
            partKey("file", .path, "this file") { $1.pathText($0).map { .file($0) } },
            .text("filename", \.filename, default: "the file's own", "the name the server is told"),
            Key(
                "contentType", \.contentType, .text,
                default: "json: `application/json`; file: by its extension; data: none", "its type"
            ) { node, reader in
                reader.secretText(node, .text, place: .header).flatMap { reader.plain($0, node) }.map { .some($0) }
            },
        ],
        rules: [.exactlyOne(["data", "json", "file"])])

    private static func partKey(
        _ name: StaticString, _ shape: Shape, _ meaning: String,
        read: @escaping @Sendable (NodeID, Reader) -> RequestBody.Part.Content?
    ) -> Key<PartDraft> {
        Key(name, \.content, shape, default: "none", meaning) { read($0, $1).map { .some($0) } }
    }

    struct PartDraft: Blank, Sendable {
        var name: String?
        var content: RequestBody.Part.Content?
        var filename: String?
        var contentType: String?
        static var blank: PartDraft { PartDraft() }
    }
}
