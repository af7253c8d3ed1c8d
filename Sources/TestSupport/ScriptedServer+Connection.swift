internal import CLibSSL
internal import Glibc
internal import TransferModel

extension ScriptedServer {
    /// One connection's life, on its own thread.
    final class Connection {
        private enum Ending { case keepOpen, closed }
        private let core: Core
        private let wire: Wire
        private let client: Socket.Peer
        private let number: Int
        private var served = 0

        init(core: Core, wire: Wire, client: Socket.Peer, number: Int) {
            self.core = core
            self.wire = wire
            self.client = client
            self.number = number
        }

        func run() {
            if let script = core.state.with({ $0.onAccept })?(number) {
                if perform(script.steps, of: nil) == .keepOpen { end(notify: false) }
                return
            }
            if let tls = core.tls {
                guard wire.secure(with: tls.pointer) else {
                    core.state.with { $0.failedHandshakes += 1 }
                    return end(notify: false)
                }
                core.state.with {
                    $0.tlsVersions[number] = wire.tlsVersion
                    $0.clientNames[number] = wire.clientName
                }
            }
            while let head = wire.readHead() {
                if serve(head) == .closed { return }
            }
            close()
        }

        private func serve(_ head: [UInt8]) -> Ending {
            served += 1
            var request = ReceivedRequest(
                head: head, client: client, connection: number, numberOnConnection: served,
                arrival: MonotonicClock.now)
            let (index, route) = arrived(&request)
            defer { core.state.with { $0.running -= 1 } }
            let script = answer(index, route)
            let ending = perform(script.steps, of: index)
            if ending == .keepOpen, request.endsConnection {
                end(notify: core.tls?.closesInOrder ?? true)
                return .closed
            }
            return ending
        }

        private func arrived(_ request: inout ReceivedRequest) -> (Int, Route?) {
            core.state.with { state in
                let found = core.route(request, in: state)
                let key = found?.0 ?? request.path
                state.counts[key, default: 0] += 1
                request.number = state.counts[key, default: 1]
                state.requests.append(request)
                state.running += 1
                state.peakRequests = max(state.peakRequests, state.running)
                return (state.requests.count - 1, found?.1)
            }
        }

        /// The script for a request. Its body is read before, unless the script says itself when; a closure is
        /// always asked when the body is there.
        private func answer(_ index: Int, _ route: Route?) -> Script {
            switch route {
            case .scripts(let scripts):
                let number = core.state.with { $0.requests[index].number }
                let script = scripts[min(number, scripts.count) - 1]
                return script.readsBodyItself || readBody(of: index) ? script : [.cut]
            case .headHandler(let handler):
                let script = handler(core.state.with { $0.requests[index] })
                return script.readsBodyItself || readBody(of: index) ? script : [.cut]
            case .handler(let handler):
                return readBody(of: index) ? handler(core.state.with { $0.requests[index] }) : [.cut]
            case nil:
                return readBody(of: index) ? .respond(404, body: "no such route\n") : [.cut]
            }
        }

        private func perform(_ steps: [Script.Step], of index: Int?) -> Ending {
            for step in steps {
                if core.state.with({ $0.isStopping }) {
                    close()
                    return .closed
                }
                switch step {
                case .bytes(let bytes): if !send(bytes, of: index) { return abandon() }
                case .pattern(let count): if !sendPattern(count, of: index) { return abandon() }
                case .wait(let span): _ = waitUntilStopped(MonotonicClock.now + span)
                case .gate(let name):
                    _ = core.state.wait { $0.isStopping || $0.openGates.contains(name) ? true : nil }
                case .readBody: if let index, !readBody(of: index) { return abandon() }
                case .readPart(let count): if let index, !readLength(count, of: index) { return abandon() }
                case .drainBody: if let index, !drainBody(of: index) { return abandon() }
                case .ignoreBody: break
                case .close:
                    end(notify: core.tls?.closesInOrder ?? true)
                    return .closed
                case .cut:
                    end(notify: false)
                    return .closed
                case .reset:
                    core.leave(number)
                    Socket.reset(wire.descriptor)
                    return .closed
                case .relay(let port):
                    wire.relay(to: port)
                    return abandon()
                case .stall:
                    wire.drain()
                    return abandon()
                }
            }
            return .keepOpen
        }

        private func abandon() -> Ending {
            close()
            return .closed
        }

        private func waitUntilStopped(_ deadline: Instant) -> Bool {
            core.state.wait(until: deadline) { $0.isStopping ? true : nil } ?? false
        }

        private func send(_ bytes: [UInt8], of index: Int?) -> Bool {
            guard wire.send(bytes) else { return false }
            if let index { core.state.with { $0.requests[index].sent += bytes.count } }
            return true
        }

        private func sendPattern(_ count: Int, of index: Int?) -> Bool {
            var done = 0
            while done < count {
                let piece = min(1 << 16, count - done)
                guard send(Script.patternBytes(piece, from: done), of: index) else { return false }
                done += piece
            }
            return true
        }

        /// Says FIN, lets the client read to the end, and only then closes: a close with unread input would be RST.
        private func end(notify: Bool) {
            wire.finish(notify: notify)
            let limit = timeval(tv_sec: 5, tv_usec: 0)
            Socket.setOption(wire.descriptor, SOL_SOCKET, SO_RCVTIMEO, limit)
            wire.drain()
            close()
        }

        private func close() {
            core.leave(number)
            Socket.shutDown(wire.descriptor)
            Socket.closeDescriptor(wire.descriptor)
        }
    }
}

/// Reading bodies.
extension ScriptedServer.Connection {
    /// False when the client left before its end, or it made no sense.
    private func readBody(of index: Int) -> Bool {
        let request = core.state.with { $0.requests[index] }
        if request.isComplete { return true }
        if request.expectsContinue, !wire.send(Script.head(100, [])) { return false }
        let whole = request.isChunked ? readChunks(of: index) : readLength(request.contentLength ?? 0, of: index)
        if whole { core.state.with { $0.requests[index].isComplete = true } }
        return whole
    }

    /// Only of a body with a length.
    private func drainBody(of index: Int) -> Bool {
        var left = core.state.with { $0.requests[index] }.contentLength ?? 0
        while left > 0 {
            let bytes = wire.readSome(left)
            if bytes.isEmpty { return false }
            core.state.with { $0.requests[index].drained += bytes.count }
            left -= bytes.count
        }
        core.state.with { $0.requests[index].isComplete = true }
        return true
    }

    private func readLength(_ length: Int, of index: Int) -> Bool {
        var left = length
        while left > 0 {
            let bytes = wire.readSome(left)
            if bytes.isEmpty { return false }
            core.state.with { $0.requests[index].body += bytes }
            left -= bytes.count
        }
        return true
    }

    private func readChunks(of index: Int) -> Bool {
        while let line = wire.readLine() {
            let digits = line.prefix { $0 != UInt8(ascii: ";") }
            guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16) else { return false }
            if size == 0 {
                while let trailer = wire.readLine() {
                    if trailer.isEmpty { return true }
                }
                return false
            }
            core.state.with { $0.requests[index].chunks.append(size) }
            guard readLength(size, of: index), wire.readLine()?.isEmpty == true else { return false }
        }
        return false
    }
}
