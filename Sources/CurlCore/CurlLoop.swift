internal import CLibSSL
internal import CLibcurl
import Glibc
package import SystemIO
package import TransferModel

/// One curl multi and its easy handles, one for each transfer in flight, reused. Scheduling happens elsewhere.
///
/// Everything here belongs to one thread, except `waker`.
@safe package final class CurlLoop: TransferLoop {
    /// libcurl's multi handle; `nil` until `open`.
    private var multi: UnsafeMutableRawPointer?
    private let maximumConnections: Int
    private let connectionsPerHost: Int
    private let streamsPerConnection: Int
    private var slots: [TransferSlot] = []
    private var free: [Int] = []
    private var completions: [CurlCompletion] = []
    /// Transfers that wait for another transfer's connection to be ready, until one is, or that transfer ends.
    private var waiting: [TransferSlot] = []
    /// Whether the waiting transfers start again at the end of the turn.
    private var admitsWaiting = false
    /// FTP transfers whose end is held back from libcurl.
    private var held: [TransferSlot] = []
    /// Transfers whose chunked bodies brought bytes in this turn.
    private var framed: [TransferSlot] = []
    /// Until this time a call of libcurl blocked the loop, so no silence counts against a server.
    private var standstillEnd = Instant(nanoseconds: 0)
    /// Time at the beginning of the turn: a byte costs no system call.
    private var turnTime = Clocks.instant()

    /// Ends the wait of a turn from any thread.
    package let waker = LoopWaker()

    static let secureContextIndex = tr_ssl_context_index()

    /// `maximumConnections`: idle connections that are kept open, at least the number of transfers in flight.
    /// `connectionsPerHost` includes idle ones: libcurl closes one of those before it opens another in its place.
    package init(maximumConnections: Int, connectionsPerHost: Int = 0, streamsPerConnection: Int) {
        self.maximumConnections = maximumConnections
        self.connectionsPerHost = connectionsPerHost
        self.streamsPerConnection = streamsPerConnection
    }

    /// Loads libcurl and makes the multi; call once, before the first transfer.
    package func open() throws(TransferError) {
        try CurlLibrary.prepare()
        guard let multi = unsafe curl_multi_init() else { throw TransferError(.unknown, "libcurl: no memory") }
        // Where the process has no descriptor left libcurl makes a multi all the same, which no other thread can wake.
        guard unsafe curl_multi_wakeup(multi) == CURLM_OK else {
            unsafe curl_multi_cleanup(multi)
            throw TransferError(.unknown, "libcurl: no descriptor to wake its loop with", errno: EMFILE)
        }
        unsafe self.multi = multi
        unsafe tr_multi_set_long(multi, CURLMOPT_MAXCONNECTS, maximumConnections)
        unsafe tr_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, connectionsPerHost)
        unsafe tr_multi_set_long(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, streamsPerConnection)
        unsafe waker.enable(multi)
    }

    deinit {
        for slot in slots where slot.receiver != nil {
            unsafe curl_multi_remove_handle(multi, slot.easy.raw)
        }
        waker.disable()
        slots = []
        if let multi = unsafe multi { unsafe curl_multi_cleanup(multi) }
    }

    func clock() -> Instant { turnTime }
    /// Time at the beginning of the turn.
    package var now: Instant { turnTime }

    /// Number of transfers in flight.
    package var activeCount: Int { slots.count - free.count }

    /// Starts a transfer at once: the caller has checked its limits. Bytes move at the next `turn`.
    package func start(_ request: CurlRequest, receiver: any TransferReceiver) throws(TransferError) -> TransferID {
        try request.pool.open()
        if request.login?.method == .negotiate || request.proxyLogin?.method == .negotiate {
            try CurlLibrary.prepare(for: .negotiate)
        } else if request.isSecure || request.isProxySecure {
            try CurlLibrary.prepare(for: .handshake)
        }
        let slot = try freeSlot()
        guard slot.configure(request, receiver: receiver) else {
            recycle(slot)
            throw TransferError(.unknown, "libcurl: no memory")
        }
        slot.lastActivity = turnTime
        if let failure = slot.easy.firstFailure {
            recycle(slot)
            throw TransferError(
                .unknown, "libcurl refused option \(failure.option): \(CurlCode(failure.code).text)",
                curl: Int32(failure.code.rawValue))
        }
        let added = unsafe slot.add(to: multi)
        guard added == CURLM_OK else {
            recycle(slot)
            throw TransferError(.unknown, "libcurl: \(unsafe String(cString: curl_multi_strerror(added)))")
        }
        return TransferID(index: slot.index, generation: slot.generation)
    }

    private func freeSlot() throws(TransferError) -> TransferSlot {
        if let index = free.popLast() { return slots[index] }
        guard let slot = TransferSlot(loop: self, index: slots.count) else {
            throw TransferError(.unknown, "libcurl: no memory")
        }
        slots.append(slot)
        return slot
    }

    private func recycle(_ slot: TransferSlot) {
        if !held.isEmpty { held.removeAll { $0 === slot } }
        slot.clear()
        free.append(slot.index)
    }

    /// Ends a transfer without a completion and closes its connection. Returns what was measured so far; `nil` when the
    /// transfer is over.
    @discardableResult
    package func stop(_ id: TransferID) -> CurlMetrics? {
        guard let slot = slot(of: id) else { return nil }
        let metrics = measure(slot)
        unsafe curl_multi_remove_handle(multi, slot.easy.raw)
        waiting.removeAll { $0 === slot }
        recycle(slot)
        admitWaiting()
        readmit()
        return metrics
    }

    private func slot(of id: TransferID) -> TransferSlot? {
        let slot = slots[id.index]
        return slot.generation == id.generation && slot.receiver != nil ? slot : nil
    }

    /// Continues a transfer whose receiver said `pause`. The receiver may be called before this returns.
    package func resume(_ id: TransferID) {
        guard let slot = slot(of: id), !slot.isHeld else { return }
        // The time of the pause does not count as silence of the other side.
        slot.lastActivity = Clocks.instant()
        slot.state.isUploadPaused = false
        // An error here is reported as the transfer's end.
        unsafe curl_easy_pause(slot.easy.raw, CURLPAUSE_CONT)
    }

    /// When a byte last moved in either direction; `nil` when the transfer is over.
    package func lastActivity(of id: TransferID) -> Instant? {
        slot(of: id).map { max($0.lastActivity, standstillEnd) }
    }

    /// Whether everything was sent, and only the server's final reply is missing.
    package func awaitsWord(_ id: TransferID) -> Bool { slot(of: id)?.isHeld ?? false }

    /// When a byte last arrived on the transfer's own connection by the system's knowledge; called where
    /// ``lastActivity(of:)`` is too long ago.
    package func lastArrival(of id: TransferID) -> Instant? { slot(of: id)?.lastArrival(at: Clocks.instant()) }

    /// Whether only interim answers (1xx) have come to the transfer's last request.
    package func hasInterimAnswerOnly(_ id: TransferID) -> Bool { slot(of: id)?.state.lastWasInterim ?? false }

    /// The interface of the transfer's connection, where its connections were cut there; else `nil`.
    package func lostNetwork(of id: TransferID) -> UInt32? { slot(of: id)?.lostNetwork }

    /// Bytes of a body that were sent, including the framing of chunks; `nil` when the transfer is over.
    package func uploadedBytes(of id: TransferID) -> Int64? { slot(of: id)?.easy.offset(CURLINFO_SIZE_UPLOAD_T) }

    /// Waits until something can be done, at most for `wait`, does it, and returns the transfers that ended. `others`
    /// end the wait too; their owner checks which of them are ready.
    package func turn(wait: TimeSpan, others: [PollEntry]) -> [CurlCompletion] {
        if wait.nanoseconds > 0 { poll(wait, others) }
        turnTime = Clocks.instant()
        if !held.isEmpty { releaseEnds() }
        var running: Int32 = 0
        unsafe curl_multi_perform(multi, &running)
        if !framed.isEmpty { reportFraming() }
        collect()
        readmit()
        defer { completions.removeAll(keepingCapacity: true) }
        return completions
    }

    private func poll(_ wait: TimeSpan, _ others: [PollEntry]) {
        if others.isEmpty, held.isEmpty {
            unsafe curl_multi_poll(multi, nil, 0, milliseconds(wait), nil)
            return
        }
        var descriptors = others.map { other in
            let events = other.interest == .writing ? CURL_WAIT_POLLOUT : CURL_WAIT_POLLIN
            return curl_waitfd(fd: other.descriptor, events: Int16(events), revents: 0)
        }
        var wait = wait
        for slot in held {
            if let socket = slot.awaitedSocket {
                descriptors.append(curl_waitfd(fd: socket, events: Int16(CURL_WAIT_POLLIN), revents: 0))
            }
            if slot.endPatience != .distantFuture { wait = min(wait, max(.zero, slot.endPatience - Clocks.instant())) }
        }
        unsafe curl_multi_poll(multi, &descriptors, UInt32(descriptors.count), milliseconds(wait), nil)
    }

    private func milliseconds(_ wait: TimeSpan) -> Int32 {
        Int32(min(Int64(Int32.max), (wait.nanoseconds + 999_999) / 1_000_000))
    }

    // MARK: Ends of files on ftp servers

    func hold(_ slot: TransferSlot) { held.append(slot) }

    private func releaseEnds() {
        let released = held.filter { $0.releasesEnd(at: turnTime) }
        guard !released.isEmpty else { return }
        held.removeAll { !$0.isHeld }
        for slot in released { unsafe curl_easy_pause(slot.easy.raw, CURLPAUSE_CONT) }
    }

    /// Notes that a call of libcurl blocked within the turn: bytes that were not read meanwhile are no silence of the
    /// other side.
    func stoodStill(until end: Instant) { standstillEnd = end }

    // MARK: What frames bodies

    func reportFramingAfterTurn(of slot: TransferSlot) { framed.append(slot) }

    private func reportFraming() {
        for slot in framed {
            let isPaused = slot.endFramingPause()
            switch slot.reportFraming() {
            case .taken: if isPaused { unsafe curl_easy_pause(slot.easy.raw, CURLPAUSE_CONT) }
            case .pause: unsafe curl_easy_pause(slot.easy.raw, CURLPAUSE_RECV)
            case .stop: complete(slot, CURLE_WRITE_ERROR)
            }
        }
        framed.removeAll(keepingCapacity: true)
    }

    private func collect() {
        var result = CURLE_OK
        while let easy = unsafe tr_multi_next_done(multi, &result) {
            var user: UnsafeMutableRawPointer?
            unsafe tr_easy_get_pointer(easy, CURLINFO_PRIVATE, &user)
            guard let user = unsafe user else { continue }
            let slot = unsafe Unmanaged<TransferSlot>.fromOpaque(user).takeUnretainedValue()
            complete(slot, result)
        }
    }

    private func complete(_ slot: TransferSlot, _ result: CURLcode) {
        if slot.shouldBeginAgain(after: result), beginAgain(slot) { return }
        if slot.state.repetition.metUnreadyConnection, wait(slot) { return }
        admitWaiting()
        _ = slot.handOverHeldHead()
        if result != CURLE_OK { slot.leaveOutOfStep() }
        let result = slot.ended(result)
        let metrics = measure(slot)
        let failed = result != CURLE_OK
        var closedOrderly = false
        if let connection = unsafe slot.state.tls.connection, let ends = slot.pool?.secureEnds {
            closedOrderly = unsafe ends.wasClosedInOrder(connection)
        }
        if let receiver = slot.receiver {
            completions.append(
                CurlCompletion(
                    receiver: receiver, code: CurlCode(result), message: failed ? slot.message : "",
                    systemError: failed ? systemError(of: slot, result) : 0,
                    verifyResult: failed ? slot.easy.long(CURLINFO_SSL_VERIFYRESULT) : 0,
                    certificateAlert: failed ? slot.certificateAlert : nil,
                    wasAskedForCertificate: slot.state.tls.wasAskedForCertificate, proxyHead: slot.state.tunnel.answer,
                    proxyFailure: failed ? slot.proxyFailure(CurlCode(result)) : nil,
                    sawCloseNotify: closedOrderly, isRefused: failed && slot.isRefused,
                    isPutOff: failed && slot.isPutOff,
                    isLonger: slot.state.fileEnd.isLonger,
                    refusal: failed && !slot.state.sockets.hasOpened ? slot.state.sockets.refusal : nil,
                    objection: failed ? slot.decisiveObjection : nil,
                    hasOtherFamily: failed && slot.foundOtherFamilyOnly,
                    metrics: metrics))
        }
        unsafe curl_multi_remove_handle(multi, slot.easy.raw)
        recycle(slot)
    }

    /// Sends the request once more, after no byte came back and the receiver was not called.
    private func beginAgain(_ slot: TransferSlot) -> Bool {
        unsafe curl_multi_remove_handle(multi, slot.easy.raw)
        return unsafe slot.beginAgain() && slot.add(to: multi) == CURLM_OK
    }

    /// Sends the request later, when another transfer's connection is ready. Returns `false` where that cannot be.
    private func wait(_ slot: TransferSlot) -> Bool {
        unsafe curl_multi_remove_handle(multi, slot.easy.raw)
        guard slot.prepareAgain() else { return false }
        waiting.append(slot)
        return true
    }

    /// Lets the waiting transfers check again: a connection is ready, or one that they waited for may be gone.
    func admitWaiting() { admitsWaiting = true }

    private func readmit() {
        guard admitsWaiting else { return }
        admitsWaiting = false
        guard !waiting.isEmpty else { return }
        let admitted = waiting
        waiting = []
        for slot in admitted where unsafe slot.add(to: multi) != CURLM_OK {
            complete(slot, CURLE_OUT_OF_MEMORY)
        }
    }

    private func systemError(of slot: TransferSlot, _ result: CURLcode) -> Int32 {
        if slot.state.sockets.error != 0 { return slot.state.sockets.error }
        if CurlCode(result).mayWantDescriptors, let shortage = DescriptorLimit.shortage { return shortage }
        return Int32(slot.easy.long(CURLINFO_OS_ERRNO))
    }

    func measure(_ slot: TransferSlot) -> CurlMetrics {
        let easy = slot.easy
        var metrics = CurlMetrics()
        metrics.nameLookup = easy.offset(CURLINFO_NAMELOOKUP_TIME_T)
        metrics.connect = easy.offset(CURLINFO_CONNECT_TIME_T)
        metrics.secureConnect = easy.offset(CURLINFO_APPCONNECT_TIME_T)
        metrics.preTransfer = easy.offset(CURLINFO_PRETRANSFER_TIME_T)
        metrics.startTransfer = easy.offset(CURLINFO_STARTTRANSFER_TIME_T)
        metrics.total = easy.offset(CURLINFO_TOTAL_TIME_T)
        metrics.openedConnections = easy.long(CURLINFO_NUM_CONNECTS)
        // The connection that carries an FTP file counts as part of the control connection.
        if slot.ftp != nil, slot.state.head.isComplete {
            metrics.openedConnections = max(0, metrics.openedConnections - 1)
        }
        metrics.isReused = metrics.openedConnections == 0 && metrics.preTransfer > 0
        // Bytes sent to a proxy are no request of the transfer.
        metrics.requestBytes = slot.state.tunnel.isHeldByProxy ? 0 : Int64(easy.long(CURLINFO_REQUEST_SIZE))
        metrics.headerBytes = Int64(easy.long(CURLINFO_HEADER_SIZE))
        metrics.uploadedBytes = easy.offset(CURLINFO_SIZE_UPLOAD_T)
        metrics.downloadedBytes = easy.offset(CURLINFO_SIZE_DOWNLOAD_T)
        // Of a Unix socket libcurl gives the path, cut at 46 bytes, and the URL's port.
        if slot.pool?.path.unixSocket == nil {
            metrics.localAddress = easy.string(CURLINFO_LOCAL_IP)
            metrics.localPort = UInt16(truncatingIfNeeded: easy.long(CURLINFO_LOCAL_PORT))
            metrics.remoteAddress = easy.string(CURLINFO_PRIMARY_IP)
            metrics.remotePort = UInt16(truncatingIfNeeded: easy.long(CURLINFO_PRIMARY_PORT))
        }
        metrics.tlsVersion = slot.state.tls.version
        metrics.tlsCipher = slot.state.tls.cipher
        metrics.tlsFingerprint = slot.state.tls.peerCertificate?.fingerprint
        metrics.tlsExpiry = slot.state.tls.peerCertificate?.expiry
        metrics.isProxied = slot.pool?.proxy != nil
        metrics.interface = slot.state.sockets.interface
        metrics.lostRequests = slot.state.repetition.lostRequests
        slot.state.sending.add(to: &metrics, openedAt: slot.state.sockets.openedAt)
        return metrics
    }
}

