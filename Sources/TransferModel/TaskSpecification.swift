package enum TaskType: String, CaseIterable, Sendable { case data, download, upload }

/// A task's number: its place in the file after `forEach`, and its place in the report.
package struct TaskIndex: Hashable, Comparable, Sendable {
    package let raw: UInt32
    package init(raw: UInt32) { self.raw = raw }
    package static func < (left: TaskIndex, right: TaskIndex) -> Bool { left.raw < right.raw }
}

/// A session's number: its place in `Job.sessions`.
package struct SessionIndex: Hashable, Comparable, Sendable {
    package let raw: UInt16
    package init(raw: UInt16) { self.raw = raw }
    package static func < (left: SessionIndex, right: SessionIndex) -> Bool { left.raw < right.raw }
}

/// A group's number: its place in `Job.groups`.
package struct GroupIndex: Hashable, Comparable, Sendable {
    package let raw: UInt16
    package init(raw: UInt16) { self.raw = raw }
    package static func < (left: GroupIndex, right: GroupIndex) -> Bool { left.raw < right.raw }
}

/// One task as its job says. The few keys that every task has stand here; the others in `options`, which tasks
/// that say nothing unusual share, so that a million tasks stay small.
package struct TaskSpecification: Sendable {
    package var id: String
    package var type: TaskType
    package var session: SessionIndex
    /// `url`, or the first of `urls`.
    package var location: Location
    /// Absolute, ending in `/` when it names a folder; `nil` unless it is a download to a file, or while it waits for a
    /// captured value (`TaskOptions.Values.awaitedDestination`).
    package var destination: String?
    /// `to: "-"`: the verified body is written to standard output, and `destination` is `nil`.
    package var toStandardOutput = false
    /// What `needs` and captured values come to, in task numbers, each once.
    package var needs: [TaskIndex] = []
    /// Where the task begins in the job file, for annotations.
    package var line: UInt32
    /// The group it is published with.
    package var group: GroupIndex?
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

    /// The method when the task names none: POST with a body, else GET.
    package var effectiveMethod: String {
        options.values.method ?? (options.values.body == nil ? "GET" : "POST")
    }

    /// Where an attempt begins; `mirror` is the place among its `urls`, 0 for a task that has one URL.
    package func location(mirror: Int) -> Location {
        options.values.mirrors.isEmpty ? location : options.values.mirrors[mirror]
    }

    /// A URL that is known, or one that waits for a captured value.
    package enum Location: Hashable, Sendable {
        case url(ResourceURL)
        /// The query's fields are added once the text is a URL.
        case awaitingCapture(SecretText, query: [QueryField] = [])

        package var url: ResourceURL? { if case .url(let url) = self { url } else { nil } }

        /// As far as it is known before anything is sent.
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

/// A field of `query`, as the job says it: nothing in it is encoded yet.
package struct QueryField: Hashable, Sendable {
    package let name: String
    package let value: SecretText
    package init(name: String, value: SecretText) {
        self.name = name
        self.value = value
    }
}

/// The keys that few tasks set. Immutable and shared: change a copy of `values` and make a new one.
package final class TaskOptions: Sendable {
    package let values: Values
    private let first: TaskOptions?

    /// `other` differs in nothing but the file of its body.
    package init(_ values: consuming Values, like other: TaskOptions? = nil) {
        self.values = values
        first = other?.kin
    }

    /// The same for all that differ in nothing but the file of their body.
    package var kin: TaskOptions { first ?? self }

    package struct Values: Sendable {
        /// `nil`: GET, or POST with a body.
        package var method: String?
        /// All that is sent: the session's, over them those of `defaults`, over them the task's own, with those left out
        /// that `null` took away. Nothing is to be added from the session.
        package var headers: [HeaderField] = []
        /// All of `urls` when there is more than one.
        package var mirrors: [TaskSpecification.Location] = []
        /// `group.NAME` in `needs`.
        package var neededGroups: [String] = []
        package var allowFailure = AllowFailure.no
        package var priority = 0.5
        package var earliestBegin: Moment?
        package var expect = Expectations()
        package var captures: [Capture] = []
        package var policies: TransferPolicies
        package var bandwidth: Bandwidth?
        package var cookies = true
        package var mainDocument: ResourceURL?
        package var suspended = false
        package var checksum: ChecksumSource?
        /// As the job says it; `nil`: a download is revalidated, an upload sent.
        package var ownExisting: ExistingPolicy?
        package var resume = ResumePolicy.own
        package var segments = 1
        package var sizeHint: Int64?
        /// `nil` is 16 MiB for a data task and none for a download.
        package var maximumSize: Int64?
        package var requireLength = false
        /// `nil` is 0644 less umask.
        package var mode: UInt16?
        package var preserveTime = true
        package var decompress = Decompression.no
        package var onResponse: [ResponseRule] = []
        package var body: RequestBody?
        package var contentType: SecretText?
        package var resumable = false
        package var description: String?
        package var labels: [Job.Variable] = []
        /// Something of the task waits for what others capture: `TaskSpecification.filled` makes it whole.
        package var awaitsCaptures = false
        /// An absolute path with captured values in it, after its beginning.
        package var awaitedDestination: SecretText?
        /// The task is a template: it transfers nothing itself, and other tasks take its place.
        package var template: TaskTemplate?

        package init(policies: TransferPolicies) { self.policies = policies }

        /// Of a download.
        package var existing: ExistingPolicy {
            get { ownExisting ?? .revalidate }
            set { ownExisting = newValue }
        }
    }
}

package enum AllowFailure: Hashable, Sendable {
    case no
    case any
    case statuses(StatusSet)
}

/// What a download may go on with instead of beginning at 0.
package enum ResumePolicy: Hashable, Sendable {
    /// Nothing.
    case no
    /// What an earlier attempt or run of the task left.
    case own
    /// Also a file that another program left half-done under the final name.
    case adopt
}

package enum ExistingPolicy: String, CaseIterable, Sendable { case revalidate, skip, replace, fail }

package enum DigestAlgorithm: String, CaseIterable, Sendable {
    case sha256, sha512, sha1, md5, blake2b
    /// Length of the digest in bytes.
    package var byteCount: Int {
        switch self {
        case .sha256: 32
        case .sha512, .blake2b: 64
        case .sha1: 20
        case .md5: 16
        }
    }
}

/// A digest and how it was made; printed as `sha256:2c26…`.
package struct Checksum: Hashable, Sendable, CustomStringConvertible {
    package let algorithm: DigestAlgorithm
    package let bytes: [UInt8]
    package init(algorithm: DigestAlgorithm, bytes: [UInt8]) {
        self.algorithm = algorithm
        self.bytes = bytes
    }
    package var description: String {
        let digits = Array("0123456789abcdef".utf8)
        var text = Array(algorithm.rawValue.utf8) + [UInt8(ascii: ":")]
        for byte in bytes { text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
        return String(decoding: text, as: UTF8.self)
    }
}

package enum ChecksumSource: Hashable, Sendable {
    case literal(Checksum)
    /// From a checksum file that another task downloads, or that lies at a URL.
    case task(TaskIndex, algorithm: DigestAlgorithm?, entry: String?)
    case url(ResourceURL, algorithm: DigestAlgorithm?, entry: String?)
    /// Written with captured values: a literal once these are known.
    case awaited(SecretText)
}

package struct Expectations: Sendable {
    package enum Magic: Hashable, Sendable {
        case gzip, zip, xz, zstd, pdf, elf
        case bytes([UInt8])
    }
    package struct HeaderMatch: Hashable, Sendable {
        package var name: String
        package var pattern: String
        package init(name: String, pattern: String) {
            self.name = name
            self.pattern = pattern
        }
    }
    package struct JSONMatch: Hashable, Sendable {
        package var path: String
        package var value: JSONTemplate
        package init(path: String, value: JSONTemplate) {
            self.path = path
            self.value = value
        }
    }
    package var status = StatusSet.success
    /// May hold `*`, as in `image/*`.
    package var mimeType: String?
    package var size: Int64?
    package var minimumSize: Int64?
    package var magic: Magic?
    package var notHTML = false
    package var headers: [HeaderMatch] = []
    package var bodyContains: SecretText?
    package var bodyMatches: String?
    package var bodyJSON: [JSONMatch] = []
    package init() {}
}

package struct Capture: Sendable {
    package enum Source: Hashable, Sendable {
        /// Its value, or what a regular expression finds in it.
        case header(String, regex: String? = nil)
        /// The target of a link of this relation, resolved.
        case link(String)
        case json(String)
        /// All values at a JSON path, as a list.
        case jsonList(String)
        case regex(String)

        /// Whether a list is captured, which only `forEach` takes.
        package var isList: Bool { if case .jsonList = self { true } else { false } }
    }
    package var name: String
    package var source: Source
    package var isSecret = false
    package var hosts: [HostPattern]?
    package init(name: String, source: Source) {
        self.name = name
        self.source = source
    }
}

package struct ResponseRule: Sendable {
    package enum Action: String, CaseIterable, Sendable { case allow, cancel, download }
    package var mimeType: String?
    package var status: StatusSet?
    package var largerThan: Int64?
    package var action: Action
    package var to: String?
    package init(action: Action) { self.action = action }
}

/// What a request carries. Paths are absolute.
package indirect enum RequestBody: Sendable {
    case data(SecretText)
    case base64([UInt8])
    case json(JSONTemplate)
    case form([FormField])
    case file(SecretText)
    case stream(command: [SecretText], length: Int64?)
    case multipart([Part])

    /// What can be read once and no further.
    package var isStream: Bool { if case .stream = self { true } else { false } }

    /// The files that it is made of, as far as their paths are known.
    package var plainFiles: [String] {
        switch self {
        case .file(let path): path.plain.map { [$0] } ?? []
        case .multipart(let parts):
            parts.compactMap { part in if case .file(let path) = part.content { path.plain } else { nil } }
        case .data, .base64, .json, .form, .stream: []
        }
    }

    package var readsFiles: Bool {
        switch self {
        case .file: true
        case .multipart(let parts): parts.contains { if case .file = $0.content { true } else { false } }
        case .data, .base64, .json, .form, .stream: false
        }
    }

    package struct FormField: Sendable {
        package var name: String
        package var value: SecretText
        package init(name: String, value: SecretText) {
            self.name = name
            self.value = value
        }
    }

    package struct Part: Sendable {
        package enum Content: Sendable {
            case data(SecretText)
            case json(JSONTemplate)
            case file(SecretText)
        }
        package var name: String
        package var content: Content
        package var filename: String?
        package var contentType: String?
        package init(name: String, content: Content) {
            self.name = name
            self.content = content
        }
    }
}

/// A JSON value whose strings may hold secrets or values still to come.
package indirect enum JSONTemplate: Hashable, Sendable {
    case null
    case boolean(Bool)
    case number(String)
    case string(SecretText)
    case list([JSONTemplate])
    case object([Member])

    package struct Member: Hashable, Sendable {
        package var name: String
        package var value: JSONTemplate
        package init(name: String, value: JSONTemplate) {
            self.name = name
            self.value = value
        }
    }
}
