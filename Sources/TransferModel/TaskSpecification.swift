/// The kind of a task: `data` keeps the answer in memory and shows it in the report, `download` writes it to a file,
/// `upload` sends a body.
package enum TaskType: String, CaseIterable, Sendable { case data, download, upload }

/// A task's number: its place in `Job.tasks`, which is that of the file after `forEach`, and in the report.
package struct TaskIndex: Hashable, Comparable, Sendable {
    /// The place, counted from 0.
    package let raw: UInt32
    package init(raw: UInt32) { self.raw = raw }
    /// Orders tasks as in the job.
    package static func < (left: TaskIndex, right: TaskIndex) -> Bool { left.raw < right.raw }
}

/// A session's number: its place in `Job.sessions`.
package struct SessionIndex: Hashable, Comparable, Sendable {
    /// The place, counted from 0.
    package let raw: UInt16
    package init(raw: UInt16) { self.raw = raw }
    /// Orders sessions as in the job.
    package static func < (left: SessionIndex, right: SessionIndex) -> Bool { left.raw < right.raw }
}

/// A group's number: its place in `Job.groups`.
package struct GroupIndex: Hashable, Comparable, Sendable {
    /// The place, counted from 0.
    package let raw: UInt16
    package init(raw: UInt16) { self.raw = raw }
    /// Orders groups as in the job.
    package static func < (left: GroupIndex, right: GroupIndex) -> Bool { left.raw < right.raw }
}

/// One task of a job. The keys that every task has are stored here; the others are in `options`, which tasks that set
/// nothing unusual share, so that a million tasks stay small.
package struct TaskSpecification: Sendable {
    /// The task's `id`, unique in the job.
    package var id: String
    /// Whether the task fetches data or a file, or sends a body.
    package var type: TaskType
    /// The session that runs the task.
    package var session: SessionIndex
    /// `url`, or the first of `urls`.
    package var location: Location
    /// Absolute, ending in `/` when it names a folder; `nil` unless a download, or the answer to an upload, goes to a file,
    /// or while it waits for a captured value (`TaskOptions.Values.awaitedDestination`).
    package var destination: String?
    /// `to: "-"`: the verified body is written to standard output, and `destination` is `nil`.
    package var toStandardOutput = false
    /// Tasks that must succeed first, each once: those of `needs`, and those whose captured values the task uses.
    package var needs: [TaskIndex] = []
    /// Line of the job file where the task begins, for annotations.
    package var line: UInt32
    /// The group that the task is published with; `nil` for none.
    package var group: GroupIndex?
    /// The keys that few tasks set.
    package var options: TaskOptions

    package init(
        id: String, type: TaskType, session: SessionIndex, location: Location, destination: String?, line: UInt32,
        options: TaskOptions
    ) {
        self.id = id
        self.type = type
        self.session = session
        self.location = location
        self.destination = destination
        self.line = line
        self.options = options
    }

    /// Whether the answer to an upload goes to a file, or to standard output.
    package var savesAnswer: Bool {
        type == .upload && (destination != nil || toStandardOutput || options.values.awaitedDestination != nil)
    }

    /// The HTTP method: the task's own, else POST with a body and GET without.
    package var effectiveMethod: String {
        options.values.method ?? (options.values.body == nil ? "GET" : "POST")
    }

    /// Returns where an attempt begins; `mirror` is the place among the task's `urls`, 0 for a task with one URL.
    package func location(mirror: Int) -> Location {
        options.values.mirrors.isEmpty ? location : options.values.mirrors[mirror]
    }

    /// Where a task's requests go: a known URL, or a text that waits for captured values.
    package enum Location: Hashable, Sendable {
        case url(ResourceURL)
        /// A text that becomes a URL once captured values are filled in; then the fields of `query` are added to it.
        case awaitingCapture(SecretText, query: [QueryField] = [])

        /// The URL, or `nil` while it waits for captured values.
        package var url: ResourceURL? { if case .url(let url) = self { url } else { nil } }

        /// A URL of the origin, which may be known before all of the URL is: where the text of the job reaches beyond the
        /// host and its port.
        package var originURL: ResourceURL? {
            switch self {
            case .url(let url): return url
            case .awaitingCapture(let text, _):
                guard case .literal(let start)? = text.pieces.first, let mark = start.firstRange(of: "://"),
                    let end = start[mark.upperBound...].firstIndex(where: { "/?#".contains($0) })
                else { return nil }
                return try? ResourceURL.parse(String(start[..<end]) + "/")
            }
        }

        /// The location for people, as far as it is known before anything is sent; secrets are masked.
        package var shown: String {
            switch self {
            case .url(let url): url.text
            case .awaitingCapture(let text, let query):
                query.reduce(text.redacted) { shown, field in
                    shown + (shown.contains("?") ? "&" : "?") + "\(field.name)=\(field.value.redacted)"
                }
            }
        }
    }
}

