internal import CLibSSL
internal import Glibc

/// One accepted connection, plain or TLS, read through a buffer. Belongs to one thread.
final class Wire {
    let descriptor: Int32
    private var tls: OpaquePointer?
    private var buffer: [UInt8] = []
    private var start = 0
    private var scratch = [UInt8](repeating: 0, count: 1 << 16)

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { SSL_free(tls) }

    /// The TLS handshake; false when it failed.
    func secure(with context: OpaquePointer) -> Bool {
        tls = SSL_new(context)
        guard let tls, SSL_set_fd(tls, descriptor) == 1 else { return false }
        ERR_clear_error()
        return SSL_accept(tls) == 1
    }

    /// The version that the handshake agreed on, such as `TLSv1.3`.
    var tlsVersion: String? { tls.map { String(cString: SSL_get_version($0)) } }

    /// The common name in the certificate that the client showed; empty when it showed none.
    var clientName: String {
        guard let tls, let certificate = SSL_get0_peer_certificate(tls) else { return "" }
        var text = [CChar](repeating: 0, count: 256)
        X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, &text, Int32(text.count))
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Carries bytes between a client without TLS and a port, until one of them ends.
    func relay(to port: UInt16) {
        guard let other = try? Socket.connect(to: port) else { return }
        defer { Socket.closeDescriptor(other) }
        let rest = Array(buffer[start...])
        guard rest.isEmpty || rest.withUnsafeBytes({ Socket.send(other, $0) }) else { return }
        while true {
            var ends = [descriptor, other].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            if poll(&ends, 2, -1) < 0, errno != EINTR { return }
            for (from, to) in [(0, 1), (1, 0)] where ends[from].revents != 0 {
                let isOver = scratch.withUnsafeMutableBytes { raw in
                    let count = Socket.receive(ends[from].fd, raw)
                    return count <= 0 || !Socket.send(ends[to].fd, UnsafeRawBufferPointer(rebasing: raw[..<count]))
                }
                if isOver { return }
            }
        }
    }

    func send(_ bytes: [UInt8]) -> Bool {
        if bytes.isEmpty { return true }
        return bytes.withUnsafeBytes { raw in
            guard let tls else { return Socket.send(descriptor, raw) }
            var done = 0
            while done < raw.count {
                ERR_clear_error()
                let count = SSL_write(tls, raw.baseAddress! + done, Int32(min(raw.count - done, 1 << 30)))
                guard count > 0 else { return false }
                done += Int(count)
            }
            return true
        }
    }

    /// Everything up to and with the next empty line; `nil` when the client left before that.
    func readHead() -> [UInt8]? {
        let end: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A]
        var searched = start
        while true {
            var index = max(start, searched - 3)
            while index + 4 <= buffer.count {
                if buffer[index] == 0x0D, buffer[index..<(index + 4)].elementsEqual(end) {
                    return take(index + 4 - start)
                }
                index += 1
            }
            searched = buffer.count
            let shift = start
            guard fill() else { return nil }
            searched -= shift
        }
    }

    /// A line without its CRLF.
    func readLine() -> [UInt8]? {
        while true {
            if let end = buffer[start...].firstIndex(of: 0x0A) {
                var line = take(end + 1 - start)
                line.removeLast()
                if line.last == 0x0D { line.removeLast() }
                return line
            }
            guard fill() else { return nil }
        }
    }

    /// Up to `count` bytes, at least one; empty when the client left.
    func readSome(_ count: Int) -> [UInt8] {
        if start == buffer.count, !fill() { return [] }
        return take(min(count, buffer.count - start))
    }

    private func take(_ count: Int) -> [UInt8] {
        defer { start += count }
        return Array(buffer[start..<(start + count)])
    }

    private func fill() -> Bool {
        if start > 0 {
            buffer.removeFirst(start)
            start = 0
        }
        let count = scratch.withUnsafeMutableBytes { raw in
            guard let tls else { return Socket.receive(descriptor, raw) }
            ERR_clear_error()
            return Int(SSL_read(tls, raw.baseAddress, Int32(raw.count)))
        }
        guard count > 0 else { return false }
        buffer += scratch[..<count]
        return true
    }

    /// Says that nothing more comes. With `notify`, TLS says so too.
    func finish(notify: Bool) {
        if notify, let tls {
            ERR_clear_error()
            SSL_shutdown(tls)
        }
        Socket.finishWriting(descriptor)
    }

    /// Waits until the client has left, throwing away what it still sends.
    func drain() {
        buffer = []
        start = 0
        while scratch.withUnsafeMutableBytes({ Socket.receive(descriptor, $0) }) > 0 {}
    }
}