@available(*, unavailable)
extension CurlLoop: Sendable {}

/// Ends the loop's wait from any thread.
///
/// Unchecked: `curl_multi_wakeup` is the one call libcurl allows from other threads, and the lock keeps it from a multi
/// that is being cleaned up. Nothing else here is touched without it.
@safe package final class LoopWaker: @unchecked Sendable {
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private var multi: UnsafeMutableRawPointer?
    /// Whether `wake` was called before there was a multi; the first wait then ends at once.
    private var isOwed = false

    package init() {
        unsafe lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        unsafe pthread_mutex_init(lock, nil)
    }

    deinit {
        unsafe pthread_mutex_destroy(lock)
        unsafe lock.deallocate()
    }

    /// Ends the present wait of the loop, or the next one.
    package func wake() {
        unsafe pthread_mutex_lock(lock)
        if let multi = unsafe multi { unsafe curl_multi_wakeup(multi) } else { isOwed = true }
        unsafe pthread_mutex_unlock(lock)
    }

    func enable(_ multi: UnsafeMutableRawPointer) {
        unsafe pthread_mutex_lock(lock)
        unsafe self.multi = multi
        if isOwed { unsafe curl_multi_wakeup(multi) }
        unsafe pthread_mutex_unlock(lock)
    }

    func disable() {
        unsafe pthread_mutex_lock(lock)
        unsafe multi = nil
        unsafe pthread_mutex_unlock(lock)
    }
}