/// A field of `query` as the job writes it, not encoded yet.
package struct QueryField: Hashable, Sendable {
    /// The field's name.
    package let name: String
    /// The field's value.
    package let value: SecretText
    package init(name: String, value: SecretText) {
        self.name = name
        self.value = value
    }
}

/// The keys that few tasks set. Immutable and shared between tasks: to change one, change a copy of `values` and make
/// new options of it.
package final class TaskOptions: Sendable {
    /// The values of these keys.
    package let values: Values
    /// The options that these differ from in the file of the body alone; `nil` where there are none.
    private let first: TaskOptions?

    /// `other` are options that differ from these in the file of the body alone.
    package init(_ values: consuming Values, like other: TaskOptions? = nil) {
        self.values = values
        first = other?.kin
    }

    /// One object for all options that differ in the file of their body alone, for comparing them by identity.
    package var kin: TaskOptions { first ?? self }

    /// The values of the keys that few tasks set.
    package struct Values: Sendable {
        /// The task's `method`; `nil` is GET, or POST with a body.
        package var method: String?
        /// All headers that are sent: the session's, overridden by those of `defaults`, overridden by the task's own,
        /// without those that `null` removed. Nothing is to be added from the session.
        package var headers: [HeaderField] = []
        /// All of `urls` when there is more than one; else empty.
        package var mirrors: [TaskSpecification.Location] = []
        /// Names of groups that must be published first: `group.NAME` in `needs`.
        package var neededGroups: [String] = []
        /// On which ends of what it needs the task runs; `nil`: on success alone.
        package var when: NeedsCondition?
        /// Which failures are tolerated: they neither fail the run nor skip the tasks that need this one.
        package var allowFailure = AllowFailure.no
        /// From 0 to 1; tasks of higher priority begin first.
        package var priority = 0.5
        /// When the task may begin; nothing is sent before. `nil` for at once.
        package var earliestBegin: Moment?
        /// What the answer must be like to count.
        package var expect = Expectations()
        /// Values that are taken from the final answer, for other tasks.
        package var captures: [Capture] = []
        /// How the next page is found; `nil` for a task of one answer.
        package var next: NextPage?
        /// The keys that a session sets for its tasks, as they hold for this task.
        package var policies: TransferPolicies
        /// Limit on the task's body bytes a second; `nil` for none of its own.
        package var bandwidth: Bandwidth?
        /// Whether cookies are sent and kept for this task.
        package var cookies = true
        /// The URL whose site `cookies.accept: onlyFromMainDocumentDomain` compares with; `nil` where the job names
        /// none.
        package var mainDocument: ResourceURL?
        /// Whether the task waits from the start until it is resumed.
        package var suspended = false
        /// Where the checksum of the file comes from; `nil` where none is checked.
        package var checksum: ChecksumSource?
        /// The task's `existing`; `nil` where the job says nothing: a download is revalidated, an upload sent.
        package var ownExisting: ExistingPolicy?
        /// Which partial file the download may continue.
        package var resume = ResumePolicy.own
        /// Most ranges of the file that are fetched at a time.
        package var segments = 1
        /// Expected size in bytes, for the scheduler and the progress; `nil` where the job says none.
        package var sizeHint: Int64?
        /// Most bytes a body may have; `nil` is 16 MiB for a data task and no limit for a download.
        package var maximumSize: Int64?
        /// Whether a body whose end nothing proves is an error.
        package var requireLength = false
        /// Permissions of the file; `nil` is 0644 less umask.
        package var mode: UInt16?
        /// Whether the file gets the time of change that the server states.
        package var preserveTime = true
        /// What a download undoes of how its bytes are packed.
        package var decompress = Decompression.no
        /// Rules that are asked once the headers of the answer are there; the first that matches decides.
        package var onResponse: [ResponseRule] = []
        /// What the request carries; `nil` for no body.
        package var body: RequestBody?
        /// The body's `Content-Type`; `nil`: it follows from the kind of body. `none` sends none.
        package var contentType: SecretText?
        /// Whether an upload uses the IETF protocol for resumable uploads, where the server knows it.
        package var resumable = false
        /// A command that is run once the task has succeeded; `nil` for none.
        package var onFinish: [SecretText]?
        /// Free text that the report repeats; `nil` for none.
        package var description: String?
        /// Values that the report repeats.
        package var labels: [Job.Variable] = []
        /// Whether a part of the task waits for values that other tasks capture: `TaskSpecification.filled` fills them
        /// in.
        package var awaitsCaptures = false
        /// The destination of a task whose `to` holds captured values: an absolute path, known at its beginning.
        package var awaitedDestination: SecretText?
        /// The object that the download is written to; `nil` for one that becomes a file of this machine.
        package var object: ObjectPlace?
        /// Set for a template: the task transfers nothing itself, and other tasks take its place.
        package var template: TaskTemplate?
        /// Whether a `forEach` goes over what the task brings, which is kept for that.
        package var leavesRows = false

        package init(policies: TransferPolicies) { self.policies = policies }

        /// What a download does when its file is there already; `revalidate` if the job says nothing.
        package var existing: ExistingPolicy {
            get { ownExisting ?? .revalidate }
            set { ownExisting = newValue }
        }
    }
}

