internal import CLibSSL
internal import CLibcurl
import Glibc
import TransferModel

/// An easy handle and the transfer it carries. Callbacks find it through their user pointer and touch only it and its
/// receiver. Slots are reused: `generation` tells a transfer from the next one in the same slot. Handles are not:
/// libcurl keeps the headers of an answer in its handle, and some versions still write to them, freed, when the next
/// answer begins with a folded line. So no server finds in a handle what another answer left there.
@safe final class TransferSlot {
    private(set) var easy: EasyHandle
    /// Whether the handle was given to the multi, and may hold what an answer left.
    private var isSpent = false
    unowned let loop: CurlLoop
    /// The slot's place among those of its loop.
    let index: Int
    /// Counts the transfers of this slot.
    private(set) var generation: UInt32 = 0
    /// The owner of the transfer; `nil` between transfers.
    private(set) var receiver: (any TransferReceiver)?
    /// When a byte last moved in either direction; the idle clock reads it.
    var lastActivity = Instant(nanoseconds: 0)
    /// Everything that is known of the present transfer.
    var state = TransferState()

    init?(loop: CurlLoop, index: Int) {
        guard let easy = EasyHandle() else { return nil }
        self.easy = easy
        self.loop = loop
        self.index = index
    }

    /// The pool of the present transfer's connections.
    var pool: ConnectionPool? { state.request?.pool }
    /// The options of the present FTP transfer; `nil` for other schemes.
    var ftp: FTPAccess? { state.request?.ftp }

    var userPointer: UnsafeMutableRawPointer { unsafe Unmanaged.passUnretained(self).toOpaque() }

    // MARK: Life of a transfer

    /// Sets the handle up for a request. Returns `false` when there is no memory for a handle.
    func configure(_ request: CurlRequest, receiver: any TransferReceiver) -> Bool {
        guard renewHandle() else { return false }
        self.receiver = receiver
        generation &+= 1
        state = TransferState(request, now: loop.clock())
        setUp(request)
        return true
    }

    /// Makes sure that the handle has carried no transfer. Returns `false` when there is no memory for another one.
    private func renewHandle() -> Bool {
        guard isSpent else { return true }
        guard let fresh = EasyHandle() else { return false }
        (easy, isSpent) = (fresh, false)
        return true
    }

    /// Adds the transfer to the loop's multi.
    func add(to multi: UnsafeMutableRawPointer?) -> CURLMcode {
        isSpent = true
        return unsafe curl_multi_add_handle(multi, easy.raw)
    }

    /// Whether the request should be sent once more after libcurl ended the transfer with `result`.
    func shouldBeginAgain(after result: CURLcode) -> Bool {
        state.repetition.shouldBeginAgain(isCut: result == CURLE_SEND_ERROR || result == CURLE_RECV_ERROR)
    }

    /// Sets up the same request once more, on a connection of its own. Returns `false` where that cannot be.
    func beginAgain() -> Bool {
        guard prepareAgain() else { return false }
        state.repetition.beganAgain()
        easy.set(CURLOPT_FRESH_CONNECT, true)
        return true
    }

    /// Sets up the same request once more, on any connection. Returns `false` when there is no memory for it, or its
    /// body cannot begin anew.
    func prepareAgain() -> Bool {
        guard let request = state.request, restartBody(), renewHandle() else { return false }
        leaveSocket()
        state.prepareAgain(now: loop.clock())
        setUp(request)
        return true
    }

    /// Ends the present transfer: lets go of its receiver, its connection and its pool. The pool may go before the
    /// handle does.
    func clear() {
        receiver = nil
        leaveSocket()
        if state.tls.wasAskedForCertificate || state.tls.contexts > 0 { pool?.secureEnds.forget(self) }
        if pool?.isPassing == true { easy.leaveShare() }
        ignoreFraming()
        state = TransferState()
    }

    private func leaveSocket() {
        if let used = state.sockets.used { pool?.sockets.left(used, self) }
        state.sockets.used = nil
    }

    // MARK: Connections

