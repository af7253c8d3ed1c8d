internal import CLibcurl
import Glibc
import SystemIO
import TransferModel

/// The progress of an FTP transfer towards its end. libcurl waits for the server's reply that all was sent, or stored,
/// inside the loop's turn, and blocks all transfers meanwhile. So the end is held back from libcurl until that reply
/// can be read.
struct FileEnd: ~Copyable {
    enum State {
        case ahead, held(since: Instant), released
    }
    /// Whether the end is ahead, held back, or released to libcurl.
    var state = State.ahead
    /// Socket of the data connection, once the end is held.
    var carrier: Int32?
    /// Length of the file in bytes as announced by the server; `nil` without one.
    var announced: Int64?
    /// Bytes of the file that arrived.
    var arrived: Int64 = 0
    /// Whether the server sends more than it announced.
    var isLonger = false
    /// Whether the data connection has ended.
    var isOver = false
    /// Whether libcurl took the whole body of an upload.
    var isBodyOver = false
    /// Whether the body was sent, and the server was told its end.
    var isBodySent = false
    /// The other end of the socket that then replaces the data connection.
    var outlet: Descriptor?
    /// Bytes that had arrived on the control connection when the file was requested; `nil` when unknown.
    var receivedBefore: Int64?
    /// Bytes of reply lines that libcurl has parsed since then.
    var lines: Int64 = 0
    /// Bytes of the data connection that the server's machine had acknowledged at the last check.
    var acknowledged: Int64 = 0
    /// The turn in which libcurl last reported its progress.
    var turn = Instant(nanoseconds: 0)
    /// When libcurl first reported its progress in that turn.
    var turnBegan = Instant(nanoseconds: 0)
    /// The server's last reply line.
    var lastReply = ""
    /// Whether libcurl was stopped because the server stayed silent within the turn for too long.
    var endedLongWait = false
}

extension TransferSlot {
    /// How long a server may take to end the data connection after the last byte: its reply that all was sent follows
    /// at once.
    private static let patience = TimeSpan.seconds(2)
    /// How long a server may take to store a file.
    private static let storingPatience = TimeSpan.seconds(60)

    /// Notes that the file is about to be requested.
    func beginFile() {
        state.fileEnd.lines = 0
        if let used = state.sockets.used { pool?.sockets.commands(over: used) }
        state.fileEnd.receivedBefore = state.sockets.used.flatMap { TCPCounts(of: $0)?.received }
    }

    /// Returns the reply to libcurl before a piece that may be the last one: to wait, or to stop; `nil` otherwise.
    func heldBack(before count: Int) -> BodyReply? {
        guard let announced = state.fileEnd.announced, state.fileEnd.arrived + Int64(count) >= announced else {
            return nil
        }
        if isEndHeld() { return .pause }
        return state.fileEnd.isLonger ? .stop : nil
    }

    /// Returns the reply after the last byte of a body. The end is told to the server at once, and to libcurl when the
    /// server has replied.
    func endOfBody() -> BodyFill {
        state.fileEnd.isBodyOver = true
        return isEndHeld() ? .pause : .bytes(0)
    }

    private func isEndHeld() -> Bool {
        switch state.fileEnd.state {
        case .released: return false
        case .held: return true
        case .ahead: break
        }
        // Bytes of a secure proxy's socket are not the server's.
        guard pool?.proxy?.isSecure != true, state.sockets.used != nil, let carrier = carrier else {
            state.fileEnd.state = .released
            return false
        }
        (state.fileEnd.carrier, state.fileEnd.state) = (carrier, .held(since: Clocks.instant()))
        if releasesEnd(at: loop.now) { return false }
        loop.hold(self)
        return true
    }

    private var carrier: Int32? {
        let open = pool?.sockets.opened(for: self) ?? []
        return open.count == 1 ? open[0] : nil
    }

    /// Whether libcurl may see the end; releases it then.
    func releasesEnd(at now: Instant) -> Bool {
        guard case .held(let since) = state.fileEnd.state, let control = state.sockets.used,
            let carrier = state.fileEnd.carrier
        else {
            return true
        }
        guard isEndKnown(control, carrier) || isEndSilent(at: now, since) else { return false }
        if state.fileEnd.isBodySent { replace(carrier) }
        state.fileEnd.state = .released
        return true
    }

