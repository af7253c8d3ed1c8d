internal import CLinuxShims
import Glibc

/// Waits for any of many descriptors at the price of those that are ready (epoll, level-triggered). Belongs to one
/// thread; whoever closes a descriptor removes it first.
package final class ReadinessSet {
    /// What is ready, under the tag it was added with: a tag of its own for each connection, never its descriptor's
    /// number, tells a late word about one that is gone from one about its successor.
    package struct Ready: Hashable, Sendable {
        package let tag: UInt64
        package let canRead: Bool
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

    package func add(_ descriptor: Int32, tag: UInt64, reading: Bool, writing: Bool) throws(SystemError) {
        try set(tr_epoll_add, descriptor, tag, reading, writing)
    }

    package func change(_ descriptor: Int32, tag: UInt64, reading: Bool, writing: Bool) throws(SystemError) {
        try set(tr_epoll_modify, descriptor, tag, reading, writing)
    }

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

    /// Those that are ready, at most 256 of them; none when the time ran out or an interrupt came. A negative time is
    /// no end.
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