    /// Whether a request may be sent on a connection; called before it is sent.
    ///
    /// An answer is whatever comes first on its connection. On a connection that was used before, bytes that can
    /// already be read belong to an earlier answer that was longer than announced, or to a 408 for no request. In
    /// HTTP/2 each frame says to which request it belongs.
    ///
    /// libcurl also puts a request that may go over HTTP/2 on a connection of HTTP/1.1 over which another transfer's
    /// answer comes, once it met HTTP/2 at the host: the two would read each other's bytes. And it puts it on a
    /// connection for which a proxy is still asked for a tunnel.
    ///
    /// The pool's connections may lead to addresses that this request must not use.
    func mayUse(_ connection: PoolSockets.Connection) -> Bool {
        if stopsRepetition() { return false }
        let ssl = unsafe secureStream()
        let hasHandshake = unsafe ssl.map { unsafe SSL_is_init_finished($0) } == 1
        if state.tunnel.isNeeded, state.request?.isSecure == true, !hasHandshake {
            state.repetition.foundUnreadyConnection()
            return false
        }
        if refuses(connection) {
            state.repetition.foundStaleConnection()
            return false
        }
        guard let pool, let (socket, wasUsed) = use(connection, of: pool) else { return true }
        let sockets = pool.sockets
        if socket != state.sockets.used { leaveSocket() }
        (state.sockets.used, state.sockets.interface) = (socket, sockets.interface(of: socket))
        if !wasUsed { loop.admitWaiting() }
        let speaksHTTP2 = unsafe ssl.map { unsafe isHTTP2($0) } ?? false
        if unsafe ssl != nil, mayUseHTTP2, !speaksHTTP2, sockets.isOthers(socket, than: self) {
            state.sockets.used = nil
            state.repetition.foundStaleConnection()
            return false
        }
        sockets.began(socket, self)
        if !wasUsed || speaksHTTP2 { return true }
        let isDecoded = unsafe ssl.map { unsafe SSL_pending($0) > 0 } ?? false
        guard isDecoded || PoolSockets.isReadable(socket) else { return true }
        state.repetition.foundStaleConnection()
        return false
    }

    private func use(_ connection: PoolSockets.Connection, of pool: ConnectionPool) -> (socket: Int32, wasUsed: Bool)? {
        pool.path.isForOneTransfer ? pool.sockets.useOwn(of: self) : pool.sockets.use(connection)
    }

    private var mayUseHTTP2: Bool { state.request.map(Self.version) == .http2OverTLS }

    /// Whether libcurl was about to send the request once more by itself, and is stopped. In HTTP/2 a server says that
    /// it did not process a request, so sending it again is harmless.
    func stopsRepetition() -> Bool {
        guard state.repetition.isUnanswered else { return state.repetition.metStaleConnection }
        var metrics = loop.measure(self)
        metrics.lostRequests = []
        (metrics.isReused, metrics.openedConnections) = (true, 0)
        metrics.uploadedBytes = state.sending.bytesOfLast
        state.repetition.requestLost(metrics)
        return true
    }

    /// Notes that libcurl opens another connection, for whatever reason.
    func connectionBegan() {
        state.tls.contexts = 0
        state.tunnel.connectionBegan()
    }

    /// Notes that the connection reaches the server, and a request is about to be sent on it.
    func serverReached(at address: String) {
        receiver?.reached(address)
        lastActivity = loop.clock()
        state.tunnel.serverReached()
        if ftp != nil { beginFile() }
        noteSecurity()
        guard ftp == nil else { return }
        state.login.requestSent()
        let ssl = unsafe secureStream()
        let speaksHTTP2 = unsafe ssl.map { unsafe isHTTP2($0) } ?? false
        // The connection's protocol is known only now, and libcurl has not yet written the request.
        if let request = state.request, request.expectsContinue, state.sending.hasBody {
            setHeaders(request, isAsking: !speaksHTTP2)
        }
        state.repetition.requestSent(overHTTP2: speaksHTTP2)
    }

    /// Whether the TLS connection speaks HTTP/2, by what its handshake agreed on.
    func isHTTP2(_ ssl: OpaquePointer) -> Bool {
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        unsafe SSL_get0_alpn_selected(ssl, &name, &length)
        return unsafe UnsafeBufferPointer(start: name, count: Int(length)).elementsEqual("h2".utf8)
    }

