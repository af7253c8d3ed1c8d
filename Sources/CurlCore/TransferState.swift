import TransferModel

/// The state of a slot's present transfer. Each transfer begins with a new value, so nothing of one reaches the next.
struct TransferState: ~Copyable {
    /// What the handle is set up for, kept to set up another when the request is sent again; `nil` between transfers.
    let request: CurlRequest?
    var head = ResponseHeadParser()
    var tunnel: TunnelState
    var repetition: Repetition
    var login: LoginWatch
    var tls = TLSObservation()
    var sending: SendProgress
    var sockets = SocketUse()
    var fileEnd = FileEnd()
    var framing = FramingCount()
    /// Whether the receiver has paused the request's body. libcurl asks for more of it too when only reading is paused
    /// or resumed.
    var isUploadPaused = false
    /// Whether the last answer was an interim one (1xx): the final one is awaited.
    var lastWasInterim = false

    /// The state between transfers.
    init() {
        request = nil
        tunnel = TunnelState(isNeeded: false)
        repetition = Repetition(isAllowed: false)
        login = LoginWatch(answersChallenges: false)
        sending = SendProgress(hasBody: false, beganAt: Instant(nanoseconds: 0))
    }

    init(_ request: CurlRequest, now: Instant) {
        // Plain http goes to a proxy as a whole URL, which says nothing of an address to connect to instead.
        let asksProxyInWhole = request.url.hasPrefix("http:") && request.pool.path.host == nil
        tunnel = TunnelState(isNeeded: request.pool.proxy?.speaksHTTP == true && !asksProxyInWhole)
        repetition = Repetition(isAllowed: !request.needsFreshConnection)
        login = LoginWatch(answersChallenges: request.login != nil || request.proxyLogin != nil)
        sending = SendProgress(hasBody: request.bodyLength ?? 0 != 0, beganAt: now)
        self.request = request
    }

    /// Resets the state of the connection before the request is sent once more, on another one.
    mutating func prepareAgain(now: Instant) {
        (lastWasInterim, isUploadPaused) = (false, false)
        repetition.prepareAgain()
        sending.prepareAgain(now: now)
    }

    /// Why the response is refused, whichever end sent it: the proxy or the server.
    var problem: ResponseHeadParser.Problem? { head.problem ?? tunnel.problem }
}

/// Follows the CONNECT by which a proxy is asked for a tunnel. Until the proxy agrees, all bytes are its answer.
struct TunnelState {
    /// Whether the request goes through a tunnel.
    let isNeeded: Bool
    /// Whether the proxy's answer is still awaited, or was a refusal.
    private(set) var isOpening: Bool
    /// The proxy's last answer to CONNECT.
    private(set) var answer: ResponseHead?
    /// Why the proxy's answer is refused.
    private(set) var problem: ResponseHeadParser.Problem?
    private var hasReachedServer = false
    private var head = ResponseHeadParser()

    init(isNeeded: Bool) {
        self.isNeeded = isNeeded
        isOpening = isNeeded
    }

    /// Whether nothing was sent through the tunnel yet.
    var isHeldByProxy: Bool { isNeeded && !hasReachedServer }
    /// The status that the proxy sent last; 0 after the end of an answer.
    var status: Int { head.status }
    /// Whether the proxy's headers are longer than a refusal or a greeting can be. libcurl bounds a line, not their
    /// number.
    var isTooLong: Bool { head.size > 64 << 10 }

    /// Notes that another connection is made, on which the proxy is asked again.
    mutating func connectionBegan() {
        isOpening = isNeeded
        guard isNeeded else { return }
        head = ResponseHeadParser()
        answer = nil
    }

    /// Notes that the tunnel reaches the server.
    mutating func serverReached() {
        isOpening = false
        hasReachedServer = true
    }

