internal import CLibcurl
import Glibc
import SystemIO
import TransferModel

/// How far a file on an ftp server is towards its end. libcurl waits for the server's word that all was sent, or stored, inside
/// the loop's turn, and everybody with it. So the end is held back from libcurl until that word lies there to be read.
struct FileEnd: ~Copyable {
    enum State {
        case ahead, held(since: Instant), released
    }
    var state = State.ahead
    /// The connection that carries the file, once its end is held.
    var carrier: Int32?
    /// So long is what comes, by the server's own word.
    var announced: Int64?
    var arrived: Int64 = 0
    /// More comes after that.
    var isLonger = false
    /// All of it has come.
    var isOver = false
    /// Everything of a body was handed over.
    var isBodyOver = false
    /// And sent; its end was told to the server.
    var isBodySent = false
    /// The other end of what stands in the carrier's place then.
    var outlet: Descriptor?
    /// What had come over the control connection when the file was asked for, and what libcurl made lines of since then.
    var receivedBefore: Int64?
    var lines: Int64 = 0
    /// What the server's machine had of a body when that was looked at last.
    var acknowledged: Int64 = 0
    /// The turn in which libcurl spoke last of how far it is, and when it first did in that.
    var turn = Instant(nanoseconds: 0)
    var turnBegan = Instant(nanoseconds: 0)
    /// The last line that the server said.
    var lastReply = ""
    /// Whether libcurl was stopped because the server stayed silent within the turn for too long.
    var endedLongWait = false
}

extension TransferSlot {
    /// Whoever says that all was sent says it at once; what remains silent leaves its carrier open after that for as long.
    private static let patience = TimeSpan.seconds(2)
    /// To store a file takes a while.
    private static let storingPatience = TimeSpan.seconds(60)

    /// The file is about to be asked for.
    func beginFile() {
        state.fileEnd.lines = 0
        if let used = state.sockets.used { pool?.sockets.commands(over: used) }
        state.fileEnd.receivedBefore = state.sockets.used.flatMap { TCPCounts(of: $0)?.received }
    }

    /// What libcurl is to be told before a piece of the file goes on: to wait, where that may be the last one.
    func heldBack(before count: Int) -> BodyReply? {
        guard let announced = state.fileEnd.announced, state.fileEnd.arrived + Int64(count) >= announced else {
            return nil
        }
        if isEndHeld() { return .pause }
        return state.fileEnd.isLonger ? .stop : nil
    }

    /// What comes after the last byte of a body. Its end is told to the server here, and to libcurl when the server has
    /// answered.
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
        // What a secure proxy sends are not the server's bytes.
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

    /// Whether libcurl may see the end: from now on it may.
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

    /// libcurl 8 ends a body with an empty send, which a connection refuses that was told its end. The server has spoken, so
    /// that connection is over: its descriptor gets a socket that takes an empty send.
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
            switch PoolSockets.look(at: carrier) {
            case .nothing: return false
            case .bytes:
                state.fileEnd.isLonger = true
                return true
            case .end: state.fileEnd.isOver = true
            }
        }
        return PoolSockets.isReadable(control) || hasReadAhead(control)
    }

    /// libcurl 8 asks for more of a body while some of it still waits to be sent. Only behind that comes the end.
    private func isBodySent(over carrier: Int32) -> Bool {
        guard !state.fileEnd.isBodySent else { return true }
        guard easy.offset(CURLINFO_SIZE_UPLOAD_T) >= state.sending.bytes else { return false }
        state.fileEnd.isBodySent = true
        state.fileEnd.acknowledged = TCPCounts(of: carrier)?.acknowledged ?? 0
        shutdown(carrier, Int32(SHUT_WR))
        return true
    }

    /// The server has said all that it has to say, and leaves the carrier open.
    private func isEndSilent(at now: Instant, _ since: Instant) -> Bool {
        !state.fileEnd.isBodyOver && !state.fileEnd.isOver && now - since >= Self.patience
    }

    /// Lines that came together are read together: the next one then lies in libcurl, where nobody sees it.
    private func hasReadAhead(_ control: Int32) -> Bool {
        guard let before = state.fileEnd.receivedBefore, let count = TCPCounts(of: control) else {
            return !state.fileEnd.isBodyOver
        }
        return count.received - before != state.fileEnd.lines
    }

    /// What has to be readable before its end can be let go.
    var awaitedSocket: Int32? {
        state.fileEnd.isBodyOver || state.fileEnd.isOver ? state.sockets.used : state.fileEnd.carrier
    }
    /// When that must be looked at in any case.
    var endPatience: Instant {
        guard case .held(let since) = state.fileEnd.state, !state.fileEnd.isBodyOver, !state.fileEnd.isOver else {
            return .distantFuture
        }
        return since + Self.patience
    }
    var isHeld: Bool {
        if case .held = state.fileEnd.state { true } else { false }
    }

    /// When the other side was last seen to take something of a body that libcurl has wholly sent.
    func lastTaken(at now: Instant) -> Instant? {
        guard state.fileEnd.isBodyOver, isHeld, let carrier = state.fileEnd.carrier, let count = TCPCounts(of: carrier),
            count.acknowledged > state.fileEnd.acknowledged
        else { return nil }
        state.fileEnd.acknowledged = count.acknowledged
        return now
    }

    /// libcurl speaks of how far it is, in each turn and, where it stands still within one, once a second. `false` ends that:
    /// nobody knows then what the connection is about to say, and it is closed.
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
