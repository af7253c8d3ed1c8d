internal import Glibc
package import TransferModel

/// A bare TCP client for 127.0.0.1 that says and hears exact bytes.
package final class RawClient {
    /// How the other side ended.
    package enum Ending: Hashable, Sendable { case finished, reset, timedOut }

    private let descriptor: Int32
    private var isOpen = true

    package init(port: UInt16) throws {
        descriptor = try Socket.connect(to: port)
    }

    deinit { close() }

    package func send(_ text: String) { send(Array(text.utf8)) }
    package func send(_ bytes: [UInt8]) { _ = bytes.withUnsafeBytes { Socket.send(descriptor, $0) } }

    /// The next `count` bytes; fewer when the other side ended or `timeout` passed.
    package func read(_ count: Int, timeout: TimeSpan = .seconds(10)) -> [UInt8] {
        var bytes: [UInt8] = []
        limit(timeout)
        while bytes.count < count {
            var buffer = [UInt8](repeating: 0, count: min(count - bytes.count, 1 << 16))
            let got = buffer.withUnsafeMutableBytes { Socket.receive(descriptor, $0) }
            if got <= 0 { break }
            bytes += buffer[..<got]
        }
        return bytes
    }

    /// Everything to the end, and how that came.
    package func readToEnd(timeout: TimeSpan = .seconds(10)) -> (bytes: [UInt8], ending: Ending) {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        limit(timeout)
        while true {
            let got = buffer.withUnsafeMutableBytes { Socket.receive(descriptor, $0) }
            if got == 0 { return (bytes, .finished) }
            if got < 0 { return (bytes, errno == EAGAIN ? .timedOut : .reset) }
            bytes += buffer[..<got]
        }
    }

    private func limit(_ timeout: TimeSpan) {
        let seconds = Int(timeout.nanoseconds / 1_000_000_000)
        let micros = Int(timeout.nanoseconds % 1_000_000_000 / 1000)
        Socket.setOption(descriptor, SOL_SOCKET, SO_RCVTIMEO, timeval(tv_sec: seconds, tv_usec: micros))
    }

    package func finishWriting() { Socket.finishWriting(descriptor) }

    package func close() {
        if isOpen { Socket.closeDescriptor(descriptor) }
        isOpen = false
    }
}
