internal import CLibSSL
internal import CLibcurl
import Glibc
import TransferModel

/// An easy handle and the transfer it carries. Callbacks find it through their user pointer and touch only it and
/// its receiver. Slots are reused: `generation` tells a transfer from the next one in the same slot. Handles are not:
/// libcurl keeps the headers of an answer in its handle, and some versions still write to them, freed, when the next answer
/// begins with a folded line. So no server finds in a handle what another answer left there.
@safe final class TransferSlot {
    private(set) var easy: EasyHandle
    /// Whether the handle was given to the multi, and may hold what an answer left.
    private var isSpent = false
    /// What the handle is set up for; kept to set up another when the request goes out again.
    private var request: CurlRequest?
    unowned let loop: CurlLoop
    let index: Int
    var generation: UInt32 = 0
    var receiver: (any TransferReceiver)?
    var pool: ConnectionPool?
    /// Set by every byte in either direction; the idle clock reads it.
    var lastActivity = Instant(nanoseconds: 0)
    var tlsVersion: UInt16 = 0
    var tlsCipher: UInt16 = 0
    var peerCertificate: PeerCertificate?
    var secureConnection: UnsafeRawPointer?
    /// The server asked for a certificate of ours.
    var wasAskedForCertificate = false
    /// What the peer said when it ended the connection with a complaint, after it had asked for one.
    var alert: Int32?
    /// Contexts that were made for the TLS of the present connection: behind an HTTPS proxy the proxy's comes first.
    var secureContexts = 0
    /// OpenSSL's word on the server's certificates, when we refused them behind an HTTPS proxy. There libcurl loses it: the
    /// alert goes out through the outer TLS, which clears OpenSSL's queue of errors before it is read.
    var refusedCertificate: Int?
    /// What an HTTPS proxy said when it ended the connection with a complaint.
    var proxyAlert: Int32?
    /// The proxy is asked by CONNECT. Until it lets us through, all that comes is its answer to that.
    private(set) var tunnels = false
    private(set) var isInTunnel = false
    private(set) var tunnelHead: ResponseHead?
    private var hasReachedServer = false
    /// It asks for a tunnel, and nothing was sent through one yet.
    var isHeldByProxy: Bool { tunnels && !hasReachedServer }
    private(set) var ftp: FTPAccess?
    /// The last line that an ftp server said.
    var lastReply = ""
    var endedLongWait = false
    var fileEnd = FileEnd()
    private var headerBytes: [UInt8] = []
    private(set) var status = 0
    private var version = HTTPProtocol.http1
    var isHeadComplete = false
    /// After the body. libcurl bounds a line of it, and keeps each.
    private var trailerBytes = 0
    static let longestTrailer = 300 << 10
    /// Where the last line that was not folded begins.
    private var lastLine = 0
    /// The server broke what says how its body ends over two lines. libcurl reads the first of them alone, and we both.
    private(set) var breaksFraming = false
    /// The first header line is a continuation of none.
    private(set) var beginsFolded = false
    var isTrailerEndless: Bool { trailerBytes > Self.longestTrailer }
    /// libcurl may answer a challenge itself: then the next answer takes this one's place.
    private var answersChallenges = false
    private var heldHead: ResponseHead?
    /// Answers of any kind while libcurl signs in by itself.
    private var loginAnswers = 0
    /// A login takes three; whoever asks on and on never means to let anybody in.
    private static let mostLoginAnswers = 10
    var isLoginEndless: Bool { loginAnswers > Self.mostLoginAnswers }
    /// The connection held bytes that nobody had asked for, or it swallowed the request: that goes out once more, on one
    /// of its own.
    private(set) var metStaleConnection = false
    /// The connection was still on its way to the server through a proxy's tunnel, for somebody else: the request waits.
    private(set) var metUnreadyConnection = false
    /// A request went out, and nothing came back yet.
    private var isUnanswered = false
    /// How often it went out over HTTP/2 since anything came back: libcurl sends it again by itself where a server says that
    /// it did not look at it.
    private var unansweredStreams = 0
    private var mayRepeat = false
    private var hasBegunAgain = false
    private var sendsBody = false
    /// When libcurl last took something of the body to send it, and when the answer began.
    private var sentAt: Instant?
    private(set) var answeredAt: Instant?
    private var mayUseHTTP2 = false
    /// What was sent in vain.
    private var swallowed: [CurlMetrics] = []
    /// Of its body, since that began.
    private(set) var bodyBytes: Int64 = 0
    private var swallowedBody: Int64 = 0
    private var beganAt = Instant(nanoseconds: 0)
    private var beganAfter = TimeSpan.zero
    /// Why there was no socket for a new connection; 0 where there was.
    var socketError: Int32 = 0
    /// Why the gate let no connection through.
    var refusal: Shortage?
    /// A socket was opened, to whatever address.
    var hasOpened = false
    /// Those of this transfer that may leave the machine.
    var openedSockets: [Int32] = []
    private(set) var url = ""
    /// The one that its last request went out on, and the interface that one goes through.
    private(set) var usedSocket: Int32?
    private(set) var interface: UInt32?

