package import HTTPRules
package import TransferModel

/// All that an attempt must know beside its URL, with the session's word and the task's already made one. Tasks that
/// say the same share one.
package final class AttemptRules: Sendable {
    package let type: TaskType
    package let method: String
    package let headers: [HeaderField]
    package let hasBody: Bool
    package let version: HTTPConfiguration.Version
    /// A body is sent only once the server says so, or keeps silent.
    let expectsContinue: Bool
    package let redirects: RedirectPolicy
    let rewrites: RedirectRewrites
    /// No cookie is sent or kept.
    package let usesCookies: Bool
    package let mainDocument: ResourceURL?
    package let expect: Expectations
    /// `expect.headers`, compiled.
    let headerExpectations: HeaderExpectations
    /// What is expected of the body and captured of the answer; `nil` for most.
    package let answer: AnswerRules?
    /// Asked at the headers of what would be the result.
    let onResponse: [ResponseRule]
    /// The most bytes of an answer that becomes a file although the task is no download; `nil`: no bound.
    let maximumFile: Int64?
    /// `nil`: no bound.
    package let maximumSize: Int64?
    /// Whether a body that came packed is unpacked.
    package let decodes: Bool
    /// What a file is by its first bytes is undone too: gzip, zstd or xz.
    package let unpacksFile: Bool
    package let requireLength: Bool
    /// A checksum proves a body whose end nothing else proves.
    package let hasChecksum: Bool
    /// Other URLs that the task itself names: typed headers go to their origins too.
    package let mirrors: [ResourceURL]
    /// Whose servers see what has no `host`; `nil`: those that the attempt begins at and the mirrors'.
    private let named: [Origin]?
    /// The texts that the body is made of, for the secrets in them.
    package let bodyTexts: [SecretText]
    /// Who it may be, and what it does when it is asked.
    package let challenges: ChallengePolicy
    /// A short body as it is sent; `nil` for any other.
    let entity: @Sendable () -> [UInt8]?
    /// A word that nobody can guess, each time another.
    package let clientNonce: @Sendable () -> String

    package init(
        type: TaskType, method: String, headers: [HeaderField] = [], hasBody: Bool = false,
        version: HTTPConfiguration.Version = .auto, expectsContinue: Bool = false,
        redirects: RedirectPolicy = RedirectPolicy(),
        expect: Expectations = Expectations(), answer: AnswerRules? = nil, onResponse: [ResponseRule] = [],
        maximumFile: Int64? = nil, maximumSize: Int64? = nil, decodes: Bool = false,
        unpacksFile: Bool = false,
        requireLength: Bool = false,
        hasChecksum: Bool = false, mirrors: [ResourceURL] = [], named: [Origin]? = nil, bodyTexts: [SecretText] = [],
        usesCookies: Bool = true, mainDocument: ResourceURL? = nil, challenges: ChallengePolicy = .none,
        entity: @escaping @Sendable () -> [UInt8]? = { nil }, clientNonce: @escaping @Sendable () -> String = { "" }
    ) {
        self.type = type
        self.method = method
        self.headers = headers
        self.hasBody = hasBody
        self.version = version
        self.expectsContinue = expectsContinue
        self.redirects = redirects
        rewrites = RedirectRewrites(redirects.rewrite)
        self.usesCookies = usesCookies
        self.mainDocument = mainDocument
        self.expect = expect
        headerExpectations = HeaderExpectations(expect.headers)
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
    /// The servers that the task names: credentials without a `host` are for these.
    func origins(from begin: ResourceURL) -> [Origin] { named ?? [begin.origin] + mirrors.map(\.origin) }

    /// Of what is written or told.
    package var sizes: SizeBounds {
        SizeBounds(maximum: maximumSize, exact: expect.size, least: expect.minimumSize)
    }

    /// The most bytes that may come in. Packed, nothing honest is longer than it is unpacked, but for a little that each
    /// block adds: this ends a stream of wrappings with nothing in them.
    static func receivable(_ maximum: Int64?, packed: Bool) -> Int64? {
        guard packed, let maximum else { return maximum }
        let (sum, isOver) = maximum.addingReportingOverflow(maximum / 16 + (64 << 10))
        return isOver ? .max : sum
    }
}

/// One request of an attempt, ready to be performed.
package struct OutgoingRequest: Sendable {
    package var url: ResourceURL
    package var method: String
    package var headers: [HeaderField]
    package var sendsBody: Bool
    /// The part of the body that it sends; `nil` is all of it.
    package var bodyRange: Range<Int64>?
    /// Whether TLS may choose HTTP/2 and share a connection.
    package var mayUseHTTP2: Bool
    /// It says `Expect: 100-continue`, where it has a body and goes over HTTP/1.1.
    package var expectsContinue = false
    /// It asks whether the file that stands there is still the same: a 304 is an answer to it.
    package var isConditional = false
    /// Its headers are not those of the rules alone: what the session knows is in them, or the state of an upload.
    package var hasSessionHeaders = false
}

/// What becomes of the body whose headers were just read.
package enum HeadDecision: Hashable, Sendable {
    /// It is the result, or worth telling in the report.
    case keep
    /// Read it to its end, so that the connection can serve again, unless it is long.
    case discard
    /// End the transfer now: the outcome is clear, `ended` will say which.
    case abort
}

/// How a request ended, in the transport's view.
package struct TransportEnd: Sendable {
    /// `nil` when the transport calls the answer complete.
    package var error: TransferError?
    package var received: Int64
    package var sawCloseNotify: Bool
    /// The request had a body, and the server never came for a byte of it.
    package var leftBody = false
    /// How much of the body had been sent when the server was done, where that was not all of it.
    package var cutBody: SentPart?
    package struct SentPart: Sendable {
        package var bytes: Int64
        package var total: Int64?
        package init(bytes: Int64, total: Int64?) { (self.bytes, self.total) = (bytes, total) }
    }
    /// The server ended the stream, and not for an error, before it had the whole body; what it answered is lost.
    package var lostAnswer = false
    /// The network here went away, or the machine slept: that says nothing of the server.
    package var lostNetwork = false
    /// The request went out.
    package var wasSent = true
    package init(error: TransferError?, received: Int64, sawCloseNotify: Bool) {
        self.error = error
        self.received = received
        self.sawCloseNotify = sawCloseNotify
    }
}

extension TransportEnd {
    /// Whoever was asked broke the connection off, or said nothing until our patience was at its end.
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
    /// The server says that the file that stands there is still the same.
    case keep
    /// The server has what was to be sent.
    case isThere
    /// What is to be done about a part that another program left. `AttemptLife.request` is the task's own again.
    case judged(ForeignPart.Verdict)
    case fail(TransferError, RedirectRecord?)
    /// The answer asks who one is, and somebody else knows: `found` goes on from there.
    case ask(CredentialQuery)
    /// A rule says so.
    case cancel(TransferError)
}

/// What follows from what somebody else knew.
package enum CredentialStep: Sendable {
    case send(OutgoingRequest)
    case ask(CredentialQuery)
    /// The answer that was put off is the result: `ended` is to be told of its end once more.
    case accept(TransportEnd)
    case cancel(TransferError)
}
