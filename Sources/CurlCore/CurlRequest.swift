package import TransferModel

/// As whom libcurl proves a connection by itself, in as many requests as that takes. Their answers are nobody's but its own.
package struct CurlLogin: Hashable, Sendable {
    package enum Method: Sendable { case ntlm, negotiate }
    package let method: Method
    package let user: String
    package let password: String
    package init(method: Method, user: String, password: String) {
        self.method = method
        self.user = user
        self.password = password
    }

    /// By bytes: a connection is proven as whom the server took them for.
    package static func == (left: CurlLogin, right: CurlLogin) -> Bool {
        left.method == right.method && left.user.isExactly(right.user) && left.password.isExactly(right.password)
    }
}

/// Everything libcurl is told about one request. It decides nothing: no redirect, cookie or proxy of its own, and whose
/// credentials it shows, and how.
package struct CurlRequest {
    package enum Version: Sendable { case http1, http2OverTLS }

    package var url: String
    package var method: String
    /// Complete lines, `Name: value`.
    package var headers: [String] = []
    /// `nil` sends no body; -1 is a body of unknown length.
    package var bodyLength: Int64?
    /// Whether the server is asked by `Expect: 100-continue`, over HTTP/1.1, before a body is sent.
    package var expectsContinue = false
    package var version = Version.http1
    /// Whether a handshake with the server comes before it, or one with a proxy.
    var isSecure: Bool { url.hasPrefix("https:") }
    var isProxySecure: Bool { pool.proxy?.isSecure == true }
    package var connectTimeout = TimeSpan.seconds(30)
    package var pool: ConnectionPool
    /// A request that must not be sent twice never rides on a connection that may be dead already: libcurl would
    /// silently send it again.
    package var needsFreshConnection = false
    /// Whether others may use its connection afterwards.
    package var keepsConnection = true
    package var receiveBuffer = 64 << 10
    /// Of a file on an ftp server; `nil` for http.
    package var ftp: FTPAccess?
    package var login: CurlLogin?
    /// To the proxy, and to nobody else: what stands after `Proxy-Authorization:` in the place of the proxy's own, or who
    /// libcurl proves the connection to it as.
    package var proxyAuthorization: String?
    package var proxyLogin: CurlLogin?

    package init(url: String, method: String, pool: ConnectionPool) {
        self.url = url
        self.method = method
        self.pool = pool
    }
}

/// What is said to an ftp server beside the path.
package struct FTPAccess: Sendable {
    /// `nil` is `anonymous`.
    package var user: String?
    package var password: String?
    /// The byte to begin at (`REST`).
    package var offset: Int64 = 0
    package init() {}
}

/// What an ftp server tells of a file before it sends it.
package struct FTPFacts: Hashable, Sendable {
    /// From the offset on; `nil` when it does not say (`SIZE`).
    package var length: Int64?
    /// `MDTM`
    package var modified: WallTime?
    package var offset: Int64 = 0
    /// It does not begin where it was asked to.
    package var refusesOffset = false
    package init() {}
}

/// What a transfer hands over while it runs. Every call comes from inside libcurl on the loop's thread: an
/// implementation may change itself and nothing else, and must not call the loop.
package protocol TransferReceiver: AnyObject {
    /// The headers of the final answer: never of a 1xx, but for the 101 that no answer follows. `false` ends the transfer.
    func received(head: ResponseHead) -> Bool
    /// The headers of a 104: so far the server could go on from where a cut leaves the body. `false` ends the transfer.
    func received(interim headers: HeaderBlock) -> Bool
    /// In the place of a head, before the first byte of a file or at its end. `false` ends the transfer.
    func received(file: FTPFacts) -> Bool
    func received(body bytes: UnsafeRawBufferPointer) -> BodyReply
    func fillBody(_ buffer: UnsafeMutableRawBufferPointer) -> BodyFill
    /// Whether the body can be sent again from `offset`. `isUnanswered`: nobody knows what became of it; else an answer came,
    /// or the server said in HTTP/2 that it did not look at the request.
    func rewindBody(to offset: Int64, isUnanswered: Bool) -> Bool
}

package enum BodyReply: Sendable {
    case taken
    /// Not taken: they come again after `CurlLoop.resume`.
    case pause
    case stop
}

package enum BodyFill: Sendable {
    /// So many were put into the buffer; 0 at the end.
    case bytes(Int)
    /// Ask again after `CurlLoop.resume`.
    case pause
    case stop
}

extension TransferReceiver {
    package func received(file: FTPFacts) -> Bool { false }
    package func received(interim headers: HeaderBlock) -> Bool { true }
}