    init?(loop: CurlLoop, index: Int) {
        guard let easy = EasyHandle() else { return nil }
        self.easy = easy
        self.loop = loop
        self.index = index
    }

    var userPointer: UnsafeMutableRawPointer { unsafe Unmanaged.passUnretained(self).toOpaque() }

    /// Makes sure that the handle has carried no transfer; `false` when there is no memory for another one.
    private func renewHandle() -> Bool {
        guard isSpent else { return true }
        guard let fresh = EasyHandle() else { return false }
        (easy, isSpent) = (fresh, false)
        return true
    }

    /// Adds the transfer to the loop's multi.
    func begin(in multi: UnsafeMutableRawPointer?) -> CURLMcode {
        isSpent = true
        return unsafe curl_multi_add_handle(multi, easy.raw)
    }

    /// Tells libcurl all about the request. Whatever it could do by itself is switched off. `false` when there is no memory
    /// for a handle.
    func configure(_ request: CurlRequest, receiver: any TransferReceiver) -> Bool {
        guard renewHandle() else { return false }
        self.receiver = receiver
        self.request = request
        pool = request.pool
        generation &+= 1
        headerBytes.removeAll(keepingCapacity: false)
        status = 0
        (isHeadComplete, trailerBytes) = (false, 0)
        (lastLine, breaksFraming, beginsFolded) = (0, false, false)
        tlsVersion = 0
        tlsCipher = 0
        peerCertificate = nil
        unsafe secureConnection = nil
        wasAskedForCertificate = false
        (alert, refusedCertificate, proxyAlert) = (nil, nil, nil)
        socketError = 0
        (refusal, hasOpened, usedSocket, interface) = (nil, false, nil, nil)
        url = request.url
        if !openedSockets.isEmpty { openedSockets = [] }
        (metStaleConnection, metUnreadyConnection, isUnanswered, unansweredStreams) = (false, false, false, 0)
        (mayRepeat, hasBegunAgain) = (!request.needsFreshConnection, false)
        if !swallowed.isEmpty { swallowed = [] }
        (bodyBytes, swallowedBody) = (0, 0)
        (sentAt, answeredAt) = (nil, nil)
        (beganAt, beganAfter) = (loop.clock(), .zero)
        (tunnelHead, hasReachedServer) = (nil, false)
        tunnels = request.pool.proxy?.speaksHTTP == true && !request.url.hasPrefix("http:")
        isInTunnel = tunnels
        secureContexts = 0
        answersChallenges = request.login != nil || request.proxyLogin != nil
        (heldHead, loginAnswers) = (nil, 0)
        if ftp != nil || request.ftp != nil { fileEnd = FileEnd() }
        ftp = request.ftp
        (lastReply, endedLongWait) = ("", false)
        (sendsBody, mayUseHTTP2) = (request.bodyLength ?? 0 != 0, Self.version(of: request) == .http2OverTLS)
        setUp(request)
        return true
    }

    private func setUp(_ request: CurlRequest) {
        setBasics(request)
        if let ftp = request.ftp { set(ftp) }
        setSecurity(request)
        setBody(request)
    }