    /// Scheme and authority that the request goes to.
    var urlOrigin: Substring {
        let url = state.request?.url ?? ""
        let text = url.utf8
        let start = text.firstIndex(of: UInt8(ascii: "/")).map { text.index($0, offsetBy: 2) } ?? text.startIndex
        let end = text[start...].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }
        return url[..<(end ?? text.endIndex)]
    }

    // MARK: What arrives

    /// Reads one header line, a status line, or the empty line after the last. Returns `false` to end the transfer.
    func receive(headerLine bytes: UnsafeRawBufferPointer) -> Bool {
        if state.tunnel.isOpening { return unsafe receive(tunnelLine: bytes) }
        state.repetition.answerArrived()
        if ftp != nil {
            lastActivity = loop.clock()
            unsafe noteReply(bytes)
            return true
        }
        switch unsafe state.head.read(bytes) {
        case .status: return answerBegan(status: state.head.status)
        case .field, .trailer: return true
        case .violation: return false
        case .end: return headEnded()
        }
    }

    /// Reads a line of a proxy's answer to CONNECT, which is never the server's.
    private func receive(tunnelLine bytes: UnsafeRawBufferPointer) -> Bool {
        lastActivity = loop.clock()
        if unsafe state.tunnel.read(bytes) == .status { _ = answerBegan(status: state.tunnel.status) }
        return !state.tunnel.isTooLong && !state.login.isEndless && state.tunnel.problem == nil
    }

    private func answerBegan(status: Int) -> Bool {
        state.sending.answerBegan(at: loop.clock())
        state.login.answerBegan(status: status)
        return !state.login.isEndless
    }

    /// Handles the empty line after a head, or after a trailer.
    private func headEnded() -> Bool {
        let status = state.head.status
        // Only a whole final head is progress: interim answers could come forever.
        state.lastWasInterim = (100..<200).contains(status) && status != 101
        if !state.lastWasInterim { lastActivity = loop.clock() }
        if status == 104 { return receiver?.received(interim: state.head.headers) ?? true }
        // After a 101 no other answer comes.
        guard status >= 200 || status == 101, !state.head.isComplete, let receiver else { return true }
        var head = state.head.completeHead()
        head.wasAskedForCertificate = state.tls.wasAskedForCertificate
        watchFraming(isChunked: head.version == .http1 && head.headers.has("transfer-encoding"))
        if state.login.holdsBack(head) { return true }
        let isAsked = status == 401 || status == 407
        let sent = state.sending.bytes
        if isAsked && sent > Self.mostUnread || state.sending.hasBody && sent == 0 { closeAfterwards() }
        return receiver.received(head: head)
    }

    /// Closes the connection after this answer.
    ///
    /// A server that asks for a login before it read the body may never read it: what was sent of it then stands before
    /// the next request. A server that was asked whether to send a body (`Expect`) may wait for it after its answer all
    /// the same, and would take the next request for it. A new connection costs less.
    func closeAfterwards() {
        guard state.head.version == .http1 else { return }
        easy.set(CURLOPT_FORBID_REUSE, true)
    }

    /// Bytes of a request's body that fit into a server's buffers: it reads them with the request, whether it wants the
    /// body or not.
    private static let mostUnread: Int64 = 16 << 10

    /// Hands a challenge that libcurl did not answer to the receiver. Returns `false` to end the transfer.
    func handOverHeldHead() -> Bool {
        guard let head = state.login.takeHeldHead() else { return true }
        return receiver?.received(head: head) ?? false
    }

    func receive(body bytes: UnsafeRawBufferPointer) -> BodyReply {
        lastActivity = loop.clock()
        if state.login.heldHead != nil, !handOverHeldHead() { return .stop }
        guard ftp != nil else { return unsafe receiver?.received(body: bytes) ?? .stop }
        if !announceFile() { return .stop }
        if let reply = heldBack(before: bytes.count) { return reply }
        let reply = unsafe receiver?.received(body: bytes) ?? .stop
        if reply == .taken { state.fileEnd.arrived += Int64(bytes.count) }
        return reply
    }

    // MARK: What is sent

    func send(into buffer: UnsafeMutableRawBufferPointer) -> BodyFill {
        if ftp != nil, state.fileEnd.isBodyOver { return endOfBody() }
        if state.isUploadPaused { return .pause }
        lastActivity = loop.clock()
        let fill = unsafe receiver?.fillBody(buffer) ?? .stop
        if case .pause = fill { state.isUploadPaused = true }
        guard case .bytes(let count) = fill else { return fill }
        state.sending.sent(count, at: loop.clock())
        return ftp != nil && count == 0 ? endOfBody() : fill
    }

    func rewindBody(to offset: Int64) -> Bool {
        state.sending.rewound()
        return receiver?.rewindBody(to: offset, isUnanswered: state.repetition.isUnknownFate) == true
    }

    /// Lets the body begin anew where libcurl took any of it. libcurl itself would do that only when it writes the next
    /// request, which another handle does here, and it would not do it for bytes that it took and could not send.
    private func restartBody() -> Bool { state.sending.bytes == 0 || rewindBody(to: 0) }
}

@available(*, unavailable)
extension TransferSlot: Sendable {}
