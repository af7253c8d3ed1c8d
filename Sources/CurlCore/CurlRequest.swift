package import TransferModel

/// Credentials with which libcurl itself authenticates a connection, in as many requests as that takes. The answers to
/// these requests are only for libcurl.
package struct CurlLogin: Hashable, Sendable {
    /// The authentication method.
    package enum Method: Sendable { case ntlm, negotiate }
    /// The authentication method.
    package let method: Method
    /// User name.
    package let user: String
    /// Password, unencrypted.
    package let password: String
    package init(method: Method, user: String, password: String) {
        self.method = method
        self.user = user
        self.password = password
    }

    /// Compares byte by byte: a connection belongs to the user that the server took the bytes for.
    package static func == (left: CurlLogin, right: CurlLogin) -> Bool {
        left.method == right.method && left.user.isExactly(right.user) && left.password.isExactly(right.password)
    }
}

/// The complete options of one request. libcurl decides nothing itself: no redirect, cookie or proxy, nor which
/// credentials it sends, and how.
package struct CurlRequest {
    /// The HTTP version to ask for.
    package enum Version: Sendable { case http1, http2OverTLS }

    /// URL of the request, percent-encoded.
    package var url: String
    /// Method of the request.
    package var method: String
    /// Complete header lines, `Name: value`.
    package var headers: [String] = []
    /// Length of the body in bytes; `nil` for no body, -1 for unknown length.
    package var bodyLength: Int64?
    /// Whether the request asks the server by `Expect: 100-continue`, over HTTP/1.1, before its body is sent.
    package var expectsContinue = false
    /// The HTTP version to ask for.
    package var version = Version.http1
    /// Whether the request needs a TLS handshake with the server.
    var isSecure: Bool { url.hasPrefix("https:") }
    /// Whether the request needs a TLS handshake with a proxy.
    var isProxySecure: Bool { pool.proxy?.isSecure == true }
    /// Bound of the time to connect, handshakes included.
    package var connectTimeout = TimeSpan.seconds(30)
    /// The pool whose connections the request may use, which also gives its TLS settings and proxy.
    package var pool: ConnectionPool
    /// Whether the request opens a connection of its own. A request that must not be sent twice must not use a
    /// connection that may be dead already: libcurl would silently send it again.
    package var needsFreshConnection = false
    /// Whether other requests may use its connection afterwards.
    package var keepsConnection = true
    /// Size of libcurl's receive buffer in bytes.
    package var receiveBuffer = 64 << 10
    /// What decides about the addresses that are connected to; `nil` where all may be.
    package var addresses: AddressLimits?
    /// Options for a file on an ftp server; `nil` for http.
    package var ftp: FTPAccess?
    /// Credentials for the server that libcurl uses itself; `nil` without any.
    package var login: CurlLogin?
    /// Value of `Proxy-Authorization` for the proxy alone, in place of the one in `ProxySettings`; `nil` without.
    package var proxyAuthorization: String?
    /// Credentials for the proxy alone that libcurl uses itself; `nil` without any.
    package var proxyLogin: CurlLogin?

    package init(url: String, method: String, pool: ConnectionPool) {
        self.url = url
        self.method = method
        self.pool = pool
    }
}

/// The options of an FTP transfer beside its path.
package struct FTPAccess: Sendable {
    /// User name; `nil` for `anonymous`.
    package var user: String?
    /// Password, unencrypted.
    package var password: String?
    /// Offset in bytes of the first byte to send (`REST`).
    package var offset: Int64 = 0
    package init() {}
}

/// The facts that an FTP server states about a file before it sends it.
package struct FTPFacts: Hashable, Sendable {
    /// Bytes from the offset on; `nil` when the server does not say (`SIZE`).
    package var length: Int64?
    /// Time of the last change (`MDTM`); `nil` when the server does not say.
    package var modified: WallTime?
    /// Offset in bytes at which the file begins.
    package var offset: Int64 = 0
    /// Whether the server does not begin at the requested offset.
    package var refusesOffset = false
    package init() {}
}