    /// Inside a proxy's TLS this libcurl leaves frames of HTTP/2 unread that came with others.
    private static func version(of request: CurlRequest) -> CurlRequest.Version {
        request.isProxySecure ? .http1 : request.version
    }

    /// The transfer is over. What it used may go before the handle does.
    func leavePool() {
        leaveSocket()
        if wasAskedForCertificate || secureContexts > 0 { pool?.secureEnds.forget(self) }
        if pool?.isPassing == true { easy.leaveShare() }
        (pool, request) = (nil, nil)
    }

    private func setBasics(_ request: CurlRequest) {
        let me = unsafe userPointer
        easy.set(CURLOPT_URL, request.url)
        easy.set(CURLOPT_PATH_AS_IS, true)
        easy.set(CURLOPT_PROTOCOLS_STR, request.ftp == nil ? "http,https" : "ftp")
        easy.set(CURLOPT_NOSIGNAL, true)
        if let proxy = request.pool.proxy { setProxy(proxy, request) } else { easy.set(CURLOPT_PROXY, "") }
        easy.set(CURLOPT_QUICK_EXIT, true)
        easy.set(CURLOPT_CONNECTTIMEOUT_MS, Int(max(1, request.connectTimeout.nanoseconds / 1_000_000)))
        easy.set(bufferSize: request.receiveBuffer)
        unsafe easy.set(CURLOPT_PRIVATE, pointer: me)
        unsafe easy.set(CURLOPT_SHARE, pointer: request.pool.share)
        unsafe easy.set(CURLOPT_HEADERFUNCTION, callback: receiveHeader)
        unsafe easy.set(CURLOPT_HEADERDATA, pointer: me)
        unsafe easy.set(CURLOPT_WRITEFUNCTION, callback: receiveBody)
        unsafe easy.set(CURLOPT_WRITEDATA, pointer: me)
        unsafe easy.set(preRequest: checkConnection)
        unsafe easy.set(CURLOPT_PREREQDATA, pointer: me)
        unsafe easy.set(openSocket: openSocket)
        unsafe easy.set(CURLOPT_OPENSOCKETDATA, pointer: me)
        // The pool's, for it closes its connections after the loop is gone.
        unsafe easy.set(closeSocket: closeSocket)
        unsafe easy.set(CURLOPT_CLOSESOCKETDATA, pointer: request.pool.sockets.userPointer)
        switch Self.version(of: request) {
        case .http1: easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        case .http2OverTLS:
            easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
            easy.set(CURLOPT_PIPEWAIT, true)
        }
        if request.needsFreshConnection { easy.set(CURLOPT_FRESH_CONNECT, true) }
        // Nobody waits for a fresh one either: kept open it would only count against the host's limit.
        if request.needsFreshConnection || !request.keepsConnection { easy.set(CURLOPT_FORBID_REUSE, true) }
        setHeaders(request)
        if let login = request.login { set(login) }
    }

    /// Sets the header lines. Which bodies libcurl would announce by an `Expect` of its own differs from version to version,
    /// so that one is switched off, and `isAsking` adds the line.
    private func setHeaders(_ request: CurlRequest, isAsking: Bool = false) {
        var lines = request.headers
        if request.bodyLength != nil, ftp == nil { lines.append(isAsking ? "Expect: 100-continue" : "Expect:") }
        if !lines.isEmpty { easy.set(headers: lines) }
    }

    private func set(_ login: CurlLogin) {
        easy.set(CURLOPT_HTTPAUTH, login.method.bits)
        easy.set(CURLOPT_USERNAME, login.user)
        easy.set(CURLOPT_PASSWORD, login.password)
    }

    private func setBody(_ request: CurlRequest) {
        guard let length = request.bodyLength else {
            switch request.method {
            case "GET": break
            case "HEAD": easy.set(CURLOPT_NOBODY, true)
            default: easy.set(CURLOPT_CUSTOMREQUEST, request.method)
            }
            return
        }
        let me = unsafe userPointer
        easy.set(CURLOPT_UPLOAD, true)
        if request.method != "PUT" { easy.set(CURLOPT_CUSTOMREQUEST, request.method) }
        // To an ftp server nobody says it, and libcurl comes for the end only of what it does not know the length of.
        if ftp == nil { easy.set(CURLOPT_INFILESIZE_LARGE, offset: length) }
        unsafe easy.set(CURLOPT_READFUNCTION, callback: sendBody)
        unsafe easy.set(CURLOPT_READDATA, pointer: me)
        unsafe easy.set(seek: seekBody)
        unsafe easy.set(CURLOPT_SEEKDATA, pointer: me)
    }

