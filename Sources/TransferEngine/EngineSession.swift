import AttemptLife
import CurlCore
import HTTPRules
import Stores
import TextFormats
import TransferModel

/// A session as the engine needs it: its connections and the rules its tasks share.
final class EngineSession {
    let configuration: SessionConfiguration
    let pools: SessionPools
    let userAgent: String
    /// What it knows of the servers it spoke with. Whoever hears an answer's headers changes it.
    var state: SessionState
    /// From the start of the run on.
    var cache: SessionCache?
    /// What servers hold of bodies that earlier runs did not send to their end.
    private(set) var keptUploads: [UploadKey: UploadRecord] = [:]
    /// Which state of the protocol for resumable uploads servers were found to speak.
    var uploadDialects: [Origin: UploadDialect] = [:]
    /// Names whose values no message shows.
    var credentialNames = CredentialNames.standard
    /// Where requests tell their spans.
    var traceIDs: TraceIDs?
    /// How many connections its requests opened, and how many requests used one again.
    var connections = (opened: 0, reused: 0)
    /// Connections that were proven to be somebody's, by who that is and where.
    private var loginPools: [LoginKey: ConnectionPool] = [:]
    /// Who libcurl proves a connection as, at either end of it.
    struct Logins: Hashable {
        let origin: CurlLogin?
        let proxy: CurlLogin?
    }
    struct LoginKey: Hashable {
        let origin: Origin
        let login: Logins
        /// What else the connections are: through which proxy, with which certificate. Kept, so that no other pool comes
        /// to lie where it lay and is taken for it.
        let base: ConnectionPool

        static func == (left: LoginKey, right: LoginKey) -> Bool {
            left.origin == right.origin && left.login == right.login && left.base === right.base
        }
        func hash(into hasher: inout Hasher) {
            hasher.combine(origin)
            hasher.combine(login)
            hasher.combine(ObjectIdentifier(base))
        }
    }
    /// Connections that only one request at a time may use.
    struct OwnPool {
        fileprivate let key: LoginKey
        let pool: ConnectionPool
    }
    private var sparePools: [LoginKey: [ConnectionPool]] = [:]
    /// What no text of this run's can hold by chance.
    private let boundaryWord: String
    private let hasOwnSchemes: Bool
    private var lastOptions: TaskOptions?
    private var lastBodyType: SecretText?
    private var lastType = TaskType.data
    private var lastSavesAnswer = false
    private var lastRules: AttemptRules?
    /// The header lines of the first request under `lastRules`: ten thousand requests share one list.
    private(set) var headerLines: [String] = []

    init(
        _ configuration: SessionConfiguration, proxies: ProxyEnvironment, userAgent: String,
        networks: NetworkState, now: WallTime
    ) {
        self.configuration = configuration
        self.userAgent = userAgent
        pools = SessionPools(configuration, proxies: proxies, networks: networks)
        state = SessionState(configuration, at: now)
        hasOwnSchemes = !configuration.protocols.isEmpty
        var random = SystemRandomNumberGenerator()
        boundaryWord = (0..<2).map { _ in String(random.next() as UInt64, radix: 36) }.joined()
    }

    /// Where a URL leads that became known in the run, by the operator's rules.
    func rewritten(_ url: ResourceURL) throws(TransferError) -> ResourceURL {
        guard let rules = configuration.policy?.rewrite, !rules.isEmpty else { return url }
        return try RedirectRewrites([], imposed: rules).target(for: url) ?? url
    }

    /// The session's own word, for which it need not be copied.
    func takesSlot(_ url: ResourceURL) -> Bool {
        url.needsConnection || hasOwnSchemes && configuration.takesSlot(url)
    }

    /// What stands between the parts of a task's body: the same each time it is sent, and another for each task, whose body
    /// may hold what another one sent.
    func boundary(of task: TaskIndex) -> String { "transfer-run-\(boundaryWord)-\(task.raw)" }

    func keep(_ uploads: [UploadRecord]) {
        for record in uploads { keptUploads[record.key] = record }
    }

    func pool(
        for login: Logins, at origin: Origin, like other: ConnectionPool
    ) -> ConnectionPool {
        let key = LoginKey(origin: origin, login: login, base: other)
        if let pool = loginPools[key] { return pool }
        let pool = other.twin()
        loginPools[key] = pool
        return pool
    }

    func takePool(
        for login: Logins, at origin: Origin, like other: ConnectionPool
    ) -> OwnPool {
        let key = LoginKey(origin: origin, login: login, base: other)
        if let pool = sparePools[key]?.popLast() { return OwnPool(key: key, pool: pool) }
        return OwnPool(key: key, pool: other.twin())
    }

    /// All pools but those that attempts have for themselves.
    var allPools: [ConnectionPool] { pools.all + loginPools.values + sparePools.values.joined() }

    func giveBack(_ pool: OwnPool?) {
        if let pool { sparePools[pool.key, default: []].append(pool.pool) }
    }