/// Receives what a transfer delivers while it runs. Every call comes from inside libcurl on the loop's thread: an
/// implementation may change itself and nothing else, and must not call the loop.
package protocol TransferReceiver: AnyObject {
    /// A request is about to be sent on a connection to this address: the server's, or a proxy's.
    func reached(_ address: String)
    /// Receives the headers of the final answer: never of a 1xx, except a 101, which no answer follows. `false` ends
    /// the transfer.
    func received(head: ResponseHead) -> Bool
    /// Receives the headers of a 104: the server could continue from the bytes it has so far. `false` ends the
    /// transfer.
    func received(interim headers: HeaderBlock) -> Bool
    /// Receives the facts about an FTP file in place of a head, before its first byte or at its end. `false` ends the
    /// transfer.
    func received(file: FTPFacts) -> Bool
    /// Receives the next bytes of the body, valid during the call.
    func received(body bytes: UnsafeRawBufferPointer) -> BodyReply
    /// Counts bytes that came with a chunked body and are none of its own: chunk sizes, extensions and trailers. `pause`
    /// keeps more from being read until `CurlLoop.resume`.
    func received(framing count: Int) -> BodyReply
    /// Writes the next bytes of the request's body into `buffer`.
    func fillBody(_ buffer: UnsafeMutableRawBufferPointer) -> BodyFill
    /// Whether the body can be sent again from `offset`. `isUnanswered`: the fate of the first request is unknown; else
    /// an answer came, or the server said in HTTP/2 that it did not process the request.
    func rewindBody(to offset: Int64, isUnanswered: Bool) -> Bool
}

/// The receiver's reply to bytes of a body.
package enum BodyReply: Sendable {
    /// The bytes were accepted.
    case taken
    /// The bytes were not accepted: they come again after `CurlLoop.resume`.
    case pause
    /// End the transfer.
    case stop
}

/// The receiver's reply to the request for bytes of a body.
package enum BodyFill: Sendable {
    /// Number of bytes that were put into the buffer; 0 at the end.
    case bytes(Int)
    /// No bytes yet: ask again after `CurlLoop.resume`.
    case pause
    /// End the transfer.
    case stop
}

extension TransferReceiver {
    /// Ends the transfer: receivers for http have no FTP files.
    package func received(file: FTPFacts) -> Bool { false }
    /// Ignores the address.
    package func reached(_ address: String) {}
    /// Ignores a 104.
    package func received(interim headers: HeaderBlock) -> Bool { true }
    /// Ignores framing.
    package func received(framing count: Int) -> BodyReply { .taken }
}

/// A final answer's status line and headers.
package struct ResponseHead: Sendable {
    /// Status of the answer.
    package var status: Int
    /// Protocol version of the answer.
    package var version: HTTPProtocol
    /// Headers of the answer.
    package var headers: HeaderBlock
    /// Whether the connection was made for this request and the server asked for a client certificate then.
    package var wasAskedForCertificate = false
    /// Whether the head came from an HTTP server; other schemes' answers are translated into HTTP's terms.
    package var isHTTP = true
    package init(status: Int, version: HTTPProtocol, headers: HeaderBlock) {
        self.status = status
        self.version = version
        self.headers = headers
    }
}