    /// Whether it should begin again: only once, and what must not be repeated only where nothing was sent. A login's proof
    /// goes over the connection that it was asked for on, whatever the request may do.
    func shouldBeginAgain(after result: CURLcode) -> Bool {
        guard !hasBegunAgain, mayRepeat || swallowed.isEmpty else { return false }
        if metStaleConnection { return true }
        // Each time that it was sent over HTTP/2, the server ended the connection before it looked at it, until libcurl gave up.
        let isCut = result == CURLE_SEND_ERROR || result == CURLE_RECV_ERROR
        return mayRepeat && isCut && unansweredStreams > 1
    }

    /// Once more from the beginning, on a connection of its own; `false` when there is no memory for it.
    func beginAgain() -> Bool {
        guard prepareAgain() else { return false }
        hasBegunAgain = true
        easy.set(CURLOPT_FRESH_CONNECT, true)
        return true
    }

    /// Once more from the beginning, on whatever connection there is then.
    func prepareAgain() -> Bool {
        guard let request, renewHandle() else { return false }
        leaveSocket()
        (metStaleConnection, metUnreadyConnection, isUnanswered, unansweredStreams) = (false, false, false, 0)
        (sentAt, answeredAt) = (nil, nil)
        beganAfter = loop.clock() - beganAt
        setUp(request)
        return true
    }

    // MARK: Called by libcurl

    /// libcurl sends by itself up to five times more what a connection that was open has swallowed. That would be told
    /// nobody: instead we send it once more, and on a connection that nothing can be wrong with. A request that must
    /// not be repeated is never sent on one that was open.
    ///
    /// Whether it was about to, and is stopped. In HTTP/2 a server says that it did not look at a request, which costs nothing.
    func stopsRepetition() -> Bool {
        guard isUnanswered else { return metStaleConnection }
        var metrics = loop.measure(self)
        metrics.swallowed = []
        (metrics.isReused, metrics.openedConnections) = (true, 0)
        metrics.uploadedBytes = swallowedBody
        swallowed.append(metrics)
        (metStaleConnection, isUnanswered) = (true, false)
        return true
    }

    /// A request is about to go out.
    func noteRequest() {
        guard ftp == nil else { return }
        // libcurl answers it.
        heldHead = nil
        let ssl = unsafe secureStream()
        let speaksHTTP2 = unsafe ssl.map { unsafe isHTTP2($0) } ?? false
        // What it speaks is known only now, and libcurl has not yet written the request.
        if let request, request.expectsContinue, sendsBody { setHeaders(request, isAsking: !speaksHTTP2) }
        if speaksHTTP2 { unansweredStreams += 1 } else { isUnanswered = true }
    }

    /// What was sent before counts as well.
    func addSwallowed(to metrics: inout CurlMetrics) {
        metrics.swallowed = swallowed
        let began = beganAt + beganAfter
        metrics.sent = sentAt.map { ($0 - began).nanoseconds / 1_000 }
        metrics.answered = answeredAt.map { ($0 - began).nanoseconds / 1_000 }
        metrics.beganAfter = beganAfter.nanoseconds / 1_000
    }

    /// Another connection is made, for whatever reason libcurl has.
    func beginConnection() {
        secureContexts = 0
        isInTunnel = tunnels
        guard tunnels else { return }
        headerBytes = []
        tunnelHead = nil
    }

    /// The connection reaches to the server, and nothing was sent to it yet.
    func reachServer() {
        isInTunnel = false
        hasReachedServer = true
        if ftp != nil { beginFile() }
        noteSecurity()
    }