/// Which failures of a task are tolerated: none, any, or those with an answer of certain statuses.
package enum AllowFailure: Hashable, Sendable {
    case no
    case any
    case statuses(StatusSet)
}

/// What a download may continue instead of beginning at byte 0.
package enum ResumePolicy: Hashable, Sendable {
    /// Nothing: each attempt begins at byte 0.
    case no
    /// The partial file of an earlier attempt or run of the task.
    case own
    /// Also a half-done file that another program left under the final name.
    case adopt
}

/// `existing`: what happens when the destination is there already. `revalidate` asks whether it changed, `skip` keeps
/// it, `replace` transfers anew, `fail` fails the task.
package enum ExistingPolicy: String, CaseIterable, Sendable { case revalidate, skip, replace, fail }

/// A hash function for checksums; the raw value is its name in job files and reports.
package enum DigestAlgorithm: String, CaseIterable, Sendable {
    case sha256, sha512, sha1, md5, blake2b
    /// XXH3 of 128 bits, by which a report names a file of which nobody named a digest. It finds damage; anybody can
    /// make another file that has it.
    case xxh3

    /// The algorithms that a job, a list of checksums or a server may name.
    package static let allCases: [DigestAlgorithm] = [.sha256, .sha512, .sha1, .md5, .blake2b]
    /// Length of the digest in bytes.
    package var byteCount: Int {
        switch self {
        case .sha256: 32
        case .sha512, .blake2b: 64
        case .sha1: 20
        case .md5, .xxh3: 16
        }
    }
}

