import TransferModel
import YAMLTree

extension Sections {
    /// The keys of `TaskHead`, in the order in which they are read: `to` after `group`.
    static let taskHead: [Key<TaskHead>] = [
        Key(
            "id", \.id, .pattern(TaskName.pattern, words: "letters, digits, `.`, `_` and `-`"), default: "required",
            "unique; with `forEach`, `${name.index}` always makes it so"
        ) {
            TaskKeyReader(reader: $1).taskID($0).map { .some($0) }
        },
        .optionalChoice(
            "type", \.type, default: "`download` with `to`, `upload` with `body`, else `data`",
            "what kind of task it is"),
        Key(
            "session", \.session, .text, default: "the only session, or the one named `default`",
            "the session that runs it"
        ) {
            $1.text($0).map { .some($0) }
        },
        Key(
            "url", \.location, .url, default: "this or `urls`",
            "what to fetch, or where to send; spaces and non-ASCII are encoded, never twice"
        ) {
            TaskKeyReader(reader: $1).location($0).map { .some($0) }
        },
        Key(
            "urls", \.mirrors, .list(.url), default: "this or `url`",
            "the same resource at several places, tried as written, those that failed lately last; any failure at one "
                + "goes to the next at once"
        ) {
            TaskKeyReader(reader: $1).locations($0)
        },
        Key(
            "query", over: \.query, .map(.either([.scalar, .list(.scalar)])), default: "none",
            "added to the URL, encoded; a list gives several of one name"
        ) {
            TaskKeyReader(reader: $2).query($1, into: &$0)
        },
        Key(
            "needs", \.needs, .list(.text), default: "none",
            "ids of tasks that must succeed first, patterns of them (`debs-*`), or `group.NAME`; else this one is skipped. "
                + "`[\"*\"]`: all other tasks but those that have a `when`"
        ) { TaskKeyReader(reader: $1).needs($0) },
        Key("forEach", over: \.self, .map(forEachShape), default: "none", "makes one task of each value; see `forEach`")
        { _, _, _ in },
        Key(
            "group", \.group, .text, default: "none",
            "the group it is published with; its `to` is then relative to the group's folder"
        ) {
            $1.text($0).map { .some($0) }
        },
        Key(
            "to", over: \.self, .path, default: "download: required",
            """
            of an upload (which then says `type: upload`, and writes it itself) where the answer's body goes, under a \
            download's rules; a file, a folder ending in `/`, `"-"` for standard output, or `s3://bucket/key`: an object that is put into a store \
            once the file is here and verified, signed with the `awsSigV4` credential (docs/downloads.md). In a folder the name comes from the server or the \
            URL, made safe; a URL's stays percent-encoded where it is no UTF-8. Such a name never replaces a file that this \
            task did not bring itself (`nameTaken`), and with `existing: replace` still none that the job reads, runs or \
            writes elsewhere. Standard output gets whole, verified bodies, \
            one after the other in the order of the job (docs/pipes.md). A symlink that the job names stays, and the file that it leads to is \
            replaced, or made in a folder that is there; `file.path` tells that file's. What leads to a device, pipe, socket \
            or folder is refused before anything is sent, and so is, at whatever place of the path, a link of another user, unless \
            nobody but its owner and root may write in its folder and that owner is the user or root. \
            A name from a server or a URL, or a path with captured values, is never followed: a link of that name is itself \
            replaced
            """
        ) {
            DestinationReader(reader: $2).destination($1, into: &$0)
        }.only(for: [.download, .upload]),
    ]

    static let forEachShape = Shape.either([
        .list(.json), .pattern("^-?[0-9]+\\.\\.-?[0-9]+$", words: "a range such as `1..20`"), .object("forEachSource"),
    ])

    static let taskOptions: [Key<TaskOptions.Values>] =
        taskRequest + taskRules + taskFiles + taskEcho
        + policies.map { $0.lifted(\TaskOptions.Values.policies) }

