internal import CLinuxShims
import Glibc

/// A socket to the kernel's tables of links, addresses and routes. No call here blocks; `NetlinkMessage` reads the
/// bytes.
package struct RouteSocket: ~Copyable, Sendable {
    /// The outcome of a read.
    package enum Received: Hashable, Sendable {
        /// A message of this many bytes is in the buffer.
        case message(Int)
        /// No message has come yet.
        case nothing
        /// The kernel dropped messages for want of room, or one was longer than the buffer.
        case lost
    }

    private let descriptor: Descriptor

    /// `listens`: also receives a message for every change.
    package init(listens: Bool = false) throws(SystemError) {
        descriptor = Descriptor(owning: try Syscall.check("netlink") { tr_route_socket(listens ? 1 : 0) })
    }

    /// What to poll for: ready when a message has come.
    package var entry: PollEntry { PollEntry(descriptor.raw) }

    /// Sends a request; the kernel answers with one or more messages.
    package borrowing func send(_ bytes: [UInt8]) throws(SystemError) {
        let raw = descriptor.raw
        _ = try Syscall.count("netlink") {
            unsafe bytes.withUnsafeBytes { unsafe Int(tr_route_send(raw, $0.baseAddress, $0.count)) }
        }
    }

    /// Reads the next message into the buffer.
    package borrowing func receive(into buffer: inout [UInt8]) throws(SystemError) -> Received {
        let raw = descriptor.raw
        do throws(SystemError) {
            let count = try Syscall.count("netlink") {
                unsafe buffer.withUnsafeMutableBytes { unsafe Int(tr_route_receive(raw, $0.baseAddress, $0.count)) }
            }
            return count > buffer.count ? .lost : .message(count)
        } catch {
            switch error.errno {
            case EAGAIN: return .nothing
            case ENOBUFS: return .lost
            default: throw error
            }
        }
    }
}