/// How a transfer ended by libcurl's result, with its measurements.
package struct CurlCompletion {
    /// The transfer's receiver.
    package let receiver: any TransferReceiver
    /// libcurl's result.
    package let code: CurlCode
    /// Text of the error; empty on success.
    package let message: String
    /// `errno` of the failed system call; 0 without one.
    package let systemError: Int32
    /// OpenSSL's verdict on the certificates of the side that failed: the proxy comes before the server.
    package let verifyResult: Int
    /// What became of the client certificate, when the server had asked for one and then sent an alert.
    package let certificateAlert: CertificateAlert?
    /// Whether the server asked for a client certificate when the connection was made.
    package let wasAskedForCertificate: Bool
    /// A proxy's answer to CONNECT; never the server's answer.
    package let proxyHead: ResponseHead?
    /// How the proxy failed, when the transfer failed because of it.
    package let proxyFailure: ProxyFailure?
    /// Whether TLS was closed in order; set only for a body that ended with its connection.
    package let sawCloseNotify: Bool
    /// Whether an FTP server refused the command.
    package let isRefused: Bool
    /// Whether an FTP server refused the command for now (4xx).
    package let isPutOff: Bool
    /// Whether an FTP server sent more bytes than it had announced: they are of another version, or do not begin at the
    /// requested offset.
    package let isLonger: Bool
    /// Why the pool's gate allowed no connection to any address of the host.
    package let refusal: Shortage?
    /// Why an address was not connected to, where the transfer failed for that reason.
    package let objection: AddressObjection?
    /// Whether no socket was opened for a family of addresses that the pool is limited to.
    package let hasOtherFamily: Bool
    /// The transfer's measurements.
    package let metrics: CurlMetrics

    package init(
        receiver: any TransferReceiver, code: CurlCode, message: String = "", systemError: Int32 = 0,
        verifyResult: Int = 0, certificateAlert: CertificateAlert? = nil, wasAskedForCertificate: Bool = false,
        proxyHead: ResponseHead? = nil, proxyFailure: ProxyFailure? = nil, sawCloseNotify: Bool = false,
        isRefused: Bool = false, isPutOff: Bool = false, isLonger: Bool = false, refusal: Shortage? = nil,
        objection: AddressObjection? = nil, hasOtherFamily: Bool = false,
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
        self.objection = objection
        self.hasOtherFamily = hasOtherFamily
        self.metrics = metrics
    }
}

/// libcurl's measurements. Times are in microseconds since the request was handed over; 0 or `nil` for a phase that did
/// not occur.
package struct CurlMetrics: Sendable {
    /// End of the name lookup.
    package var nameLookup: Int64 = 0
    /// End of the TCP connect to the server or proxy.
    package var connect: Int64 = 0
    /// End of the TLS handshake.
    package var secureConnect: Int64 = 0
    /// When the request was about to be sent.
    package var preTransfer: Int64 = 0
    /// Arrival of the answer's first byte for a request without a body; for one with a body libcurl reports the first
    /// byte in either direction.
    package var startTransfer: Int64 = 0
    /// When the last byte of a body was sent, as the loop's turns saw it; `nil` without a body.
    package var sent: Int64?
    /// When the answer to a request with a body began, as the loop's turns saw it; `nil` without a body.
    package var answered: Int64?
    /// End of the transfer.
    package var total: Int64 = 0
    /// Whether the request used an open connection.
    package var isReused = false
    /// Number of connections that were opened.
    package var openedConnections = 0
    /// Bytes of the request's head.
    package var requestBytes: Int64 = 0
    /// Bytes of the answer's headers.
    package var headerBytes: Int64 = 0
    /// Bytes of the request's body that were sent.
    package var uploadedBytes: Int64 = 0
    /// Bytes of the answer's body that arrived.
    package var downloadedBytes: Int64 = 0
    /// Local IP address of the connection.
    package var localAddress: String?
    /// Local port of the connection.
    package var localPort: UInt16 = 0
    /// IP address of the server, or of the proxy.
    package var remoteAddress: String?
    /// Port of the server, or of the proxy.
    package var remotePort: UInt16 = 0
    /// TLS version by its number in the protocol, such as 0x0304 for 1.3; 0 without TLS.
    package var tlsVersion: UInt16 = 0
    /// Cipher suite by its number in the protocol; 0 without TLS.
    package var tlsCipher: UInt16 = 0
    /// `sha256:…` of the server's certificate.
    package var tlsFingerprint: String?
    /// When the server's certificate expires.
    package var tlsExpiry: WallTime?
    /// Whether the transfer used a proxy.
    package var isProxied = false
    /// Index of the network interface, when the connection left the machine.
    package var interface: UInt32?
    /// Measurements of earlier attempts to send the request, on open connections that ended without an answer.
    package var lostRequests: [CurlMetrics] = []
    /// Microseconds from the transfer's beginning to that of its last request, to which all times here refer.
    package var beganAfter: Int64 = 0
    package init() {}
}