    /// The rules of a task. Tasks that say nothing of their own, or all the same, share their options, and so their rules:
    /// of which file a body is they only say its kind.
    func rules(for task: TaskSpecification, _ index: TaskIndex, isMetered: Bool) -> AttemptRules {
        let kin = task.options.kin
        let bodyType = task.options.values.body.flatMap { PlannedBody.contentType(of: $0) }
        if let lastRules, lastOptions === kin, lastType == task.type, lastBodyType == bodyType,
            lastSavesAnswer == task.savesAnswer
        {
            return lastRules
        }
        let rules = makeRules(task, index, isMetered: isMetered)
        lastBodyType = bodyType
        // A boundary is a task's own.
        if case .multipart? = task.options.values.body { lastOptions = nil } else { lastOptions = kin }
        (lastType, lastSavesAnswer) = (task.type, task.savesAnswer)
        lastRules = rules
        headerLines = Self.lines(rules.headers)
        return rules
    }

    private func makeRules(_ task: TaskSpecification, _ index: TaskIndex, isMetered: Bool) -> AttemptRules {
        let options = task.options.values
        let hasBody = options.body != nil
        let method = options.method ?? (hasBody ? "POST" : "GET")
        // These methods mean a body: without one they say so with a length of 0.
        let announcesBody = hasBody || ["POST", "PUT", "PATCH"].contains(method)
        var maximumSize = options.maximumSize
        if task.type != .download, maximumSize == nil { maximumSize = 16 << 20 }
        return AttemptRules(
            type: task.type, method: method,
            headers: headers(options, index, hasBody: hasBody, asksForPacked: decodes(task)), hasBody: announcesBody,
            // This libcurl cannot let one stream of a shared connection stand still: under a `bandwidth`, or waiting for
            // a command, each transfer has a connection of its own.
            version: isMetered || options.body?.isStream == true ? .http1 : configuration.http.version,
            expectsContinue: configuration.http.expectContinue,
            redirects: options.policies.redirects,
            rewrites: RedirectRewrites(
                options.policies.redirects.rewrite, imposed: configuration.policy?.rewrite ?? []),
            expect: options.expect,
            answer: AnswerRules(options.expect, options.captures + (options.next.map { [Capture($0)] } ?? [])),
            onResponse: options.onResponse, maximumFile: options.maximumSize,
            maximumSize: maximumSize, decodes: decodes(task),
            unpacksFile: task.type == .download && options.decompress == .file, requireLength: options.requireLength,
            hasChecksum: options.checksum != nil, mirrors: options.mirrors.compactMap(\.url),
            bodyTexts: options.body?.texts ?? [],
            usesCookies: options.cookies, mainDocument: options.mainDocument,
            challenges: ChallengePolicy(
                credentials: options.policies.credentials, proxies: pools.proxyServers,
                sessionRules: configuration.taskDefaults.challenges,
                taskRules: options.policies.challenges),
            hiding: credentialNames,
            entity: { [body = options.body] in PlannedBody.shortBytes(of: body) }, clientNonce: Self.clientNonce)
    }

    /// What an attempt's requests tell of the span that they belong to.
    func tracing(attempt number: Int, of task: String) -> TracePropagation? {
        guard let traceIDs else { return nil }
        return TracePropagation(
            to: configuration.propagatesTraceTo, traceIDs.header(attempt: number, of: task))
    }

    private static func clientNonce() -> String {
        var random = SystemRandomNumberGenerator()
        let bytes = withUnsafeBytes(of: (random.next(), random.next())) { Array($0) }
        return Base64.encode(bytes)
    }

    /// A file is what the server has, packed or not, unless the task says otherwise; an answer is there to be read.
    private func decodes(_ task: TaskSpecification) -> Bool {
        if task.savesAnswer { return false }
        return task.type == .download ? task.options.values.decompress != .no : configuration.http.compression
    }

    /// The task's list, which holds its session's too, and what is always said.
    private func headers(
        _ options: TaskOptions.Values, _ index: TaskIndex, hasBody: Bool, asksForPacked: Bool
    ) -> [HeaderField] {
        var fields = options.headers
        func add(_ name: String, _ value: SecretText) {
            if !fields.contains(where: { Self.isSame($0.name, name) }) {
                fields.append(HeaderField(name: name, value: value))
            }
        }
        add("User-Agent", SecretText(userAgent))
        add("Accept-Encoding", SecretText(asksForPacked ? ContentCoding.asked : "identity"))
        if hasBody, let type = options.contentType ?? options.body.flatMap({ PlannedBody.contentType(of: $0) }),
            type.plain != "none"
        {
            add("Content-Type", type)
        }
        if case .multipart? = options.body {
            for place in fields.indices where Self.isSame(fields[place].name, "Content-Type") {
                let pieces = fields[place].value.pieces + [.literal("; boundary=\(boundary(of: index))")]
                fields[place].value = SecretText(pieces: pieces)
            }
        }
        return fields
    }

    static func lines(_ fields: [HeaderField]) -> [String] {
        fields.map { field in
            let value = field.value.revealed
            // To libcurl `Name:` means "leave it out" and `Name;` means "send it empty".
            return value.isEmpty ? "\(field.name);" : "\(field.name): \(value)"
        }
    }

    private static func isSame(_ left: String, _ right: String) -> Bool {
        left.utf8.count == right.utf8.count && left.lowercased() == right.lowercased()
    }
}