    /// Reads a line of the proxy's answer to CONNECT.
    mutating func read(_ line: UnsafeRawBufferPointer) -> ResponseHeadParser.Line {
        let kind = unsafe head.read(line)
        // How the proxy's answer ends is libcurl's concern alone: no body of it is read here.
        if head.problem == .beginsFolded { problem = .beginsFolded }
        guard kind == .end else { return kind }
        let ended = head.completeHead()
        isOpening = !(200..<300).contains(ended.status)
        answer = ResponseHead(status: ended.status, version: .http1, headers: ended.headers)
        head = ResponseHeadParser()
        return .end
    }
}

/// Decides whether a request that stayed without an answer is sent once more.
///
/// libcurl by itself sends a request up to five times more when a connection that was open has swallowed it, and
/// reports nothing of it. Here it is stopped instead, and the request goes out once more on a connection of its own. A
/// request that must not be repeated is never sent on a connection that was open.
struct Repetition {
    private let isAllowed: Bool
    private var hasBegunAgain = false
    /// Whether the connection held bytes of another answer, or swallowed the request.
    private(set) var metStaleConnection = false
    /// Whether the connection was still on its way through a proxy's tunnel for another transfer: the request waits for
    /// it.
    private(set) var metUnreadyConnection = false
    /// Whether a request went out over HTTP/1.1 and no byte came back since.
    private(set) var isUnanswered = false
    /// How often the request went out over HTTP/2 since a byte came back. libcurl sends it again where a server says
    /// that it did not look at it.
    private var unansweredStreams = 0
    /// What was measured of each time that the request was sent without an answer.
    private(set) var lostRequests: [CurlMetrics] = []

    init(isAllowed: Bool) { self.isAllowed = isAllowed }

    /// Whether a server may have acted on the request, and no response says so.
    var isUnknownFate: Bool { isUnanswered || !lostRequests.isEmpty }

    mutating func requestSent(overHTTP2: Bool) {
        if overHTTP2 { unansweredStreams += 1 } else { isUnanswered = true }
    }

    mutating func answerArrived() { (isUnanswered, unansweredStreams) = (false, 0) }

    mutating func foundStaleConnection() { metStaleConnection = true }
    mutating func foundUnreadyConnection() { metUnreadyConnection = true }

    /// Notes that the connection ended before an answer came.
    mutating func requestLost(_ metrics: CurlMetrics) {
        lostRequests.append(metrics)
        (metStaleConnection, isUnanswered) = (true, false)
    }

    /// Whether the request should be sent once more. `isCut`: the connection failed while bytes were sent or awaited.
    ///
    /// A login's proof goes over the connection that it was asked for on, whatever the request may do.
    func shouldBeginAgain(isCut: Bool) -> Bool {
        guard !hasBegunAgain, isAllowed || lostRequests.isEmpty else { return false }
        if metStaleConnection { return true }
        // Over HTTP/2 the server ended each connection before it looked at the request, until libcurl gave up.
        return isAllowed && isCut && unansweredStreams > 1
    }

    mutating func beganAgain() { hasBegunAgain = true }

    mutating func prepareAgain() {
        (metStaleConnection, metUnreadyConnection, isUnanswered, unansweredStreams) = (false, false, false, 0)
    }
}

/// Watches libcurl sign in by itself (NTLM, Negotiate), in as many requests as that takes.
struct LoginWatch {
    /// Whether libcurl may answer a challenge itself: the next answer then takes this one's place.
    let answersChallenges: Bool
    /// A challenge that libcurl may still answer. Where it does not, this is the answer.
    private(set) var heldHead: ResponseHead?
    private var answers = 0
    /// A login takes three answers. A server that never stops asking would keep the transfer forever.
    private static let mostAnswers = 10

    init(answersChallenges: Bool) { self.answersChallenges = answersChallenges }

    /// Whether the server or the proxy asks again and again.
    var isEndless: Bool { answers > Self.mostAnswers }

    mutating func answerBegan(status: Int) {
        heldHead = nil
        if answersChallenges, status >= 200 { answers += 1 }
    }

    /// Whether the answer is kept back, because libcurl may answer it with another request.
    mutating func holdsBack(_ head: ResponseHead) -> Bool {
        guard answersChallenges, head.status == 401 || head.status == 407 else { return false }
        heldHead = head
        return true
    }