    /// Before a request is sent. An answer is whatever comes first on its connection: on one that was used before,
    /// bytes that lie there already belong to an earlier answer that was longer than announced, or were never asked
    /// for (a 408 to nobody). In HTTP/2 each frame says whose it is.
    ///
    /// And libcurl puts a request that may go over HTTP/2 on a connection of HTTP/1.1 over which another's answer comes, once it
    /// met HTTP/2 at the host: the two would read each other's bytes.
    ///
    /// Where it met HTTP/2, it also puts the request on a connection for which a proxy is still asked for a tunnel.
    func mayUse(_ connection: PoolSockets.Connection) -> Bool {
        if stopsRepetition() { return false }
        let ssl = unsafe secureStream()
        if tunnels, ftp == nil, unsafe ssl.map({ unsafe SSL_is_init_finished($0) }) != 1 {
            metUnreadyConnection = true
            return false
        }
        guard let sockets = pool?.sockets, let (socket, wasUsed) = sockets.meet(connection) else { return true }
        if socket != usedSocket { leaveSocket() }
        (usedSocket, interface) = (socket, sockets.interface(of: socket))
        if !wasUsed { loop.admitWaiting() }
        let speaksHTTP2 = unsafe ssl.map { unsafe isHTTP2($0) } ?? false
        if unsafe ssl != nil, mayUseHTTP2, !speaksHTTP2, sockets.isOthers(socket, than: self) {
            (usedSocket, metStaleConnection) = (nil, true)
            return false
        }
        sockets.began(socket, self)
        if !wasUsed || speaksHTTP2 { return true }
        let isDecoded = unsafe ssl.map { unsafe SSL_pending($0) > 0 } ?? false
        metStaleConnection = isDecoded || PoolSockets.isReadable(socket)
        return !metStaleConnection
    }

    private func leaveSocket() {
        if let usedSocket { pool?.sockets.left(usedSocket, self) }
        usedSocket = nil
    }