    private static let taskRequest: [Key<TaskOptions.Values>] = [
        Key(
            "method", \.method, .pattern(SchemaWords.token, words: "an HTTP method"),
            default: "GET (POST with a `body`)", "the HTTP method"
        ) {
            TaskKeyReader(reader: $1).method($0).map { .some($0) }
        },
        Key(
            "headers", over: \.headers, .map(.headerValue), default: "none",
            "sent with each request; a list gives several lines of one name, `null` takes a name away"
        ) {
            HeaderReader(reader: $2).headers($1, into: &$0)
        },
        Key("body", \.body, .object("body"), default: "upload: required", "what the request carries") { node, reader in
            guard reader.tree.kind(node) == .mapping else { return reader.wrongType(node, .object("body")) }
            var draft = BodyDraft()
            body.decode(node, into: &draft, reader)
            return draft.body.map { .some($0) }
        },
        Key(
            "contentType", \.contentType, .text, default: "from the kind of body",
            "the body's `Content-Type`, before one that the session's or the defaults' `headers` say; `none` sends none"
        ) {
            $1.secretText($0, .text, place: .header, captures: true).map { .some($0) }
        },
        .boolean(
            "resumable", \.resumable, default: "false",
            "the IETF resumable upload protocol, when the server speaks it: what breaks off goes on where it was, of a file in "
                + "a `default` session in a later run too"
        )
        .only(for: .upload),
        .boolean(
            "cookies", \.cookies, default: "true", "`false`: no cookie is sent or kept for this task"),
        Key(
            "mainDocument", \.mainDocument, .url, default: "none",
            "the URL that `onlyFromMainDocumentDomain` compares with"
        ) {
            $1.url($0).map { .some($0) }
        },
    ]

    private static let taskRules: [Key<TaskOptions.Values>] = [
        .optionalChoice(
            "when", \.when, default: "succeeded",
            """
            on what became of all that it needs the task runs: `succeeded`; `failed`, when at least one did not succeed; \
            `finished`, in any case. One whose `when` is not met is skipped without harm. With `failed` and `finished` it runs \
            also after `failFast` cancelled the rest, not after a signal. `${run.outcome}`, `${run.failed}`, `${run.error}`, \
            `${tasks.ID.outcome}` and `${tasks.ID.error}` stand in tasks with a `when`
            """),
        Key(
            "allowFailure", over: \.allowFailure, .either([.boolean, .object("allowFailure")]), default: "false",
            "such a failure is `tolerated`: it neither fails the run nor skips what needs this task"
        ) {
            TaskKeyReader(reader: $2).allowFailure($1, into: &$0)
        },
        Key(
            "priority", \.priority, .either([.number(0...1), .choice(["low", "default", "high"])]), default: "0.5",
            "0…1, or `low` (0.25), `default` (0.5), `high` (0.75)"
        ) {
            TaskKeyReader(reader: $1).priority($0)
        },
        Key(
            "next", over: \.next, .object("next"), default: "none",
            """
            further pages: where an answer names the URL of the next one, which is resolved against its own, or holds a cursor, \
            or a parameter that counts. Each is a request of the same task, and `${page}` in `to` is its number, from 1. Captures are lists over all pages
            """
        ) {
            NextPageReader(reader: $2).nextPage($1, into: &$0)
        }.only(for: [.data, .download]),
        Key("earliestBegin", \.earliestBegin, .moment, default: "none", "nothing is sent before") {
            TimeReader(reader: $1).moment($0).map { .some($0) }
        },
        Key("expect", \.expect, section: expect, default: "{ status: 2xx }", "what an answer must be to count"),
        Key(
            "capture", over: \.captures, .map(.object("capture")), default: "none",
            "name → what to take from the answer; other tasks use it as `${tasks.ID.NAME}`"
        ) {
            CaptureReader(reader: $2).captures($1, into: &$0)
        },
        .boolean(
            "suspended", \.suspended, default: "false", "starts suspended: nothing is sent until it is resumed"),
        .bandwidth(
            "bandwidth", \.bandwidth,
            "bytes a second for this task, always or by time of day; it then uses HTTP/1.1"),
        Key(
            "onResponse", \.onResponse, .list(.object("onResponse")), default: "allow",
            "rules asked when the headers are there"
        ) {
            ExpectationReader(reader: $1).responseRules($0)
        }.only(for: [.data, .download]),
    ]

