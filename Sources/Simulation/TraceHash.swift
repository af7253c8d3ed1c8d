import Scheduling
import TransferModel

/// A hash (FNV-1a) over all actions of a scheduler and their times: equal hashes mean that two runs did the same.
package struct TraceHash: Hashable, Sendable {
    /// The hash so far; starts at FNV-1a's 64-bit offset basis.
    package private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    private mutating func mix(_ number: UInt64) { value = (value ^ number) &* 0x100_0000_01B3 }
    private mutating func mix(_ kind: UInt64, _ number: UInt32, _ rest: Int64 = 0) {
        mix(kind)
        mix(UInt64(number))
        mix(UInt64(bitPattern: rest))
    }

    mutating func mix(_ action: SchedulerAction, at now: Instant) {
        mix(UInt64(bitPattern: now.nanoseconds))
        switch action {
        case .perform(let command): mix(command)
        case .waiting(let task, let reason): mix(20, task.raw, Int64(reason.rawValue.utf8.reduce(0) { $0 &+ Int($1) }))
        case .resumed(let task): mix(21, task.raw)
        case .expand(let task): mix(26, task.raw)
        case .attemptEnded(let task, let end): mix(22, task.raw, end.backoff?.nanoseconds ?? -1)
        case .finished(let task, let conclusion):
            mix(23, task.raw, conclusion.duration.nanoseconds)
            for wait in conclusion.waits { mix(24, task.raw, wait.duration.nanoseconds) }
        case .groupFinished(let group, let published, _): mix(25, UInt32(group.raw), published ? 1 : 0)
        case .connectionsChanged(let session, let origin, let step):
            mix(27, UInt32(session.raw), Int64(origin.raw) << 32 | Int64(step.to))
        }
    }

    private mutating func mix(_ command: ExecutorCommand) {
        switch command {
        case .start(let task, let attempt, let mirror): mix(1, task.raw, Int64(attempt) << 8 | Int64(mirror))
        case .grant(let task, let origin): mix(2, task.raw, Int64(origin.raw))
        case .credit(let task, let bytes): mix(3, task.raw, bytes)
        case .cancel(let task, let keepPartial): mix(4, task.raw, keepPartial ? 1 : 0)
        case .publish(let group): mix(5, UInt32(group.raw))
        case .discard(let group): mix(6, UInt32(group.raw))
        case .giveUp(let group): mix(9, UInt32(group.raw))
        case .lend(let task, let origin): mix(7, task.raw, Int64(origin.raw))
        case .recall(let task, let origin): mix(8, task.raw, Int64(origin.raw))
        // Part of a `cancel` that is mixed in already.
        case .discardPartial: break
        }
    }
}
