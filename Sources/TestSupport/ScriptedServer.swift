internal import CLibSSL
internal import Glibc
package import TransferModel

/// An HTTP/1.1 server on 127.0.0.1, or at a Unix socket, that answers exactly as a test says and records exactly what
/// arrived.
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
/// first; other requests go to the default handler, and without one are answered 404.
package final class ScriptedServer: Sendable {
    /// Returns the script that answers a request.
    package typealias Handler = @Sendable (ReceivedRequest) -> Script

    /// Port that the server listens on.
    package let port: UInt16
    private let host: String
    /// A file with the certificate of the authority that signed this server's; `nil` without TLS.
    package var caFile: String? { authority?.caFile }
    /// The server's certificate; `nil` without TLS.
    package var certificate: CertificateAuthority.Issued? { core.tls?.leaf }
    /// Keeps the authority's files, which are deleted with it.
    private let authority: CertificateAuthority?
    let core: Core
    private let listener: Int32
    private let acceptor: TestThread
    private let stopped = Monitor(false)

    /// `host` is an IPv4 address, or `::1`; a server at a Unix socket has neither host nor port.
    package init(
        tls: TLSOptions? = nil, at host: String = "127.0.0.1", port: UInt16 = 0, unixSocket path: String? = nil,
        handler: Handler? = nil
    ) throws {
        self.host = host == "::1" ? "[::1]" : host
        authority = tls?.authority
        let core = Core(tls: try tls.map { try TLSContext($0) }, handler: handler)
        self.core = core
        (listener, self.port) =
            if let path { (try Socket.listen(atPath: path), 0) } else { try Socket.listen(at: host, port: port) }
        let listener = self.listener
        acceptor = try TestThread { core.acceptAll(listener) }
    }

    deinit { precondition(stopped.with { $0 }, "a ScriptedServer was not stopped: its threads would live on") }

    /// Ends every connection, joins every thread. The recorded requests can still be read.
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
    /// `http://127.0.0.1:PORT`, or `https://localhost:PORT` with TLS.
    package var origin: String { caFile == nil ? "http://\(host):\(port)" : "https://localhost:\(port)" }

    /// Sets a route's scripts: the first answers its first request, and so on; the last answers all that follow.
    package func on(_ route: String, _ scripts: Script...) {
        on(route, scripts: scripts)
    }

    /// Sets a route's scripts: the first answers its first request, and so on; the last answers all that follow.
    package func on(_ route: String, scripts: [Script]) {
        precondition(!scripts.isEmpty, "a route needs a script")
        core.state.with { $0.routes[route] = .scripts(scripts) }
    }

    /// Sets a route's handler, which is called before the body is read: its script says when to read it.
    package func onHead(_ route: String, _ handler: @escaping Handler) {
        core.state.with { $0.routes[route] = .headHandler(handler) }
    }

    /// Sets a route's handler, which runs on the connection's thread after the request's body has been read.
    package func on(_ route: String, _ handler: @escaping Handler) {
        core.state.with { $0.routes[route] = .handler(handler) }
    }

    /// Serves a file on a route with ranges, validators and HEAD, as an ordinary server does.
    package func serve(_ route: String, _ resource: ServedResource) {
        on(route) { resource.answer($0) }
    }

    /// Sets a function that is called with the number of each new connection: its script is performed at once, before
    /// TLS and before a byte is read, and the connection then closed; `nil` continues as usual.
    package func onAccept(_ decide: @escaping @Sendable (Int) -> Script?) {
        core.state.with { $0.onAccept = decide }
    }

    /// Opens a gate: scripts that wait for it continue, now and later.
    package func open(gate: String) { core.state.with { _ = $0.openGates.insert(gate) } }
}

/// The server's records.
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
    /// The largest number of connections open at one moment, exact: a connection whose client has left is not counted,
    /// even when its thread has not noticed yet.
    package var peakConnections: Int { core.state.with { $0.peakConnections } }
    /// The largest number of requests under way at one moment, from complete headers to the end of the answer.
    package var peakRequests: Int { core.state.with { $0.peakRequests } }
    /// Number of connections that are open now.
    package var openConnections: Int { core.state.with { $0.stillOpen } }
    /// The negotiated TLS versions, by connection.
    package var tlsVersions: [Int: String] { core.state.with { $0.tlsVersions } }
    /// The names in the certificates that clients sent, by connection; empty for a client that sent none.
    package var clientNames: [Int: String] { core.state.with { $0.clientNames } }
    /// Number of handshakes that failed.
    package var failedHandshakes: Int { core.state.with { $0.failedHandshakes } }
}

extension ScriptedServer {
    /// Waits until at least `bytes` bytes of an answer to a request for `target` were sent, and the clients have read
    /// everything sent to them. Only for clients on this machine and in this network namespace.
    package func waitUntilRead(_ bytes: Int, _ target: String) -> Bool {
        happens { requests(target).contains { $0.sent >= bytes } && isRead }
    }

    /// Whether no byte that was sent to a client is still in the system's buffers.
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