    mutating func requestSent() { heldHead = nil }

    mutating func takeHeldHead() -> ResponseHead? {
        defer { heldHead = nil }
        return heldHead
    }
}

/// The facts about the transfer's TLS connection, from OpenSSL and the peer.
@safe struct TLSObservation {
    var version: UInt16 = 0
    var cipher: UInt16 = 0
    var peerCertificate: PeerCertificate?
    /// The address of the connection's TLS: the key to what its pool knows of it.
    var connection: UnsafeRawPointer?
    /// Whether the server asked for a client certificate.
    var wasAskedForCertificate = false
    /// The alert with which the server ended the connection, after it had asked for a certificate.
    var alert: Int32?
    /// How many contexts were made for the TLS of the present connection. Behind an HTTPS proxy the first is the
    /// proxy's.
    var contexts = 0
    /// OpenSSL's verdict on the server's certificates, when they were refused behind an HTTPS proxy. libcurl loses it
    /// there: the alert goes out through the outer TLS, which clears OpenSSL's queue of errors before it is read.
    var refusedCertificate: Int?
    /// The alert with which an HTTPS proxy ended the connection.
    var proxyAlert: Int32?
}

/// How much of a request's body was sent, and when the transfer's phases began.
struct SendProgress {
    /// Whether the request has a body.
    let hasBody: Bool
    /// Bytes of the body that libcurl took since the body last began.
    private(set) var bytes: Int64 = 0
    /// Bytes that it had taken before the body last began anew.
    private var bytesBeforeRewind: Int64 = 0
    /// Bytes of the body that it took for its last request. Some versions let the body begin anew at once when they
    /// lost the request, others not before they write the next one.
    var bytesOfLast: Int64 { bytes > 0 ? bytes : bytesBeforeRewind }
    /// When libcurl last took a part of the body.
    private var sentAt: Instant?
    /// When the answer began, to a request with a body.
    private(set) var answeredAt: Instant?
    private let beganAt: Instant
    /// From the transfer's beginning to that of its last request.
    private var beganAfter = TimeSpan.zero

    init(hasBody: Bool, beganAt: Instant) {
        self.hasBody = hasBody
        self.beganAt = beganAt
    }

    mutating func sent(_ count: Int, at now: Instant) {
        bytes += Int64(count)
        sentAt = now
    }

    mutating func rewound() { (bytesBeforeRewind, bytes) = (bytes, 0) }

    mutating func answerBegan(at now: Instant) {
        if hasBody { answeredAt = now }
    }

    mutating func prepareAgain(now: Instant) {
        (sentAt, answeredAt) = (nil, nil)
        beganAfter = now - beganAt
    }

    /// Adds the times to what libcurl measured. `openedAt` is when the first socket was opened: the name was found by
    /// then, and libcurl keeps no time of that where the connection is refused at once.
    func add(to metrics: inout CurlMetrics, openedAt: Instant?) {
        let began = beganAt + beganAfter
        if metrics.nameLookup == 0, let openedAt {
            metrics.nameLookup = max(1, (openedAt - began).nanoseconds / 1_000)
        }
        metrics.sent = sentAt.map { ($0 - began).nanoseconds / 1_000 }
        metrics.answered = answeredAt.map { ($0 - began).nanoseconds / 1_000 }
        metrics.beganAfter = beganAfter.nanoseconds / 1_000
    }
}

/// The sockets of a transfer.
struct SocketUse {
    /// `errno` of the last socket that could not be made; 0 where each could.
    var error: Int32 = 0
    /// Why the pool's gate let no connection through.
    var refusal: Shortage?
    /// Why the last refused address was not connected to.
    var objection: AddressObjection?
    /// When the first socket was opened, to whatever address; `nil` before.
    var openedAt: Instant?
    /// Whether a socket was opened, to whatever address.
    var hasOpened: Bool { openedAt != nil }
    /// The opened sockets that may leave the machine.
    var opened: [Int32] = []
    /// The socket that the last request went out on.
    var used: Int32?
    /// The network interface of `used`, where it leaves the machine.
    var interface: UInt32?
}
