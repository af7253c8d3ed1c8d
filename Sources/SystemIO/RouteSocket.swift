internal import CLinuxShims
import Glibc

/// A socket to the kernel's tables of links, addresses and routes. No call here blocks; what the bytes mean is for
/// others to know.
package struct RouteSocket: ~Copyable, Sendable {
    package enum Received: Hashable, Sendable {
        /// So many bytes of the buffer.
        case message(Int)
        /// Nothing is there yet.
        case nothing
        /// The kernel had more to tell than it keeps for us, or one message was longer than the buffer.
        case lost
    }

    private let descriptor: Descriptor

    /// `listens`: whatever changes is told, too.
    package init(listens: Bool = false) throws(SystemError) {
        descriptor = Descriptor(owning: try Syscall.check("netlink") { tr_route_socket(listens ? 1 : 0) })
    }

    package var entry: PollEntry { PollEntry(descriptor.raw) }

    package borrowing func send(_ bytes: [UInt8]) throws(SystemError) {
        let raw = descriptor.raw
        _ = try Syscall.count("netlink") {
            unsafe bytes.withUnsafeBytes { unsafe Int(tr_route_send(raw, $0.baseAddress, $0.count)) }
        }
    }

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
