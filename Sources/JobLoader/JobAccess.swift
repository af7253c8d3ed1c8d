package import TransferModel

/// What a job may do besides moving bytes between servers and its own folder, for people who want to know that before
/// they run a job that they did not write.
package struct JobAccess: Sendable {
    /// The kinds of access.
    package enum Kind: String, CaseIterable, Sendable {
        /// A program that the job runs.
        case command
        /// A file outside the job's folder that the job reads or writes.
        case read, write
        /// A folder in which files are removed if no member of its group names them, wherever the folder is.
        case remove
        /// A variable of the environment or a secret that the job uses.
        case environment, secret
        /// A key whose signature the job believes.
        case key
        /// A Unix socket, at which a service of this machine listens.
        case socket
        /// A background session, which a process goes on with when the command has ended.
        case background
        /// A server or proxy that the job sends requests to.
        case host
    }

    /// One thing that the job may do, and where the job says so.
    package struct Entry: Hashable, Sendable {
        /// Kind of the access.
        package let kind: Kind
        /// The command's words, the path, the name or the host; never contains a secret.
        package let what: String
        /// Line of the job file that allows it, from 1.
        package let line: Int32
        /// The part of the job that it belongs to: ``task `a` ``, ``session `main` ``, `the job`.
        package let owner: String
        /// Why it is refused; `nil` where nothing refuses it.
        package let refusal: AccessRefusal?
    }

    /// The entries in the order in which they were read, each thing once for each line; at most `limit` of one kind.
    package private(set) var entries: [Entry] = []
    /// Number of uses of a kind that came after `limit` and are not listed.
    package private(set) var unlisted: [Kind: Int] = [:]
    /// Whether a redirect may lead a task to hosts that are not listed.
    package var mayBeRedirected = false
    /// Ports of the hosts and proxies that the job names.
    package private(set) var ports: Set<UInt16> = []
    /// Whether a server chooses further ports, as those of FTP do for each file.
    package private(set) var needsAnyPort = false
    /// What an operator's policy changed in the job.
    package var notes: [PolicyNote] = []
    /// What the policy refuses beside accesses.
    package private(set) var refused: [Refused] = []
    /// Names of the secrets that the file of `--secrets-file` holds, whether or not the job uses them.
    package var secretsInFile: Set<String> = []

    /// Largest number of entries of one kind.
    package static let limit = 10_000

    /// Something of the job that a policy refuses.
    package struct Refused: Hashable, Sendable {
        /// Line of the job file, from 1.
        package let line: Int32
        /// Why.
        package let refusal: AccessRefusal
    }

    private struct Place: Hashable {
        let kind: Kind
        let what: String
        let line: Int32
    }
    private var seen: Set<Place> = []
    private var counts: [Kind: Int] = [:]

    package init() {}

    mutating func add(
        _ kind: Kind, _ what: String, line: Int32, owner: String, refusal: AccessRefusal? = nil
    ) {
        // A host is listed once: which of many tasks use it is seldom the question.
        let place = Place(kind: kind, what: what, line: kind == .host ? 0 : line)
        guard counts[kind, default: 0] < Self.limit else {
            if !seen.contains(place) { unlisted[kind, default: 0] += 1 }
            return
        }
        guard seen.insert(place).inserted else { return }
        counts[kind, default: 0] += 1
        entries.append(Entry(kind: kind, what: what, line: line, owner: owner, refusal: refusal))
    }

    /// Notes what the policy refuses and what is no access by itself.
    mutating func add(refused refusal: AccessRefusal, line: Int32) {
        refused.append(Refused(line: line, refusal: refusal))
    }

    /// Notes where connections go.
    mutating func connects(to port: UInt16, byFTP: Bool = false) {
        ports.insert(port)
        if byFTP { needsAnyPort = true }
    }

    /// Masks values that belong to these names: a command may hold a signed URL.
    mutating func mask(_ names: CredentialNames) {
        entries = entries.map {
            Entry(
                kind: $0.kind, what: names.masked($0.what), line: $0.line, owner: $0.owner, refusal: $0.refusal)
        }
    }

    /// Returns the different names of one kind, in the order in which they were read.
    package func names(_ kind: Kind) -> [String] {
        var known: Set<String> = []
        return entries.filter { $0.kind == kind && known.insert($0.what).inserted }.map(\.what)
    }

    /// Whether the job only sends requests to hosts and otherwise keeps to its own folder.
    package var isOrdinary: Bool { !entries.contains { ![.host, .key, .background].contains($0.kind) } }
}

/// Why something that a job would do is refused, for people.
package struct AccessRefusal: Hashable, Sendable {
    /// Code of the diagnostic about it.
    package let code: String
    /// The rule that refuses it.
    package let rule: String
    /// File and line of the rule, where a policy has it.
    package let place: String?
    /// What is refused, and why.
    package let message: String
    /// What would be right; `nil` where nothing would.
    package let hint: String?
}
