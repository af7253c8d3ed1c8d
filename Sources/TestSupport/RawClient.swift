internal import CLibSSL
internal import Glibc
package import TransferModel

/// A bare TCP or TLS client for 127.0.0.1 that sends and receives exact bytes.
package final class RawClient {
    /// How the other side ended the connection.
    package enum Ending: Hashable, Sendable {
        /// FIN, with TLS after close_notify.
        case finished
        /// FIN without close_notify.
        case truncated
        case reset, timedOut
    }

    private let descriptor: Int32
    private var isOpen = true
    private var tls: OpaquePointer?

    package init(port: UInt16) throws {
        descriptor = try Socket.connect(to: port)
    }

    /// Connects over TLS, trusting only the authority in `caFile`; throws if the handshake fails.
    package init(port: UInt16, caFile: String, certificate: CertificateAuthority.Issued? = nil) throws {
        signal(SIGPIPE, SIG_IGN)
        descriptor = try Socket.connect(to: port)
        guard let context = SSL_CTX_new(TLS_client_method()) else { throw TLSFailure("SSL_CTX_new") }
        defer { SSL_CTX_free(context) }
        guard SSL_CTX_load_verify_locations(context, caFile, nil) == 1 else { throw TLSFailure(caFile) }
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        if let certificate {
            SSL_CTX_use_certificate_file(context, certificate.certificateFile, SSL_FILETYPE_PEM)
            SSL_CTX_use_PrivateKey_file(context, certificate.keyFile, SSL_FILETYPE_PEM)
        }
        tls = SSL_new(context)
        SSL_set1_host(tls, "localhost")
        SSL_set_fd(tls, descriptor)
        ERR_clear_error()
        guard SSL_connect(tls) == 1 else { throw TLSFailure("handshake") }
    }

    deinit { close() }

    /// Sends a text as UTF-8.
    package func send(_ text: String) { send(Array(text.utf8)) }
    /// Sends bytes and ignores a failure.
    package func send(_ bytes: [UInt8]) {
        _ = bytes.withUnsafeBytes { raw in
            if let tls { return SSL_write(tls, raw.baseAddress, Int32(raw.count)) > 0 }
            return Socket.send(descriptor, raw)
        }
    }

    /// Returns the next `count` bytes; fewer if the other side ended or `timeout` passed.
    package func read(_ count: Int, timeout: TimeSpan = .seconds(10)) -> [UInt8] {
        var bytes: [UInt8] = []
        limit(timeout)
        while bytes.count < count {
            var buffer = [UInt8](repeating: 0, count: min(count - bytes.count, 1 << 16))
            let got = receive(&buffer)
            if got <= 0 { break }
            bytes += buffer[..<got]
        }
        return bytes
    }

    /// Returns everything to the end of the connection, and how it ended.
    package func readToEnd(timeout: TimeSpan = .seconds(10)) -> (bytes: [UInt8], ending: Ending) {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        limit(timeout)
        while true {
            let got = receive(&buffer)
            if got <= 0 { return (bytes, ending(got)) }
            bytes += buffer[..<got]
        }
    }

    private func receive(_ buffer: inout [UInt8]) -> Int {
        buffer.withUnsafeMutableBytes { raw in
            guard let tls else { return Socket.receive(descriptor, raw) }
            ERR_clear_error()
            return Int(SSL_read(tls, raw.baseAddress, Int32(raw.count)))
        }
    }

    private func ending(_ result: Int) -> Ending {
        let code = errno
        if let tls {
            switch SSL_get_error(tls, Int32(result)) {
            case SSL_ERROR_ZERO_RETURN: return .finished
            case SSL_ERROR_SSL: return .truncated
            case SSL_ERROR_WANT_READ: return .timedOut
            default: return code == 0 ? .truncated : .reset
            }
        }
        if result == 0 { return .finished }
        return code == EAGAIN ? .timedOut : .reset
    }

    private func limit(_ timeout: TimeSpan) {
        let seconds = Int(timeout.nanoseconds / 1_000_000_000)
        let micros = Int(timeout.nanoseconds % 1_000_000_000 / 1000)
        Socket.setOption(descriptor, SOL_SOCKET, SO_RCVTIMEO, timeval(tv_sec: seconds, tv_usec: micros))
    }

    /// Sends FIN; the client can still read.
    package func finishWriting() { Socket.finishWriting(descriptor) }

    /// Closes the connection; does nothing if it is closed.
    package func close() {
        if isOpen { Socket.closeDescriptor(descriptor) }
        isOpen = false
        SSL_free(tls)
        tls = nil
    }
}