    private static let taskFiles: [Key<TaskOptions.Values>] = [
        Key(
            "checksum", \.checksum, .either([checksumShape, .object("checksum")]), default: "none",
            "of the bytes written to `to`"
        ) { ChecksumReader(reader: $1).checksum($0).map { .some($0) } }.only(for: .download),
        .optionalChoice(
            "existing", \.ownExisting, default: "revalidate, upload `replace`",
            """
            what to do when `to` is there: ask whether it changed, keep it (but fail if it misses a `checksum`), replace it, or \
            fail. Where no run has kept anything of the file, it is asked about by its own time, if that can be the server's, \
            and stays when the server's date and length are the file's. Of an upload by PUT: `skip` asks by HEAD first, and sends only what is not there (404, 410); \
            `revalidate`, of a `body: { file: … }`, sends nothing when the session sent this file there before, and a HEAD says that the \
            server still has it
            """
        )
        .only(for: [.download, .upload]),
        Key(
            "resume", \.resume, .either([.boolean, .choice(["adopt"])]), default: "true",
            """
            continue a half-done transfer, of an earlier attempt or (from 64 KiB on, in a `default` session) an earlier run. \
            `adopt`: also what another program left under the final name, over http and https, when the server's file is \
            longer: the rest is asked for by a range, and all of it is held against `checksum`, or the digest that the server \
            sends; without either the file is fetched whole, and `startedOver` in the report says so. With `decompress` each \
            attempt begins anew
            """
        ) {
            TaskKeyReader(reader: $1).resumption($0)
        }
        .only(for: .download),
        .integer(
            "segments", \.segments, 1...64, default: "1",
            "parallel ranges of one large file: up to so many, each of at least 1 MiB, as far as nobody else needs the "
                + "connections and the server proves that they are of one version"
        )
        .only(for: .download),
        .size("sizeHint", \.sizeHint, default: "none", "for the scheduler and the progress").only(for: [
            .data, .download,
        ]),
        .size(
            "maximumSize", \.maximumSize, default: "data: 16MiB",
            "a longer body fails `dataLengthExceedsMaximum` as soon as it is known; chunk extensions and trailers count beyond the body's own length and 1 MiB"
        )
        .only(for: [.data, .download]),
        .boolean("requireLength", \.requireLength, default: "false", "a body whose end nothing proves is an error")
            .only(for: [.data, .download]),
        Key("mode", \.mode, .fileMode, default: "0644 less umask", "the file's mode") {
            $1.fileMode($0).map { .some($0) }
        }
        .only(for: .download),
        .boolean(
            "preserveTime", \.preserveTime, default: "true", "give the file the time the server says it was changed"
        )
        .only(for: .download),
        Key(
            "decompress", \.decompress, .either([.boolean, .choice(["file"])]), default: "false",
            """
            ask for gzip, br or zstd and write what the body unpacks to; `checksum`, sizes and `file.bytes` speak of \
            that. With `true` only what `Content-Encoding` names is undone, up to four codings (`deflate` too): a `.gz` file \
            that is sent as a file stays one. `file` then unpacks the file itself too, once, where it begins as gzip, zstd or \
            xz does; any other stays as it is, and so does the name. A list of \
            `checksum: { from }` must speak of the unpacked file
            """
        ) {
            TaskKeyReader(reader: $1).decompression($0)
        }
        .only(for: .download),
    ]

    private static let taskEcho: [Key<TaskOptions.Values>] = [
        .command(
            "onFinish", \.onFinish, default: "none",
            """
            a command (a list of words, no shell, at most 10 minutes, in the job's folder) run once the task's file is in \
            place or its answer whole, not after a failure; at most four at a time. `TRANSFER_RUN_TASK_ID`, `…_URL`, \
            `…_PATH`, `…_CHECKSUM`, `…_CHANGED` and `…_OUTCOME` are set. Its failure fails the run, not the file
            """),
        .text("description", \.description, default: "none", "free text, echoed in the report"),
        Key("labels", over: \.labels, .map(.scalar), default: "none", "a map, echoed in the report") {
            TaskKeyReader(reader: $2).labels($1, into: &$0)
        },
    ]

    static let checksumShape = Shape.pattern(
        "^(sha256:[0-9A-Fa-f]{64}|(sha512|blake2b):[0-9A-Fa-f]{128}|sha1:[0-9A-Fa-f]{40}|md5:[0-9A-Fa-f]{32})$",
        words: "a checksum such as `sha256:2c26…`")

    static let allowFailure = Section<FailureDraft>(
        "allowFailure", in: "`allowFailure`",
        keys: [
            Key("status", \.statuses, .statuses, default: "required", "only an answer of one of these is tolerated") {
                $1.statuses($0).map { .some($0) }
            }
        ])

    struct FailureDraft: Blank, Sendable {
        var statuses: StatusSet?
        static var blank: FailureDraft { FailureDraft() }
    }
}
