package import HTTPRules
package import TransferModel

/// Everything an attempt must know beside its URL, with the session's settings and the task's already merged. Tasks
/// with equal rules share one object.
package final class AttemptRules: Sendable {
    /// Type of the task.
    package let type: TaskType
    /// Method of the task's own request.
    package let method: String
    /// Headers that the job sets, the session's and the task's together.
    package let headers: [HeaderField]
    /// Whether the job itself asks for a range: what comes is then judged as all of the file.
    package let asksForPart: Bool
    /// Whether the task's request has a body.
    package let hasBody: Bool
    /// Versions of HTTP that may be used.
    package let version: HTTPConfiguration.Version
    /// Whether the body is sent only after the server's 100, or when none comes in time.
    let expectsContinue: Bool
    /// Rules for redirects: which are followed, and what a refused one leads to.
    package let redirects: RedirectPolicy
    package let rewrites: RedirectRewrites
    /// Whether cookies are sent and kept.
    package let usesCookies: Bool
    /// Page that the request belongs to, for the cookie policy; `nil`: the request's own URL.
    package let mainDocument: ResourceURL?
    /// The job's `expect`.
    package let expect: Expectations
    /// Which headers mean credentials.
    let credentialNames: CredentialNames
    /// `expect.headers`, compiled.
    let headerExpectations: HeaderExpectations
    /// Rules for the body: what is expected in it and captured from it; `nil` for most tasks.
    package let answer: AnswerRules?
    /// Rules that are applied to the headers of a response that would be the result.
    let onResponse: [ResponseRule]
    /// The most bytes of an answer that becomes a file although the task is no download; `nil`: no bound.
    let maximumFile: Int64?
    /// The most bytes of the result; `nil`: no bound.
    package let maximumSize: Int64?
    /// Whether a body that came packed is unpacked.
    package let decodes: Bool
    /// Whether a gzip, zstd or xz file, recognised by its first bytes, is unpacked too.
    package let unpacksFile: Bool
    /// Whether a body fails whose end nothing proves.
    package let requireLength: Bool
    /// Whether the job states a checksum, which proves a body whose end nothing else proves.
    package let hasChecksum: Bool
    /// Other URLs that the task itself names: typed headers go to their origins too.
    package let mirrors: [ResourceURL]
    /// Servers for which credentials without a `host` are; `nil` for those of the first URL and the mirrors.
    private let named: [Origin]?
    /// The texts that the body is made of, for the secrets in them.
    package let bodyTexts: [SecretText]
    /// Credentials, and rules for challenges.
    package let challenges: ChallengePolicy
    /// A short body as it is sent; `nil` for any other.
    let entity: @Sendable () -> [UInt8]?
    /// Returns an unguessable text, a new one for each call.
    package let clientNonce: @Sendable () -> String

    package init(
        type: TaskType, method: String, headers: [HeaderField] = [], hasBody: Bool = false,
        version: HTTPConfiguration.Version = .auto, expectsContinue: Bool = false,
        redirects: RedirectPolicy = RedirectPolicy(), rewrites: RedirectRewrites? = nil,
        expect: Expectations = Expectations(), answer: AnswerRules? = nil, onResponse: [ResponseRule] = [],
        maximumFile: Int64? = nil, maximumSize: Int64? = nil, decodes: Bool = false,
        unpacksFile: Bool = false,
        requireLength: Bool = false,
        hasChecksum: Bool = false, mirrors: [ResourceURL] = [], named: [Origin]? = nil, bodyTexts: [SecretText] = [],
        usesCookies: Bool = true, mainDocument: ResourceURL? = nil, challenges: ChallengePolicy = .none,
        hiding names: CredentialNames = .standard,
        entity: @escaping @Sendable () -> [UInt8]? = { nil }, clientNonce: @escaping @Sendable () -> String = { "" }
    ) {
        self.type = type
        self.method = method
        self.headers = headers
        asksForPart = headers.contains { $0.isNamed("range") }
        self.hasBody = hasBody
        self.version = version
        self.expectsContinue = expectsContinue
        self.redirects = redirects
        self.rewrites = rewrites ?? RedirectRewrites(redirects.rewrite)
        self.usesCookies = usesCookies
        self.mainDocument = mainDocument
        self.expect = expect
        credentialNames = names
        headerExpectations = HeaderExpectations(expect.headers, hiding: names)
        self.answer = answer
        self.onResponse = onResponse
        self.maximumFile = maximumFile
        self.maximumSize = maximumSize
        self.decodes = decodes
        self.unpacksFile = unpacksFile
        self.requireLength = requireLength
        self.hasChecksum = hasChecksum
        self.mirrors = mirrors
        self.named = named
        self.bodyTexts = bodyTexts.filter(\.isSecret)
        self.challenges = challenges
        self.entity = entity
        self.clientNonce = clientNonce
    }
}

extension AttemptRules {
    /// Returns the servers that a task with this URL names: credentials without a `host` are for these, and not for where
    /// an answer leads.
    func origins(ofTaskAt home: ResourceURL) -> [Origin] { named ?? [home.origin] + mirrors.map(\.origin) }

