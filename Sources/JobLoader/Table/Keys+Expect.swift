import TransferModel
import YAMLTree

extension Expectations: Blank { static var blank: Expectations { Expectations() } }

extension Sections {
    static let expect = Section<Expectations>(
        "expect", in: "`expect`",
        """
        What an answer must be to count; all checked before anything is published, in this order: status, length, type and \
        headers, the first bytes, and for a download `checksum` and the digest that a server sends along (`Repr-Digest`, \
        `Content-Digest`, `Content-MD5`), then `body`.

        `magic` and `notHTML` speak of the bytes that are sent, and end the transfer at the first that does not fit. A body \
        begins like a web page when, within its first KiB, after a byte order mark, white space and an XML declaration, it \
        begins with `<!doctype html`, one of the tags `<html`, `<head`, `<body`, `<title`, `<meta`, `<script`, `<style` and \
        `<iframe`, or (not after an XML declaration) a comment; letter case is ignored.

        `file:` and `data:` sources have no status, and no header but the type that their name or URL gives them.
        """,
        keys: [
            .statuses("status", \.status, default: "2xx", "the HTTP status"),
            .mimeType(
                "mimeType", \.mimeType, default: "any",
                "the type without parameters, such as `application/json`; may hold `*`, as in `image/*`"),
            .size("size", \.size, default: "any", "the exact number of bytes"),
            .size("minimumSize", \.minimumSize, default: "none", "the least number of bytes"),
            Key(
                "magic", \.magic,
                .either([
                    .choice(["gzip", "zip", "xz", "zstd", "pdf", "elf"]),
                    .pattern("^([0-9A-Fa-f]{2})+$", words: "hex digits"),
                ]),
                default: "any", "how the body begins"
            ) { ExpectationReader(reader: $1).magic($0).map { .some($0) } },
            .boolean(
                "notHTML", \.notHTML, default: "false",
                "the body neither begins like a web page nor, unless `mimeType` asks for it, has the type of one"
            ),
            Key(
                "headers", over: \.headers, .map(.regex), default: "none",
                "header name → what one of its values must match"
            ) {
                ExpectationReader(reader: $2).headerMatches($1, into: &$0)
            },
            Key("body", over: \.self, .object("expectBody"), default: "any", "what must stand in the body") {
                expectBody.decode($1, into: &$0, $2)
            }.resetting { ($0.bodyContains, $0.bodyMatches, $0.bodyJSON) = (nil, nil, []) },
        ])

    static let expectBody = Section<Expectations>(
        "expectBody", in: "`body`", title: "`expect.body`",
        """
        Held against all of the body as text, unpacked, a download's before the file gets its name; every miss is named. The \
        text is what a byte order mark or the type's `charset` says (docs/answers.md); of a download at most 16 MiB.
        """,
        keys: [
            Key("contains", \.bodyContains, .text, default: "none", "a text that must be in it") {
                $1.secretText($0, captures: true).map { .some($0) }
            },
            Key("matches", \.bodyMatches, .regex, default: "none", "what it must match") {
                $1.regex($0).map { .some($0) }
            },
            Key("json", over: \.bodyJSON, .map(.json), default: "none", "JSON path → the value that must be there") {
                ExpectationReader(reader: $2).jsonMatches($1, into: &$0)
            },
        ])

    static let capture = Section<CaptureDraft>(
        "capture", in: "a capture", title: "`capture`",
        """
        A map of name → what to take from the final answer; other tasks use it as `${tasks.ID.NAME}` in `url`, `query`, \
        `headers`, `body`, `contentType`, `to`, `checksum` and `expect.body`, and need this one for it. What finds nothing \
        fails the task with `captureNotFound`. Bodies are read as `expect.body` reads them.
        """,
        keys: [
            Key(
                "header", \.header, .text, default: "none",
                "the value of this header; with `regex` what that finds in it"
            ) {
                HeaderReader(reader: $1).headerName($0).map { .some($0) }
            },
            .text(
                "link", \.link, default: "none",
                "the URL of the link of this relation (`next`), from the `Link` headers, resolved against the answer's own"
            ),
            Key("json", \.json, .jsonPath, default: "none", "the one value at this JSON path") {
                $1.jsonPath($0).map { .some($0) }
            },
            Key(
                "url", \.url, .text, default: "none",
                """
                the URL at this JSON path, which begins with `$`, or that this regular expression finds in the body; a \
                relative one is resolved against the answer's own
                """
            ) {
                CaptureReader(reader: $1).pathOrRegex($0).map { .some($0) }
            },
            .boolean(
                "all", \.all, default: "false",
                """
                with `json`: all values at the path, as a list for `forEach: { x: { captured: tasks.ID.NAME } }`; none are \
                a list, too. Texts, numbers, booleans and objects of at most 64 KiB each, at most 100,000 of them
                """),
            Key(
                "regex", \.regex, .regex, default: "none",
                "the first group of this expression in the body, or in `header`; all of its match where it has no group"
            ) {
                $1.regex($0).map { .some($0) }
            },
            .boolean("secret", \.secret, default: "false", "it is masked wherever it would appear"),
            .hosts("hosts", \.hosts, default: "any", "the only hosts it may be sent to; with `secret: true`"),
        ],
        rules: [
            .atMostOne(["header", "link", "json", "url"]), .atMostOne(["link", "json", "url", "regex"]),
            .always(.needsOne(of: ["header", "link", "json", "url", "regex"])),
            .when(.has("hosts"), .needs(["secret"])),
            .when(.isTrue("all"), .needs(["json"])),
            .when(.has("hosts"), .isNotFalse("secret")),
        ])