    /// Scheme and authority that it goes to.
    var urlOrigin: Substring {
        let text = url.utf8
        let start = text.firstIndex(of: UInt8(ascii: "/")).map { text.index($0, offsetBy: 2) } ?? text.startIndex
        let end = text[start...].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }
        return url[..<(end ?? text.endIndex)]
    }

    func isHTTP2(_ ssl: OpaquePointer) -> Bool {
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        unsafe SSL_get0_alpn_selected(ssl, &name, &length)
        return unsafe UnsafeBufferPointer(start: name, count: Int(length)).elementsEqual("h2".utf8)
    }

    /// One header line, or a status line, or the empty line after the last.
    func receive(headerLine bytes: UnsafeRawBufferPointer) -> Bool {
        lastActivity = loop.clock()
        if isInTunnel { return unsafe receive(tunnelLine: bytes) }
        (isUnanswered, unansweredStreams) = (false, 0)
        if ftp != nil {
            unsafe noteReply(bytes)
            return true
        }
        if unsafe bytes.starts(with: [0x48, 0x54, 0x54, 0x50, 0x2F]) {  // HTTP/
            unsafe beginHead(bytes)
            return !isLoginEndless
        }
        if unsafe bytes[0] != 0x0D, unsafe bytes[0] != 0x0A {
            if !isHeadComplete {
                unsafe note(headerLine: bytes)
                return !breaksFraming && !beginsFolded
            }
            // What comes after the body is no part of the head.
            trailerBytes += bytes.count
            return !isTrailerEndless
        }
        if status == 104 { return receiver?.received(interim: HeaderBlock(raw: headerBytes)) ?? true }
        // After a 101 no answer comes that is one.
        guard status >= 200 || status == 101, !isHeadComplete, let receiver else { return true }
        isHeadComplete = true
        let block = HeaderBlock(raw: headerBytes)
        headerBytes = []
        var head = ResponseHead(status: status, version: version, headers: block)
        head.wasAskedForCertificate = wasAskedForCertificate
        if answersChallenges, status == 401 || status == 407 {
            heldHead = head
            return true
        }
        let isAsked = status == 401 || status == 407
        if isAsked && bodyBytes > Self.mostUnread || sendsBody && bodyBytes == 0 { closeAfterwards() }
        return receiver.received(head: head)
    }

    private func note(headerLine bytes: UnsafeRawBufferPointer) {
        if unsafe bytes[0] != 0x20, unsafe bytes[0] != 0x09 {
            lastLine = headerBytes.count
        } else if headerBytes.isEmpty {
            beginsFolded = true
        } else {
            let name = headerBytes.dropFirst(lastLine).prefix { $0 != 0x3A }
            let lower = String(decoding: name, as: UTF8.self).lowercased()
            breaksFraming = lower == "transfer-encoding" || lower == "content-length"
        }
        unsafe headerBytes.append(contentsOf: bytes)
    }

    /// Whoever asks who we are before the body is read may never read it: what was sent of it then stands before the next
    /// request. Whoever was asked whether to send one (`Expect`) and answers may wait for it all the same, and would take
    /// the next request for it. A new connection costs less.
    func closeAfterwards() {
        guard version == .http1 else { return }
        easy.set(CURLOPT_FORBID_REUSE, true)
    }

    /// So much lies in the buffers of whoever reads requests, and is read with them.
    private static let mostUnread: Int64 = 16 << 10

    /// What libcurl did not answer is for the receiver: its body comes, or its end. `false` ends the transfer.
    func handOverHeldHead() -> Bool {
        guard let head = heldHead else { return true }
        heldHead = nil
        return receiver?.received(head: head) ?? false
    }

    /// A line of a proxy's answer to CONNECT. Whatever it says, it is not the server's.
    private func receive(tunnelLine bytes: UnsafeRawBufferPointer) -> Bool {
        if unsafe bytes.starts(with: [0x48, 0x54, 0x54, 0x50, 0x2F]) {
            unsafe beginHead(bytes)
        } else if unsafe bytes[0] != 0x0D, unsafe bytes[0] != 0x0A {
            beginsFolded = unsafe headerBytes.isEmpty && (bytes[0] == 0x20 || bytes[0] == 0x09)
            unsafe headerBytes.append(contentsOf: bytes)
        } else {
            tunnelHead = ResponseHead(status: status, version: .http1, headers: HeaderBlock(raw: headerBytes))
            isInTunnel = !(200..<300).contains(status)
            headerBytes = []
            status = 0
        }
        return headerBytes.count <= Self.longestTunnelHead && !isLoginEndless && !beginsFolded
    }

    /// libcurl bounds a line of it, and not how many there are.
    private static let longestTunnelHead = 64 << 10

    private func beginHead(_ line: UnsafeRawBufferPointer) {
        headerBytes.removeAll(keepingCapacity: true)
        headerBytes.reserveCapacity(384)
        lastLine = 0
        isHeadComplete = false
        if sendsBody { answeredAt = loop.clock() }
        heldHead = nil
        version = unsafe line.count > 5 && line[5] == 0x32 ? .http2 : .http1
        status = 0
        guard let space = unsafe line.firstIndex(of: 0x20) else { return }
        for place in space + 1..<min(space + 4, line.count) {
            let byte = unsafe line[place]
            guard (0x30...0x39).contains(byte) else {
                status = 0
                return
            }
            status = status * 10 + Int(byte - 0x30)
        }
        if answersChallenges, status >= 200 { loginAnswers += 1 }
    }

    func receive(body bytes: UnsafeRawBufferPointer) -> BodyReply {
        lastActivity = loop.clock()
        if heldHead != nil, !handOverHeldHead() { return .stop }
        guard ftp != nil else { return unsafe receiver?.received(body: bytes) ?? .stop }
        if !announceFile() { return .stop }
        if let reply = heldBack(before: bytes.count) { return reply }
        let reply = unsafe receiver?.received(body: bytes) ?? .stop
        if reply == .taken { fileEnd.arrived += Int64(bytes.count) }
        return reply
    }

    func send(into buffer: UnsafeMutableRawBufferPointer) -> BodyFill {
        if ftp != nil, fileEnd.isBodyOver { return endOfBody() }
        lastActivity = loop.clock()
        let fill = unsafe receiver?.fillBody(buffer) ?? .stop
        guard case .bytes(let count) = fill else { return fill }
        bodyBytes += Int64(count)
        sentAt = loop.clock()
        return ftp != nil && count == 0 ? endOfBody() : fill
    }

    func rewindBody(to offset: Int64) -> Bool {
        (swallowedBody, bodyBytes) = (bodyBytes, 0)
        return receiver?.rewindBody(to: offset, isUnanswered: isUnanswered) == true
    }
}

