internal import CLinuxShims
import Glibc

/// A descriptor that somebody waits for.
package struct PollEntry: Hashable, Sendable {
    package enum Interest: Hashable, Sendable {
        case reading, writing
        /// Only that the other end has left.
        case leaving
    }
    package let descriptor: Int32
    package let interest: Interest
    /// What was of interest has come about, or the other end has left.
    package fileprivate(set) var isReady = false

    package init(_ descriptor: Int32, _ interest: Interest = .reading) {
        self.descriptor = descriptor
        self.interest = interest
    }

    fileprivate var events: Int16 {
        switch interest {
        case .reading: Int16(POLLIN)
        case .writing: Int16(POLLOUT)
        case .leaving: 0
        }
    }
}

package enum Polling {
    /// Waits until one of them is ready, or that long. An interrupt ends it early, with none ready.
    package static func wait(_ entries: inout [PollEntry], milliseconds: Int64) {
        var raw = entries.map { pollfd(fd: $0.descriptor, events: $0.events, revents: 0) }
        let count = unsafe poll(&raw, nfds_t(raw.count), Int32(clamping: milliseconds))
        for index in entries.indices { entries[index].isReady = count > 0 && raw[index].revents != 0 }
    }

    package static func sleep(milliseconds: Int64) {
        var none: [PollEntry] = []
        wait(&none, milliseconds: milliseconds)
    }
}

/// Ends the wait of a thread that polls on it; any thread may.
package final class PollWake: Sendable {
    private let event: Descriptor

    package init() throws(SystemError) {
        event = Descriptor(owning: try Syscall.check("eventfd") { tr_eventfd() })
    }

    package var entry: PollEntry { PollEntry(event.raw) }

    package func signal() {
        var one: UInt64 = 1
        _ = unsafe write(event.raw, &one, 8)
    }

    /// Before looking at what the signal was for.
    package func clear() {
        var count: UInt64 = 0
        _ = unsafe Glibc.read(event.raw, &count, 8)
    }
}