    /// Replaces the data connection by a socket that accepts an empty send, with which libcurl 8 ends a body; a
    /// connection that was shut down rejects it. The server has replied, so that connection is over.
    private func replace(_ carrier: Int32) {
        var pair: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, kind, 0, &pair) == 0 else { return }
        dup2(pair[0], carrier)
        _ = fcntl(carrier, F_SETFD, FD_CLOEXEC)
        close(pair[0])
        state.fileEnd.outlet = Descriptor(owning: pair[1])
    }

    private func isEndKnown(_ control: Int32, _ carrier: Int32) -> Bool {
        if state.fileEnd.isBodyOver {
            guard isBodySent(over: carrier) else { return false }
        } else if !state.fileEnd.isOver {
            switch PoolSockets.peek(at: carrier) {
            case .nothing: return false
            case .bytes:
                state.fileEnd.isLonger = true
                return true
            case .end: state.fileEnd.isOver = true
            }
        }
        return PoolSockets.isReadable(control) || hasReadAhead(control)
    }

    /// Whether the whole body was sent; then tells the server its end. libcurl 8 asks for more of a body while some of
    /// it still waits to be sent.
    private func isBodySent(over carrier: Int32) -> Bool {
        guard !state.fileEnd.isBodySent else { return true }
        guard easy.offset(CURLINFO_SIZE_UPLOAD_T) >= state.sending.bytes else { return false }
        state.fileEnd.isBodySent = true
        state.fileEnd.acknowledged = TCPCounts(of: carrier)?.acknowledged ?? 0
        shutdown(carrier, Int32(SHUT_WR))
        return true
    }

    /// Whether the server has sent the announced bytes and leaves the data connection open for too long.
    private func isEndSilent(at now: Instant, _ since: Instant) -> Bool {
        !state.fileEnd.isBodyOver && !state.fileEnd.isOver && now - since >= Self.patience
    }

    /// Whether libcurl has read lines that it has not parsed yet: lines that arrive together are read together, and the
    /// next one is then inside libcurl.
    private func hasReadAhead(_ control: Int32) -> Bool {
        guard let before = state.fileEnd.receivedBefore, let count = TCPCounts(of: control) else {
            return !state.fileEnd.isBodyOver
        }
        return count.received - before != state.fileEnd.lines
    }

    /// The socket that must become readable before the end can be released.
    var awaitedSocket: Int32? {
        state.fileEnd.isBodyOver || state.fileEnd.isOver ? state.sockets.used : state.fileEnd.carrier
    }
    /// When the end must be checked in any case.
    var endPatience: Instant {
        guard case .held(let since) = state.fileEnd.state, !state.fileEnd.isBodyOver, !state.fileEnd.isOver else {
            return .distantFuture
        }
        return since + Self.patience
    }
    var isHeld: Bool {
        if case .held = state.fileEnd.state { true } else { false }
    }

    /// `now`, when the server has acknowledged more of a wholly sent body since the last check, else `nil`.
    func lastTaken(at now: Instant) -> Instant? {
        guard state.fileEnd.isBodyOver, isHeld, let carrier = state.fileEnd.carrier, let count = TCPCounts(of: carrier),
            count.acknowledged > state.fileEnd.acknowledged
        else { return nil }
        state.fileEnd.acknowledged = count.acknowledged
        return now
    }

    /// Handles libcurl's progress report, which comes in each turn and, while it blocks within one, once a second.
    /// Returns `false` to end the transfer after too long a wait; its connection is closed then, because its next bytes
    /// are unknown.
    func mayStandStill() -> Bool {
        let now = Clocks.instant()
        guard state.fileEnd.turn == loop.now else {
            (state.fileEnd.turn, state.fileEnd.turnBegan) = (loop.now, now)
            return true
        }
        let stood = now - state.fileEnd.turnBegan
        guard stood >= .milliseconds(500) else { return true }
        loop.stoodStill(until: now)
        let isStoring = state.fileEnd.isBodyOver && state.fileEnd.carrier == nil
        guard stood > (isStoring ? Self.storingPatience : Self.patience), carrier == nil else { return true }
        state.fileEnd.endedLongWait = true
        closeAfterwards()
        if let used = state.sockets.used { shutdown(used, Int32(SHUT_RDWR)) }
        return false
    }
}