@available(*, unavailable)
extension TransferSlot: Sendable {}

extension CurlLogin.Method {
    /// As libcurl's options name it.
    var bits: Int { self == .ntlm ? tr_auth_ntlm : tr_auth_negotiate }
}

// C callbacks are file-scope functions: a closure formed in an isolated place would trap on the loop's thread.

func slot(_ pointer: UnsafeMutableRawPointer?) -> TransferSlot? {
    guard let pointer = unsafe pointer else { return nil }
    return unsafe Unmanaged<TransferSlot>.fromOpaque(pointer).takeUnretainedValue()
}

private func receiveHeader(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ user: UnsafeMutableRawPointer?
) -> Int {
    guard let slot = unsafe slot(user), let bytes = unsafe bytes, count > 0 else { return 0 }
    return unsafe slot.receive(headerLine: UnsafeRawBufferPointer(start: bytes, count: size * count)) ? count : -1
}

private func receiveBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ user: UnsafeMutableRawPointer?
) -> Int {
    guard count > 0 else { return 0 }
    guard let slot = unsafe slot(user), let bytes = unsafe bytes else { return -1 }
    switch unsafe slot.receive(body: UnsafeRawBufferPointer(start: bytes, count: size * count)) {
    case .taken: return count
    case .pause: return Int(tr_write_pause)
    case .stop: return -1
    }
}

private func sendBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ user: UnsafeMutableRawPointer?
) -> Int {
    guard let slot = unsafe slot(user), let bytes = unsafe bytes else { return Int(tr_read_abort) }
    let buffer = unsafe UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
    switch unsafe slot.send(into: buffer) {
    case .bytes(let count): return count
    case .pause: return Int(tr_read_pause)
    case .stop: return Int(tr_read_abort)
    }
}

private func seekBody(_ user: UnsafeMutableRawPointer?, _ offset: Int, _ origin: Int32) -> Int32 {
    guard let slot = unsafe slot(user), origin == SEEK_SET else { return Int32(CURL_SEEKFUNC_CANTSEEK) }
    return slot.rewindBody(to: Int64(offset)) ? Int32(CURL_SEEKFUNC_OK) : Int32(CURL_SEEKFUNC_FAIL)
}

private func checkConnection(
    _ user: UnsafeMutableRawPointer?, _ remote: UnsafeMutablePointer<CChar>?, _ local: UnsafeMutablePointer<CChar>?,
    _ remotePort: Int32, _ localPort: Int32
) -> Int32 {
    guard let slot = unsafe slot(user), let remote = unsafe remote else { return CURL_PREREQFUNC_OK }
    let connection = PoolSockets.Connection(
        remote: unsafe String(cString: remote), remotePort: remotePort, localPort: localPort)
    guard slot.mayUse(connection) else { return CURL_PREREQFUNC_ABORT }
    slot.reachServer()
    slot.noteRequest()
    return CURL_PREREQFUNC_OK
}

private func openSocket(
    _ user: UnsafeMutableRawPointer?, _ purpose: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let slot = unsafe slot(user), let address = unsafe address, !slot.stopsRepetition() else { return -1 }
    let (facts, place) = unsafe (address.pointee, MemoryLayout<curl_sockaddr>.offset(of: \.addr) ?? 0)
    let bytes = unsafe UnsafeRawBufferPointer(
        start: UnsafeRawPointer(address) + place, count: Int(facts.addrlen))
    let made = slot.makeSocket(facts.family, facts.socktype, facts.protocol, to: unsafe NetworkAddress(bytes))
    slot.beginConnection()
    return made
}

private func closeSocket(_ user: UnsafeMutableRawPointer?, _ socket: curl_socket_t) -> Int32 {
    if let user = unsafe user { unsafe Unmanaged<PoolSockets>.fromOpaque(user).takeUnretainedValue().closed(socket) }
    return close(socket)
}