/// A digest and the algorithm that made it; printed as `sha256:2c26…`.
package struct Checksum: Hashable, Sendable, CustomStringConvertible {
    /// The hash function that made the digest.
    package let algorithm: DigestAlgorithm
    /// The digest, `algorithm.byteCount` bytes long.
    package let bytes: [UInt8]
    package init(algorithm: DigestAlgorithm, bytes: [UInt8]) {
        self.algorithm = algorithm
        self.bytes = bytes
    }
    package var description: String { "\(algorithm.rawValue):\(hex)" }
    /// The digest in hexadecimal digits.
    package var hex: String {
        String(unsafeUninitializedCapacity: bytes.count * 2) { text in
            for (index, byte) in bytes.enumerated() {
                text[index * 2] = Self.digit(byte >> 4)
                text[index * 2 + 1] = Self.digit(byte & 15)
            }
            return bytes.count * 2
        }
    }
    private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }
    /// The digest as one piece: an array would be hashed byte by byte.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(algorithm)
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

/// Where a download's expected checksum comes from.
package enum ChecksumSource: Hashable, Sendable {
    /// The checksum that the job file states.
    case literal(Checksum)
    /// A line of the checksum file that another task downloads.
    case task(TaskIndex, ListedChecksum)
    /// A line of the checksum file at a URL.
    case url(ResourceURL, ListedChecksum)
    /// A text with captured values; it becomes a literal once these are known.
    case awaited(SecretText)
}

/// The task's `expect`: what the answer must be like to count.
package struct Expectations: Sendable {
    /// The first bytes that a body must have: those of a known format, or literal ones.
    package enum Magic: Hashable, Sendable {
        case gzip, zip, xz, zstd, pdf, elf
        case bytes([UInt8])
    }
    /// A header of which one value must match a regular expression.
    package struct HeaderMatch: Hashable, Sendable {
        /// The header's name.
        package var name: String
        /// The regular expression (PCRE2).
        package var pattern: String
        package init(name: String, pattern: String) {
            self.name = name
            self.pattern = pattern
        }
    }
    /// A value that must stand at a JSON path of the body.
    package struct JSONMatch: Hashable, Sendable {
        /// The JSON path (RFC 9535).
        package var path: String
        /// The value that is expected there.
        package var value: JSONTemplate
        package init(path: String, value: JSONTemplate) {
            self.path = path
            self.value = value
        }
    }
    /// Statuses that count as success.
    package var status = StatusSet.success
    /// Required type without parameters, which may hold `*` as in `image/*`; `nil` for any.
    package var mimeType: String?
    /// Required length of the body in bytes; `nil` for any.
    package var size: Int64?
    /// Least length of the body in bytes; `nil` for any.
    package var minimumSize: Int64?
    /// Required beginning of the body; `nil` for any.
    package var magic: Magic?
    /// Whether a web page is refused: by the beginning of the body or, unless `mimeType` asks for it, by its type.
    package var notHTML = false
    /// Headers that must match.
    package var headers: [HeaderMatch] = []
    /// Text that the body must contain; `nil` for none.
    package var bodyContains: SecretText?
    /// Regular expression (PCRE2) that the body must match; `nil` for none.
    package var bodyMatches: String?
    /// Values that the body must hold as JSON.
    package var bodyJSON: [JSONMatch] = []
    package init() {}

    /// Whether they ask for nothing but success: any successful status, type, length, headers and body will do.
    package var asksNothing: Bool {
        status == .success && mimeType == nil && size == nil && minimumSize == nil && magic == nil && !notHTML
            && headers.isEmpty && bodyContains == nil && bodyMatches == nil && bodyJSON.isEmpty
    }
}