    struct CaptureDraft: Blank, Sendable {
        var header: String?
        var link: String?
        var json: String?
        var url: String?
        var all = false
        var regex: String?
        var secret = false
        var hosts: [HostPattern]?
        static var blank: CaptureDraft { CaptureDraft() }

        var source: Capture.Source? {
            if let header { return .header(header, regex: regex) }
            return link.map { .link($0) } ?? json.map { all ? .jsonList($0) : .json($0) } ?? url.map { .url($0) }
                ?? regex.map { .regex($0) }
        }
    }

    static let onResponse = Section<ResponseDraft>(
        "onResponse", in: "a rule of `onResponse`", title: "`onResponse`",
        """
        Rules asked when the headers of what would be the result are there, before its body and before `expect`; the first \
        that matches decides, all that it names must hold. `cancel` ends the task as cancelled; `download` writes the body \
        to `to`, under the rules of any download but `resume`, of a download task too. Then `expect` is held against the \
        answer as ever. `file:` and `data:` sources have a type and a length, and no status.
        """,
        keys: [
            .mimeType("mimeType", \.mimeType, default: "any", "the answer's type; may hold `*`"),
            Key("status", \.status, .statuses, default: "any", "the answer's status") {
                $1.statuses($0).map { .some($0) }
            },
            .size("largerThan", \.largerThan, default: "any", "the answer's length, where it says one"),
            .choice("do", \.action, default: "required", "`download` turns the running data task into a download"),
            .path(
                "to", \.to, default: "none",
                "for `do: download`: a file, or a folder ending in `/`; a symlink to a file means that file, as in a task's `to`"
            ),
        ],
        rules: [
            .when(.isOne("do", of: ["download"]), .needs(["to"])),
            .when(.isOne("do", of: ["allow", "cancel"]), .excludes(["to"])),
            .always(.differs("to", from: ["-"])),
        ])

    struct ResponseDraft: Blank, Sendable {
        var mimeType: String?
        var status: StatusSet?
        var largerThan: Int64?
        var action = ResponseRule.Action.allow
        var to: String?
        static var blank: ResponseDraft { ResponseDraft() }
    }

    static let checksum = Section<ChecksumDraft>(
        "checksum", in: "`checksum`",
        """
        A checksum file: GNU lines (`HASH  NAME`) and BSD lines (`SHA256 (NAME) = HASH`), with more or fewer blanks too, \
        others being passed over, lines of Debian's release files (` HASH SIZE NAME`; `entry` is the path as it stands \
        there), or one bare hash. It is read when the attempt begins; one at a URL is fetched once for each session of the run, at most 16 MiB, with the task's headers as far as they may go there. With `signature` it counts only once that is found right. The line meant is the \
        one with just this name, else the one whose path ends in it; none, or several with different hashes, fail the task \
        with `checksumNotFound`.
        """,
        keys: [
            Key(
                "from", \.from, .text, default: "required",
                "the task that downloads it, which `needs` must name, or its URL"
            ) { node, reader in
                // Read as a `word`, so that captured values are refused: a place that a server names in mid-run must
                // not be read.
                reader.text(node, .text, place: .word).map { .some(ChecksumDraft.From(text: $0, node: node)) }
            },
            .optionalChoice("algorithm", \.algorithm, default: "from the hash's length", "how the hash was made"),
            .text(
                "entry", \.entry, default: "the last component of the task's URL",
                "which file of it is meant; where several lines end in that name, the one whose path fits the URL best"
            ),
            Key(
                "signature", \.signature, .object("signature"), default: "none",
                "the signature that the checksum file must have before it is used"
            ) { node, reader in
                guard reader.tree.kind(node) == .mapping else {
                    return reader.wrongType(
                        node, .object("signature"), hint: "write `signature: { key: minisign.pub }`")
                }
                var draft = SignatureDraft.blank
                let known = reader.problems.count
                draft.node = node
                signature.decode(node, into: &draft, reader)
                return reader.problems.count == known ? .some(draft) : nil
            },
        ])

    static let signature = Section<SignatureDraft>(
        "signature", in: "`signature`", title: "`checksum.signature`",
        """
        A minisign signature of the checksum file, of either form (plain and prehashed). It is asked for after the checksum \
        file, with the same headers, and once for all tasks that name both. Until its key, the signature of the file and \
        that of its trusted comment are found right, nothing is fetched that the file lists: a signature that is missing \
        fails the task with the server's answer, one of another key, of another file or damaged with `signatureMismatch`. \
        It says who wrote the list, not that no newer one exists.
        """,
        keys: [
            Key(
                "key", \.key, .text, default: "required",
                "the public key, 56 characters that begin with `RW`, or a path to the `.pub` file that holds it"
            ) { node, reader in ChecksumReader(reader: reader).minisignKey(node).map { .some($0) } },
            Key(
                "url", \.url, .url, default: "the checksum file's URL and `.minisig`",
                "where the signature is; at most 16 KiB are read"
            ) { node, reader in reader.url(node).map { .some($0) } },
        ])

    struct SignatureDraft: Blank, Sendable {
        var key: MinisignKey?
        var url: ResourceURL?
        var node = NodeID(raw: 0)
        static var blank: SignatureDraft { SignatureDraft() }
    }

    struct ChecksumDraft: Blank, Sendable {
        struct From: Sendable {
            var text: String
            var node: NodeID
        }
        var from: From?
        var algorithm: DigestAlgorithm?
        var entry: String?
        var signature: SignatureDraft?
        static var blank: ChecksumDraft { ChecksumDraft() }
    }
}
