internal import Glibc
import TransferModel

/// A server of independent origin on a port of 127.0.0.1, against which a test checks this program.
package final class Neighbour: Sendable {
    /// Port that the server listens on.
    package let port: UInt16
    private let binary: Binary
    private let program: RunningProgram

    /// Starts `program` with the arguments made from its port and a folder for its files, and waits until it listens.
    /// `stop()` must follow.
    package init(_ program: String, _ arguments: (UInt16, TemporaryTree) throws -> [String]) throws {
        let (descriptor, port) = try Socket.listen()
        Socket.closeDescriptor(descriptor)
        self.port = port
        binary = try Binary(program: program)
        self.program = try binary.start(try arguments(port, binary.folder), timeout: .seconds(600))
        let deadline = MonotonicClock.now + .seconds(20)
        while true {
            if let descriptor = try? Socket.connect(to: port) {
                Socket.closeDescriptor(descriptor)
                return
            }
            guard self.program.isRunning, MonotonicClock.now < deadline else {
                stop()
                throw SystemFailure("start \(program): \(self.program.wait().errorText)", ETIMEDOUT)
            }
            usleep(5000)
        }
    }

    /// Kills the server and waits for its end.
    package func stop() {
        program.send(signal: SIGKILL)
        _ = program.wait()
    }

    /// Standard output, then standard error, of the server so far.
    package var log: String { program.outputSoFar + program.errorOutputSoFar }
}

extension Neighbour {
    /// Starts an HTTP proxy, which requires a login if `user` is given.
    package static func tinyproxy(user: String? = nil, password: String = "") throws -> Neighbour {
        try Neighbour("/usr/bin/tinyproxy") { port, folder in
            let login = user.map { "BasicAuth \($0) \(password)\n" } ?? ""
            try folder.write(
                "proxy.conf", "Port \(port)\nListen 127.0.0.1\nAllow 127.0.0.1\nTimeout 60\nLogLevel Info\n\(login)")
            return ["-d", "-c", folder.path("proxy.conf")]
        }
    }

    /// Whether squid is installed. `make test` does not install it, because Debian's package starts a service.
    package static var hasSquid: Bool { access("/usr/sbin/squid", X_OK) == 0 }

    /// Starts an HTTP proxy that requires a login by `basic`, `digest` or `ntlm`. Its helper for `ntlm` accepts every
    /// user.
    package static func squid(_ method: String, user: String, password: String) throws -> Neighbour {
        // squid takes long to start, and another process may have taken the port meanwhile.
        for _ in 0..<2 {
            if let proxy = try? startSquid(method, user, password) { return proxy }
        }
        return try startSquid(method, user, password)
    }

    private static func startSquid(_ method: String, _ user: String, _ password: String) throws -> Neighbour {
        try Neighbour("/usr/sbin/squid") { port, folder in
            // squid may run as another user.
            try folder.setMode("", 0o755)
            try folder.write("passwords", "\(user):\(password)\n")
            let helper =
                switch method {
                case "digest": "/usr/lib/squid/digest_file_auth \(folder.path("passwords"))"
                case "ntlm": "/usr/lib/squid/ntlm_fake_auth"
                default: "/usr/lib/squid/basic_fake_auth"
                }
            try folder.write(
                "squid.conf",
                """
                http_port 127.0.0.1:\(port)
                pid_filename none
                cache_log /dev/null
                access_log none
                cache deny all
                pinger_enable off
                visible_hostname gate
                auth_param \(method) program \(helper)
                auth_param \(method) children 1
                \(method == "ntlm" ? "" : "auth_param \(method) realm gate")
                acl known proxy_auth REQUIRED
                http_access allow known
                http_access deny all
                shutdown_lifetime 0 seconds
                """)
            return ["-N", "-f", folder.path("squid.conf")]
        }
    }

    /// Whether nginx is installed.
    package static var hasNginx: Bool { access("/usr/sbin/nginx", X_OK) == 0 }

    /// Starts a web server with the files in `site`. `rules` are directives of its `server`, `zones` those of its `http`.
    package static func nginx(site: [String: [UInt8]], zones: String, rules: String) throws -> Neighbour {
        try Neighbour("/usr/sbin/nginx") { port, folder in
            for (name, bytes) in site { try folder.write("site/\(name)", bytes) }
            let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
                "\($0)_temp_path \(folder.path("\($0)_temp"));"
            }
            try folder.write(
                "nginx.conf",
                """
                daemon off;
                master_process off;
                pid \(folder.path("nginx.pid"));
                error_log stderr crit;
                events { worker_connections 256; }
                http {
                    access_log off;
                    \(temporary.joined(separator: "\n    "))
                    \(zones)
                    server {
                        listen 127.0.0.1:\(port);
                        root \(folder.path("site"));
                        \(rules)
                    }
                }
                """)
            return ["-p", folder.path(""), "-c", folder.path("nginx.conf"), "-e", "stderr"]
        }
    }

    /// Starts a SOCKS5 proxy, which requires a login if `user` is given.
    package static func microsocks(user: String? = nil, password: String = "") throws -> Neighbour {
        try Neighbour("/usr/bin/microsocks") { port, _ in
            ["-i", "127.0.0.1", "-p", "\(port)"] + (user.map { ["-u", $0, "-P", password] } ?? [])
        }
    }

    /// Starts a TLS listener that forwards to the plain port `inner`.
    package static func socat(before inner: UInt16, _ certificate: CertificateAuthority.Issued) throws -> Neighbour {
        try Neighbour("/usr/bin/socat") { port, _ in
            [
                "OPENSSL-LISTEN:\(port),bind=127.0.0.1,reuseaddr,fork,verify=0,"
                    + "cert=\(certificate.certificateFile),key=\(certificate.keyFile)",
                "TCP:127.0.0.1:\(inner)",
            ]
        }
    }
}
