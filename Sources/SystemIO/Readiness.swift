internal import CLinuxShims
import Glibc

/// Waits for any of many descriptors at a cost that depends only on those that are ready (epoll, level-triggered).
/// Belongs to one thread; a descriptor is removed before it is closed.
package final class ReadinessSet {
    /// A ready descriptor, under the tag with which it was added. Each connection has a tag of its own rather than its
    /// descriptor's number, so that a late event of a closed one is not taken for its successor's.
    package struct Ready: Hashable, Sendable {
        /// The tag given to `add` or `change`.
        package let tag: UInt64
        /// Whether reading will not wait; also at the end of the stream.
        package let canRead: Bool
        /// Whether writing will not wait.
        package let canWrite: Bool

        package init(tag: UInt64, canRead: Bool, canWrite: Bool) {
            self.tag = tag
            self.canRead = canRead
            self.canWrite = canWrite
        }
    }

    private let epoll: Descriptor
    private var found = [tr_ready](repeating: tr_ready(), count: 256)

    package init() throws(SystemError) {
        epoll = Descriptor(owning: try Syscall.check("epoll_create") { tr_epoll_make() })
    }

    /// Adds a descriptor with what to wait for.
    package func add(_ descriptor: Int32, tag: UInt64, reading: Bool, writing: Bool) throws(SystemError) {
        try set(tr_epoll_add, descriptor, tag, reading, writing)
    }

    /// Changes what to wait for.
    package func change(_ descriptor: Int32, tag: UInt64, reading: Bool, writing: Bool) throws(SystemError) {
        try set(tr_epoll_modify, descriptor, tag, reading, writing)
    }

    /// Removes a descriptor, before it is closed.
    package func remove(_ descriptor: Int32) {
        _ = tr_epoll_set(epoll.raw, tr_epoll_remove, descriptor, 0, 0, 0)
    }

    private func set(
        _ change: tr_epoll_change, _ descriptor: Int32, _ tag: UInt64, _ reading: Bool, _ writing: Bool
    ) throws(SystemError) {
        let raw = epoll.raw
        try Syscall.check("epoll_ctl") {
            tr_epoll_set(raw, change, descriptor, reading ? 1 : 0, writing ? 1 : 0, tag)
        }
    }

    /// Returns ready descriptors, at most 256; none when the time ran out or an interrupt came. A negative time waits
    /// without end.
    package func wait(milliseconds: Int64) -> [Ready] {
        let time = Int32(clamping: max(-1, milliseconds))
        let count = unsafe tr_epoll_wait(epoll.raw, &found, Int32(found.count), time)
        guard count > 0 else { return [] }
        return found.prefix(Int(count)).map {
            Ready(tag: $0.tag, canRead: $0.can_read != 0, canWrite: $0.can_write != 0)
        }
    }
}

@available(*, unavailable)
extension ReadinessSet: Sendable {}