/// A value to take from a task's final answer, for other tasks.
package struct Capture: Sendable {
    /// The place of the answer that the value is taken from.
    package enum Source: Hashable, Sendable {
        /// The value of a header, or what a regular expression finds in it.
        case header(String, regex: String? = nil)
        /// The target of the link of this relation in the `Link` headers, resolved against the answer's URL.
        case link(String)
        /// The one value at a JSON path of the body.
        case json(String)
        /// All values at a JSON path of the body, as a list.
        case jsonList(String)
        /// What a regular expression finds in the body: its first group, or all of the match where it has none.
        case regex(String)
        /// The URL at a JSON path of the body, which begins with `$`, or that a regular expression finds there; resolved
        /// against the answer's URL.
        case url(String)
        /// Whether a counted page is not the last one; only for `next`.
        case more(PageCount.End)

        /// Whether a list is captured, which only `forEach` accepts.
        package var isList: Bool { if case .jsonList = self { true } else { false } }
    }
    /// The name under which other tasks use it: `${tasks.ID.NAME}`.
    package var name: String
    /// The place that it is taken from.
    package var source: Source
    /// Whether the value is masked wherever it would appear.
    package var isSecret = false
    /// The only hosts that the value may be sent to; `nil` for any.
    package var hosts: [HostPattern]?
    package init(name: String, source: Source) {
        self.name = name
        self.source = source
    }
}

/// A rule of `onResponse`, asked at the headers of the answer; it applies when everything that it names holds.
package struct ResponseRule: Sendable {
    /// What the rule does: go on, cancel the task, or write the body to a file.
    package enum Action: String, CaseIterable, Sendable { case allow, cancel, download }
    /// The answer's type, which may hold `*`; `nil` for any.
    package var mimeType: String?
    /// The answer's statuses; `nil` for any.
    package var status: StatusSet?
    /// The answer's announced length in bytes must exceed this; `nil` for any.
    package var largerThan: Int64?
    /// What to do with the answer.
    package var action: Action
    /// Absolute path of the file or, ending in `/`, the folder of a `download`; `nil` where the rule names none.
    package var to: String?
    package init(action: Action) { self.action = action }
}

/// The body of a request. Paths are absolute.
package indirect enum RequestBody: Sendable {
    case data(SecretText)
    case base64([UInt8])
    case json(JSONTemplate)
    case form([FormField])
    case file(SecretText)
    case stream(command: [SecretText], length: Int64?)
    case multipart([Part])

    /// Whether a command's output is the body: it is read once, from its beginning to its end.
    package var isStream: Bool { if case .stream = self { true } else { false } }

    /// Paths of the files that the body is made of, as far as these are known.
    package var plainFiles: [String] {
        switch self {
        case .file(let path): path.plain.map { [$0] } ?? []
        case .multipart(let parts):
            parts.compactMap { part in if case .file(let path) = part.content { path.plain } else { nil } }
        case .data, .base64, .json, .form, .stream: []
        }
    }

    /// Whether a file is the body or a part of it.
    package var readsFiles: Bool {
        switch self {
        case .file: true
        case .multipart(let parts): parts.contains { if case .file = $0.content { true } else { false } }
        case .data, .base64, .json, .form, .stream: false
        }
    }

    /// A field of a form.
    package struct FormField: Sendable {
        /// The field's name, not encoded yet.
        package var name: String
        /// The field's value, not encoded yet.
        package var value: SecretText
        package init(name: String, value: SecretText) {
            self.name = name
            self.value = value
        }
    }

    /// A part of a `multipart/form-data` body.
    package struct Part: Sendable {
        /// What the part carries: text, a JSON value or a file.
        package enum Content: Sendable {
            case data(SecretText)
            case json(JSONTemplate)
            case file(SecretText)
        }
        /// The name of the form's field.
        package var name: String
        /// What the part carries.
        package var content: Content
        /// The file name that the server is told; `nil`: the file's own.
        package var filename: String?
        /// The part's `Content-Type`; `nil`: it follows from the content.
        package var contentType: String?
        package init(name: String, content: Content) {
            self.name = name
            self.content = content
        }
    }
}

/// A JSON value whose strings may hold secrets or values that are not captured yet.
package indirect enum JSONTemplate: Hashable, Sendable {
    case null
    case boolean(Bool)
    case number(String)
    case string(SecretText)
    case list([JSONTemplate])
    case object([Member])

    /// A member of a JSON object.
    package struct Member: Hashable, Sendable {
        /// The member's name.
        package var name: String
        /// The member's value.
        package var value: JSONTemplate
        package init(name: String, value: JSONTemplate) {
            self.name = name
            self.value = value
        }
    }
}
