internal import Glibc
internal import TransferModel

/// An FTP server of independent origin (Debian's `python3-pyftpdlib`) over a temporary folder, for user `u` with
/// password `p` and for anonymous users.
package final class FTPServer {
    /// The folder that the server serves.
    package let folder: TemporaryTree
    /// Port of 127.0.0.1 that the server listens on.
    package let port: Int
    private let program: RunningProgram
    private let log: TemporaryTree

    /// Starts the server. With `isOpen`, anonymous users may write. The first `cuts` downloads break off after `bytes`
    /// bytes. `without` are commands that the server does not know; to those in `mute` it says nothing at all.
    ///
    /// `rate` limits the bytes per second in each direction. The reply that ends a transfer comes `late` milliseconds
    /// late, or is always `ending`. `SIZE` answers are wrong by `sizeOff` bytes. The first `busy` requests for a file
    /// are answered 450.
    package init(
        cutAfter bytes: Int = 0, cuts: Int = 0, without: [String] = [], mute: [String] = [], rate: Int = 0,
        late: Int = 0, ending: String = "", sizeOff: Int = 0, isOpen: Bool = false, busy: Int = 0
    ) throws {
        folder = try TemporaryTree()
        log = try TemporaryTree()
        program = try RunningProgram(
            "/usr/bin/python3",
            [
                "-c", Self.script, folder.path, log.path, "\(bytes)", "\(cuts)", without.joined(separator: ","),
                "\(rate)",
                isOpen ? "elradfmwMT" : "elr", "\(late)", "\(sizeOff)", mute.joined(separator: ","), ending,
                "\(busy)",
            ],
            environment: ["PATH": "/usr/bin:/bin", "PYTHONWARNINGS": "ignore"], folder: folder.path, input: [],
            timeout: .seconds(300))
        guard program.waitForOutput("\n"), let port = Int(program.outputSoFar.prefix { $0.isNumber }) else {
            program.send(signal: SIGKILL)
            throw SystemFailure("ftp server: \(program.wait().errorText)", 0)
        }
        self.port = port
    }

    deinit {
        program.send(signal: SIGKILL)
        _ = program.wait()
    }

    /// Returns the URL of a file; `login` is empty or `user:password@`.
    package func url(_ path: String, login: String = "") -> String { "ftp://\(login)127.0.0.1:\(port)/\(path)" }

    /// Lines that clients sent on control connections so far, in order.
    package var commands: [String] {
        let text = (try? log.text("commands")) ?? ""
        return text.split(separator: "\n").map(String.init)
    }

    /// Most control connections that were open at one time.
    package var peakConnections: Int { Int((try? log.text("peak")) ?? "") ?? 0 }

    private static let script = """
        import logging, os, socket, sys
        from pyftpdlib.authorizers import DummyAuthorizer
        from pyftpdlib.handlers import FTPHandler, DTPHandler, ThrottledDTPHandler
        from pyftpdlib.servers import FTPServer

        folder, log, cut, cuts, without, rate, rights, late, off, mute, ending, busy = sys.argv[1:13]
        left, asked = [int(cuts)], [0]
        logging.basicConfig(level=logging.CRITICAL)

        class Data(ThrottledDTPHandler if int(rate) else DTPHandler):
            write_limit = int(rate)
            read_limit = int(rate)
            count = 0

            def __init__(self, sock, channel):
                if int(rate):
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
                super().__init__(sock, channel)

            def close(self):
                if ending and self._resp:
                    self._resp = (ending, logging.debug)
                if int(late) and not self._closed and self._resp:
                    said, channel = self._resp[0], self.cmd_channel
                    self._resp = ()
                    self.ioloop.call_later(int(late) / 1000, lambda: channel._closed or channel.respond(said))
                super().close()

            def send(self, data):
                if left[0] > 0 and self.count >= int(cut):
                    left[0] -= 1
                    self.close()
                    return 0
                sent = super().send(data)
                self.count += sent
                return sent

        class Handler(FTPHandler):
            dtp_handler = Data
            use_sendfile = False
            permit_foreign_addresses = False
            banner = "ready"
            open_now, peak = 0, 0

            def on_connect(self):
                Handler.open_now += 1
                if Handler.open_now > Handler.peak:
                    Handler.peak = Handler.open_now
                    with open(log + "/peak", "w") as file:
                        file.write(str(Handler.peak))

            def on_disconnect(self):
                Handler.open_now -= 1

            def pre_process_command(self, line, cmd, arg):
                with open(log + "/commands", "a") as file:
                    file.write(line + "\\n")
                if cmd in mute.split(","):
                    return
                if cmd == "SIZE" and int(off):
                    self.respond("213 %d" % (os.path.getsize(folder + "/" + line.split()[1]) + int(off)))
                    return
                if cmd == "RETR":
                    asked[0] += 1
                    if asked[0] <= int(busy):
                        self.respond("450 File busy.")
                        return
                if cmd in without.split(","):
                    self.respond("502 Not implemented.")
                    return
                super().pre_process_command(line, cmd, arg)

        authorizer = DummyAuthorizer()
        authorizer.add_user("u", "p", folder, perm="elradfmwMT")
        authorizer.add_anonymous(folder, perm=rights)
        Handler.authorizer = authorizer
        server = FTPServer(("127.0.0.1", 0), Handler)
        print(server.socket.getsockname()[1], flush=True)
        server.serve_forever()
        """
}
