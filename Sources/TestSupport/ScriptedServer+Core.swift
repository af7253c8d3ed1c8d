internal import CLibSSL
internal import TransferModel

extension ScriptedServer {
    enum Route: Sendable {
        case scripts([Script])
        case handler(Handler)
        case headHandler(Handler)
    }

    /// What the accepting thread, the connections and the test share.
    final class Core: Sendable {
        struct State: Sendable {
            var routes: [String: Route] = [:]
            var counts: [String: Int] = [:]
            var onAccept: (@Sendable (Int) -> Script?)?
            var openGates: Set<String> = []
            var requests: [ReceivedRequest] = []
            var open: [Int: Int32] = [:]
            var threads: [Int: TestThread] = [:]
            var ended: [Int] = []
            var accepted = 0
            var peakConnections = 0
            var running = 0
            var peakRequests = 0
            var failedHandshakes = 0
            var tlsVersions: [Int: String] = [:]
            var clientNames: [Int: String] = [:]
            var isStopping = false

            var stillOpen: Int { open.values.count { !Socket.hasLeft($0) } }
        }
        let state = Monitor(State())
        let tls: TLSContext?
        let handler: Handler?

        init(tls: TLSContext?, handler: Handler?) {
            self.tls = tls
            self.handler = handler
        }

        func acceptAll(_ listener: Int32) {
            while let (descriptor, peer) = Socket.accept(listener) {
                let number: Int? = state.with { state in
                    if state.isStopping { return nil }
                    state.accepted += 1
                    // A client that closes one connection and opens the next must count as one.
                    state.peakConnections = max(state.peakConnections, state.stillOpen + 1)
                    state.open[state.accepted] = descriptor
                    return state.accepted
                }
                guard let number else { return Socket.closeDescriptor(descriptor) }
                joinEnded()
                guard let thread = try? TestThread({ self.serve(descriptor, peer, number) }) else {
                    leave(number)
                    return Socket.closeDescriptor(descriptor)
                }
                state.with { $0.threads[number] = thread }
            }
        }

        private func joinEnded() {
            let ended = state.with { state in
                let numbers = state.ended.filter { state.threads[$0] != nil }
                state.ended.removeAll { numbers.contains($0) }
                return numbers.compactMap { state.threads.removeValue(forKey: $0) }
            }
            for thread in ended { thread.join() }
        }

        /// Marks the connection as closed; afterwards only its own thread uses its descriptor.
        func leave(_ number: Int) {
            state.with { $0.open[number] = nil }
        }

        private func serve(_ descriptor: Int32, _ peer: Socket.Peer, _ number: Int) {
            Connection(core: self, wire: Wire(descriptor), client: peer, number: number).run()
            state.with { $0.ended.append(number) }
        }

        /// The most exact route for a request, and its key.
        func route(_ request: ReceivedRequest, in state: State) -> (String, Route)? {
            let method = request.method + " "
            let keys = [method + request.target, method + request.path, request.target, request.path]
            for key in keys {
                if let route = state.routes[key] { return (key, route) }
            }
            return handler.map { (request.path, .handler($0)) }
        }
    }
}