    /// Bounds of the body that is written or reported.
    package var sizes: SizeBounds {
        SizeBounds(maximum: maximumSize, exact: expect.size, least: expect.minimumSize)
    }

    /// Returns the most bytes that may be received. An honest packed body is no longer than the unpacked one, but for a
    /// little that each block adds: the bound ends a stream of empty blocks.
    static func receivable(_ maximum: Int64?, packed: Bool) -> Int64? {
        guard packed, let maximum else { return maximum }
        let (sum, isOver) = maximum.addingReportingOverflow(maximum / 16 + (64 << 10))
        return isOver ? .max : sum
    }
}

/// One request of an attempt, ready to be performed.
package struct OutgoingRequest: Sendable {
    /// URL of the request.
    package var url: ResourceURL
    /// Method of the request.
    package var method: String
    /// Headers without those of the session.
    package var headers: [HeaderField]
    /// Whether the task's body, or a part of it, is sent.
    package var sendsBody: Bool
    /// The part of the body that the request sends; `nil` is all of it.
    package var bodyRange: Range<Int64>?
    /// Whether TLS may choose HTTP/2 and share a connection.
    package var mayUseHTTP2: Bool
    /// Whether the request says `Expect: 100-continue`: it has a body and goes over HTTP/1.1.
    package var expectsContinue = false
    /// Whether the request asks if the existing file is still the same: a 304 says yes.
    package var isConditional = false
    /// Whether a server outside led to its URL, so that it must not connect to an address inside.
    package var isLedFromPublic = false
    /// Whether its headers hold session state or the state of an upload, beside those of the rules.
    package var hasSessionHeaders = false

    /// Whether it is a GET without a body: then its URL alone says what is asked for, and conditions and ranges of
    /// earlier answers fit it.
    package var isPlainGet: Bool { method == "GET" && !sendsBody }
}

/// Decides about the body whose headers were just read.
package enum HeadDecision: Hashable, Sendable {
    /// The body is read and kept: it is the result, or worth showing in the report.
    case keep
    /// The body is read to its end and dropped, so that the connection can serve again, unless it is long.
    case discard
    /// The transfer ends now: the outcome is clear, and `ended` will say which.
    case abort
}

/// Where an answer came from, which decides whether it may lead to an address inside the machine, its network or its
/// cloud.
package enum AnswerSource: Sendable {
    /// From an address inside, or a Unix socket.
    case inside
    /// From the public Internet, or through a proxy from a host whose address only the proxy knows.
    case outside
    /// Out of the cache, which does not know.
    case unknown
}

/// How a request ended, in the transport's view.
package struct TransportEnd: Sendable {
    /// `nil` when the transport calls the answer complete.
    package var error: TransferError?
    /// Bytes of the body that came.
    package var received: Int64
    /// Whether TLS proved that the peer ended the connection itself.
    package var sawCloseNotify: Bool
    /// Whether the request had a body of which no byte was sent.
    package var leftBody = false
    /// How much of the body had been sent when the server was done, where that was not all of it.
    package var cutBody: SentPart?
    /// How much of a body was sent.
    package struct SentPart: Sendable {
        /// Bytes that were sent.
        package var bytes: Int64
        /// Length of the whole body; `nil` when it is unknown.
        package var total: Int64?
        package init(bytes: Int64, total: Int64?) { (self.bytes, self.total) = (bytes, total) }
    }
    /// Whether the server ended the stream without an error before it had the whole body; its answer is lost.
    package var lostAnswer = false
    /// Whether the network here went away or the machine slept, which says nothing of the server.
    package var lostNetwork = false
    /// Whether the request was sent.
    package var wasSent = true
    package init(error: TransferError?, received: Int64, sawCloseNotify: Bool) {
        self.error = error
        self.received = received
        self.sawCloseNotify = sawCloseNotify
    }
}

extension TransportEnd {
    /// Whether the server or a middlebox may have broken the connection off, or kept silent, because of the range.
    var mayBeTheRange: Bool {
        guard let name = error?.name else { return true }
        return !lostNetwork && (name.saysHungUp || name == .timedOut && wasSent)
    }
}

/// What an attempt does after a request ended.
package enum NextStep: Sendable {
    /// Another request: a redirect that is followed, or the same again alone.
    case send(OutgoingRequest, RedirectRecord?)
    /// The body is whole and as expected: publish it. The record is there when a refused redirect is the result.
    case deliver(lengthUnverified: Bool, RedirectRecord?)
    /// The existing file is still the same, the server says: it stays.
    case keep
    /// The server has the upload's body already.
    case isThere
    /// The question about a part that another program left is answered; the verdict says what to do with it.
    /// `AttemptLife.request` is the task's own again.
    case judged(ForeignPart.Verdict)
    case fail(TransferError, RedirectRecord?)
    /// A credential must be looked up for the challenge: `found` continues.
    case ask(CredentialQuery)
    /// A rule cancels the task.
    case cancel(TransferError)
}

/// What follows from a credential that was looked up.
package enum CredentialStep: Sendable {
    case send(OutgoingRequest)
    case ask(CredentialQuery)
    /// The response that waited for the credential is the result: call `ended` with its end once more.
    case accept(TransportEnd)
    case cancel(TransferError)
}
