internal import CLibSSL
internal import Glibc
package import TransferModel

/// An HTTP/1.1 server on 127.0.0.1 that does exactly what a test says and remembers exactly what came.
///
/// A thread for each connection; `stop()` ends and joins them all and must be called, best in a `defer`.
///
///     let server = try ScriptedServer()
///     defer { server.stop() }
///     server.on("/a", .respond(503), .respond(200, body: "second time"))
///     server.on("/b", [.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), .wait(.milliseconds(20)), .reset])
///     server.on("/c") { request in .respond(200, body: request.bodyText) }
///
/// A route is a target, a path without query, or either with a method before it (`PUT /a`), the most exact one
/// first; what no route takes goes to the default handler, and without one is answered 404.
package final class ScriptedServer: Sendable {
    package typealias Handler = @Sendable (ReceivedRequest) -> Script

    package let port: UInt16
    private let host: String
    /// A file with the certificate of the authority that signed this server's; `nil` without TLS.
    package var caFile: String? { authority?.caFile }
    /// What it shows; `nil` without TLS.
    package var certificate: CertificateAuthority.Issued? { core.tls?.leaf }
    /// Kept: its files live as long as it does.
    private let authority: CertificateAuthority?
    let core: Core
    private let listener: Int32
    private let acceptor: TestThread
    private let stopped = Monitor(false)

    package init(
        tls: TLSOptions? = nil, at host: String = "127.0.0.1", handler: Handler? = nil
    ) throws {
        self.host = host
        authority = tls?.authority
        let core = Core(tls: try tls.map { try TLSContext($0) }, handler: handler)
        self.core = core
        (listener, port) = try Socket.listen(at: host)
        let listener = self.listener
        acceptor = try TestThread { core.acceptAll(listener) }
    }

    deinit { precondition(stopped.with { $0 }, "a ScriptedServer was not stopped: its threads would live on") }

    /// Ends every connection, joins every thread. What arrived can still be read.
    package func stop() {
        guard
            stopped.with({ stopped in
                defer { stopped = true }
                return !stopped
            })
        else { return }
        core.state.with { $0.isStopping = true }
        Socket.shutDown(listener)
        acceptor.join()
        Socket.closeDescriptor(listener)
        let threads = core.state.with { state in
            for descriptor in state.open.values { Socket.shutDown(descriptor) }
            defer { state.threads = [:] }
            return state.threads.values
        }
        for thread in threads { thread.join() }
    }

    /// `http://127.0.0.1:PORT/path`, or `https://localhost:PORT/path` with TLS.
    package func url(_ path: String = "/") -> String { "\(origin)\(path)" }
    package var origin: String { caFile == nil ? "http://\(host):\(port)" : "https://localhost:\(port)" }

    /// The first script answers the route's first request, and so on; the last answers all that follow.
    package func on(_ route: String, _ scripts: Script...) {
        on(route, scripts: scripts)
    }

    package func on(_ route: String, scripts: [Script]) {
        precondition(!scripts.isEmpty, "a route needs a script")
        core.state.with { $0.routes[route] = .scripts(scripts) }
    }

    /// The closure is asked before the body is read: the script says when that is.
    package func onHead(_ route: String, _ handler: @escaping Handler) {
        core.state.with { $0.routes[route] = .headHandler(handler) }
    }

    /// The closure runs on the connection's thread, when the request's body has been read.
    package func on(_ route: String, _ handler: @escaping Handler) {
        core.state.with { $0.routes[route] = .handler(handler) }
    }

    /// What an honest server answers for a file: ranges, validators, HEAD.
    package func serve(_ route: String, _ resource: ServedResource) {
        on(route) { resource.answer($0) }
    }

    /// Asked with the number of each new connection: a script is performed at once, before TLS and before a byte
    /// was read, and the connection then closed; `nil` goes on as usual.
    package func onAccept(_ decide: @escaping @Sendable (Int) -> Script?) {
        core.state.with { $0.onAccept = decide }
    }

    package func open(gate: String) { core.state.with { _ = $0.openGates.insert(gate) } }
}

/// What the server saw.
extension ScriptedServer {
    /// Requests in the order they arrived, of one path or target or of all. A request is here as soon as its
    /// headers are complete; its body is here when it was read (`isComplete`).
    package func requests(_ target: String? = nil) -> [ReceivedRequest] {
        core.state.with { $0.requests.filter { target == nil || $0.target == target || $0.path == target } }
    }

    /// Waits until that many requests arrived; false after `timeout`.
    @discardableResult
    package func waitForRequests(_ count: Int, _ target: String? = nil, timeout: TimeSpan = .seconds(20)) -> Bool {
        core.state.wait(until: MonotonicClock.now + timeout) { state -> Bool? in
            let found = state.requests.lazy.filter { target == nil || $0.target == target || $0.path == target }
            return found.count >= count ? true : nil
        } ?? false
    }

    /// Waits until no connection is open; false after `timeout`.
    @discardableResult
    package func waitUntilIdle(timeout: TimeSpan = .seconds(20)) -> Bool {
        core.state.wait(until: MonotonicClock.now + timeout) { $0.open.isEmpty ? true : nil } ?? false
    }

    /// Connections accepted so far.
    package var totalConnections: Int { core.state.with { $0.accepted } }
    /// The most connections that were open at one moment, exact: one whose client has left is not counted, even
    /// when its thread has not noticed yet.
    package var peakConnections: Int { core.state.with { $0.peakConnections } }
    /// The most requests that were under way at one moment, from complete headers to the end of the answer.
    package var peakRequests: Int { core.state.with { $0.peakRequests } }
    package var openConnections: Int { core.state.with { $0.stillOpen } }
    /// The TLS versions that were agreed on, by connection.
    package var tlsVersions: [Int: String] { core.state.with { $0.tlsVersions } }
    /// The names in the certificates that clients showed, by connection; empty for one that showed none.
    package var clientNames: [Int: String] { core.state.with { $0.clientNames } }
    /// Handshakes that did not come to an end.
    package var failedHandshakes: Int { core.state.with { $0.failedHandshakes } }
}

extension ScriptedServer {
    /// Waits until so many bytes of an answer to a request for `target` were sent, and the clients have read all that was sent
    /// to them. Clients on this machine and in this network namespace alone.
    package func waitUntilRead(_ bytes: Int, _ target: String) -> Bool {
        happens { requests(target).contains { $0.sent >= bytes } && isRead }
    }

    /// Whether nothing that was sent to a client lies in the system any more.
    package var isRead: Bool {
        let suffix = String(port, radix: 16, uppercase: true)
        let ending = ":" + String(repeating: "0", count: 4 - suffix.count) + suffix
        return ["/proc/self/net/tcp", "/proc/self/net/tcp6"].allSatisfy { path in
            let text = (try? TemporaryTree.bytes(at: path)).map { String(decoding: $0, as: UTF8.self) } ?? ""
            return text.split(separator: "\n").dropFirst().allSatisfy { line in
                // Number, local and remote address, state, bytes to be sent and to be read.
                let words = line.split(separator: " ")
                guard words.count > 4, words[3] != "0A" else { return true }
                if words[1].hasSuffix(ending) { return words[4].hasPrefix("00000000:") }
                return !words[2].hasSuffix(ending) || words[4].hasSuffix(":00000000")
            }
        }
    }
}
