internal import Glibc
internal import TransferModel

/// A web server of independent origin that accepts user `Aladdin` with `open sesame`: nginx by Basic, lighttpd by
/// Digest.
/// Used only where it is installed; `make test` installs neither, because Debian's packages start a service.
package final class LoginServer {
    /// The server program and its login scheme.
    package enum Kind: Sendable, CaseIterable {
        case nginxBasic, lighttpdDigestMD5, lighttpdDigestSHA256

        var program: String { self == .nginxBasic ? "/usr/sbin/nginx" : "/usr/sbin/lighttpd" }
        /// Whether the server program is installed and may be run.
        package var isInstalled: Bool { access(program, X_OK) == 0 }
    }
    private let folder: TemporaryTree
    private let port: UInt16
    private let program: RunningProgram

    package init(_ kind: Kind) throws {
        let (listener, port) = try Socket.listen()
        Socket.closeDescriptor(listener)
        self.port = port
        folder = try TemporaryTree()
        let passwords = kind == .nginxBasic ? "Aladdin:{PLAIN}open sesame\n" : "Aladdin:open sesame\n"
        try folder.write("passwords", passwords)
        try folder.write("docs/file", "let in\n")
        // nginx's worker may run as another user.
        for name in ["", "passwords", "docs", "docs/file"] { try folder.setMode(name, 0o755) }
        let text = kind == .nginxBasic ? Self.nginx(folder.path, port) : Self.lighttpd(folder.path, port, kind)
        let file = try folder.write("conf", text)
        let arguments = kind == .nginxBasic ? ["-e", "\(folder.path)/errors", "-c", file] : ["-D", "-f", file]
        program = try RunningProgram(
            kind.program, arguments, environment: ["PATH": "/usr/bin:/bin"], folder: folder.path, input: [],
            timeout: .seconds(300))
        let deadline = MonotonicClock.now + .seconds(30)
        while (try? RawClient(port: port)) == nil {
            guard MonotonicClock.now < deadline, program.isRunning else {
                program.send(signal: SIGKILL)
                throw SystemFailure("\(kind.program): \(program.wait().errorText)", 0)
            }
            usleep(10_000)
        }
    }

    deinit {
        program.send(signal: SIGTERM)
        _ = program.wait()
    }

    /// Returns the URL of a path below the document root, which has one file, `file`.
    package func url(_ path: String) -> String { "http://127.0.0.1:\(port)/\(path)" }

    private static func nginx(_ folder: String, _ port: UInt16) -> String {
        let places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(folder)/t-\($0);" }
        return """
            worker_processes 1; daemon off; pid \(folder)/pid; error_log \(folder)/errors;
            events {}
            http {
                access_log off; \(places.joined(separator: " "))
                server {
                    listen 127.0.0.1:\(port); root \(folder)/docs;
                    location / { auth_basic "cave"; auth_basic_user_file \(folder)/passwords; }
                }
            }
            """
    }

    private static func lighttpd(_ folder: String, _ port: UInt16, _ kind: Kind) -> String {
        let algorithm = kind == .lighttpdDigestMD5 ? "MD5" : "SHA-256"
        return """
            server.modules = ("mod_auth", "mod_authn_file")
            server.port = \(port)
            server.bind = "127.0.0.1"
            server.document-root = "\(folder)/docs"
            server.errorlog = "\(folder)/errors"
            auth.backend = "plain"
            auth.backend.plain.userfile = "\(folder)/passwords"
            auth.require = ("/" => (
                "method" => "digest", "realm" => "cave", "require" => "valid-user", "algorithm" => "\(algorithm)"))
            """
    }
}
