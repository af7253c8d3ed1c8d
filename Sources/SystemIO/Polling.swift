internal import CLinuxShims
import Glibc

/// A descriptor to poll, and whether it was ready.
package struct PollEntry: Hashable, Sendable {
    /// What to wait for.
    package enum Interest: Hashable, Sendable {
        case reading, writing
        /// Only the other end's closing.
        case leaving
    }
    /// The descriptor's number; the caller keeps it open.
    package let descriptor: Int32
    /// What this entry waits for.
    package let interest: Interest
    /// Whether the last `Polling.wait` found what `interest` says, or that the other end has closed.
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

/// Waiting on the calling thread.
package enum Polling {
    /// Waits until an entry is ready, or until the time has passed. An interrupt ends the wait early, with none ready.
    package static func wait(_ entries: inout [PollEntry], milliseconds: Int64) {
        var raw = entries.map { pollfd(fd: $0.descriptor, events: $0.events, revents: 0) }
        let count = unsafe poll(&raw, nfds_t(raw.count), Int32(clamping: milliseconds))
        for index in entries.indices { entries[index].isReady = count > 0 && raw[index].revents != 0 }
    }

    /// Sleeps for that time; a signal may end it early.
    package static func sleep(milliseconds: Int64) {
        var none: [PollEntry] = []
        wait(&none, milliseconds: milliseconds)
    }
}

/// An event that ends the wait of a thread that polls on it; any thread may raise it.
package final class PollWake: Sendable {
    private let event: Descriptor

    package init() throws(SystemError) {
        event = Descriptor(owning: try Syscall.check("eventfd") { tr_eventfd() })
    }

    /// What to poll for: ready once the event was raised.
    package var entry: PollEntry { PollEntry(event.raw) }

    /// Raises the event, from any thread.
    package func signal() {
        var one: UInt64 = 1
        _ = unsafe write(event.raw, &one, 8)
    }

    /// Resets the event; called before looking at what it was raised for.
    package func clear() {
        var count: UInt64 = 0
        _ = unsafe Glibc.read(event.raw, &count, 8)
    }
}
