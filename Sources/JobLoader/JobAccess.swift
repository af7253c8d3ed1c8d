/// What a job may do beside moving bytes between servers and its own folder: what somebody wants to know before they run a
/// job that they did not write.
package struct JobAccess: Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        /// A program that the job has run.
        case command
        /// A file outside the job's folder that is read, or that is written.
        case read, write
        /// A folder whose files go when no member of its group names them, wherever it is.
        case remove
        /// A variable of the environment, and a secret.
        case environment, secret
        /// A Unix socket, at which a service of this machine listens.
        case socket
        /// A server or proxy that is asked.
        case host
    }

    package struct Entry: Hashable, Sendable {
        package let kind: Kind
        /// The command's words, the path, the name or the host, never with a secret in it.
        package let what: String
        /// In the job file.
        package let line: Int32
        /// Whose it is: ``task `a` ``, ``session `main` ``, `the job`.
        package let owner: String
    }

    /// In the order in which they were read, each thing once for each line; at most `limit` of one kind.
    package private(set) var entries: [Entry] = []
    /// How many more there are of a kind than are listed.
    package private(set) var unlisted: [Kind: Int] = [:]
    /// Whether a redirect may lead a task to hosts that are not listed.
    package var mayBeRedirected = false

    package static let limit = 10_000

    private struct Place: Hashable {
        let kind: Kind
        let what: String
        let line: Int32
    }
    private var seen: Set<Place> = []
    private var counts: [Kind: Int] = [:]

    package init() {}

    mutating func add(_ kind: Kind, _ what: String, line: Int32, owner: String) {
        // Who asks a host is seldom the question, and tasks may be many.
        let place = Place(kind: kind, what: what, line: kind == .host ? 0 : line)
        guard counts[kind, default: 0] < Self.limit else {
            if !seen.contains(place) { unlisted[kind, default: 0] += 1 }
            return
        }
        guard seen.insert(place).inserted else { return }
        counts[kind, default: 0] += 1
        entries.append(Entry(kind: kind, what: what, line: line, owner: owner))
    }

    /// The different things of one kind, in order.
    package func names(_ kind: Kind) -> [String] {
        var known: Set<String> = []
        return entries.filter { $0.kind == kind && known.insert($0.what).inserted }.map(\.what)
    }

    /// Whether it only asks hosts and keeps to its own folder.
    package var isOrdinary: Bool { !entries.contains { $0.kind != .host } }
}