/// A final answer's status line and headers.
package struct ResponseHead: Sendable {
    package var status: Int
    package var version: HTTPProtocol
    package var headers: HeaderBlock
    /// The connection was made for this request, and the server asked for a certificate then.
    package var wasAskedForCertificate = false
    /// Whether a server really said it: what answers otherwise is put into HTTP's words.
    package var isHTTP = true
    package init(status: Int, version: HTTPProtocol, headers: HeaderBlock) {
        self.status = status
        self.version = version
        self.headers = headers
    }
}

/// How a transfer ended, in libcurl's view, with what it measured.
package struct CurlCompletion {
    package let receiver: any TransferReceiver
    package let code: CurlCode
    package let message: String
    package let systemError: Int32
    /// OpenSSL's word on the certificates of whoever failed: the proxy before the server.
    package let verifyResult: Int
    /// What became of the client certificate, when the server had asked for one and then complained.
    package let certificateAlert: CertificateAlert?
    /// The server asked for a certificate of ours when the connection was made.
    package let wasAskedForCertificate: Bool
    /// What a proxy answered to CONNECT; never the server's answer.
    package let proxyHead: ResponseHead?
    /// The proxy that the transfer went through, when it failed.
    package let proxyFailure: ProxyFailure?
    /// Only of a body that was ended by closing the connection: whether TLS was closed in order.
    package let sawCloseNotify: Bool
    /// An ftp server said that it does not do what it was asked.
    package let isRefused: Bool
    /// It said that it may do so later.
    package let isPutOff: Bool
    /// An ftp server sent more than it had said: what came is of another version, or not from where it was to begin.
    package let isLonger: Bool
    /// Why no connection was let through to any address that the host has.
    package let refusal: Shortage?
    package let metrics: CurlMetrics

    package init(
        receiver: any TransferReceiver, code: CurlCode, message: String = "", systemError: Int32 = 0,
        verifyResult: Int = 0, certificateAlert: CertificateAlert? = nil, wasAskedForCertificate: Bool = false,
        proxyHead: ResponseHead? = nil, proxyFailure: ProxyFailure? = nil, sawCloseNotify: Bool = false,
        isRefused: Bool = false, isPutOff: Bool = false, isLonger: Bool = false, refusal: Shortage? = nil,
        metrics: CurlMetrics
    ) {
        self.receiver = receiver
        self.code = code
        self.message = message
        self.systemError = systemError
        self.verifyResult = verifyResult
        self.certificateAlert = certificateAlert
        self.wasAskedForCertificate = wasAskedForCertificate
        self.proxyHead = proxyHead
        self.proxyFailure = proxyFailure
        self.sawCloseNotify = sawCloseNotify
        self.isRefused = isRefused
        self.isPutOff = isPutOff
        self.isLonger = isLonger
        self.refusal = refusal
        self.metrics = metrics
    }
}

/// What libcurl measured: microseconds since the request was handed over; `nil` for a phase that was not.
package struct CurlMetrics: Sendable {
    package var nameLookup: Int64 = 0
    package var connect: Int64 = 0
    package var secureConnect: Int64 = 0
    package var preTransfer: Int64 = 0
    /// Of a request without a body; of one with a body libcurl means by it the first byte in either direction.
    package var startTransfer: Int64 = 0
    /// Of a request with a body: when its last byte went out, and when its answer began, as the loop's turns saw it.
    package var sent: Int64?
    package var answered: Int64?
    package var total: Int64 = 0
    package var isReused = false
    package var openedConnections = 0
    package var requestBytes: Int64 = 0
    package var headerBytes: Int64 = 0
    package var uploadedBytes: Int64 = 0
    package var downloadedBytes: Int64 = 0
    package var localAddress: String?
    package var localPort: UInt16 = 0
    package var remoteAddress: String?
    package var remotePort: UInt16 = 0
    package var tlsVersion: UInt16 = 0
    package var tlsCipher: UInt16 = 0
    /// `sha256:…` of the server's certificate.
    package var tlsFingerprint: String?
    /// When that certificate ends.
    package var tlsExpiry: WallTime?
    package var isProxied = false
    /// What it went through, when it left the machine.
    package var interface: UInt32?
    /// The same request as it was sent before, on open connections that ended without an answer.
    package var lostRequests: [CurlMetrics] = []
    /// Microseconds from the transfer's beginning to that of its last request, to which all times here refer.
    package var beganAfter: Int64 = 0
    package init() {}
}
