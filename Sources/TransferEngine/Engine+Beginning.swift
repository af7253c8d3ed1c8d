import AttemptLife
import FileDelivery
package import TransferModel

/// An attempt that began.
package struct AttemptBeginning: Hashable, Sendable {
    package let task: TaskIndex
    package let number: Int
}

// What comes before an attempt's first request.

extension Engine {
    /// What must not be sent twice is sent when it is certain that whoever goes on with the run knows of it.
    func recordBeginning(_ attempt: Attempt) -> StepOutcome {
        guard keptFirst.contains(attempt.task) else { return .done }
        attempt.phase = .awaitingRecord
        unkept.append(AttemptBeginning(task: attempt.task, number: attempt.number))
        return .pending
    }

    /// Those that began since, and wait for that.
    package func takeUnkept() -> [AttemptBeginning] {
        defer { unkept.removeAll(keepingCapacity: true) }
        return unkept
    }

    package func kept(_ beginnings: [AttemptBeginning]) {
        for beginning in beginnings where awaitsRecord(beginning.task) {
            guard let attempt = attempt(of: beginning.task), attempt.number == beginning.number else { continue }
            stepDone(.recordBeginning, attempt)
        }
    }

    /// Nothing of it was sent.
    package func awaitsRecord(_ task: TaskIndex) -> Bool {
        guard case .awaitingRecord? = attempt(of: task)?.phase else { return false }
        return true
    }

    /// What stands at the destination may make the request needless.
    func inspectDestination(_ attempt: Attempt) -> StepOutcome {
        let specification = attempt.specification
        guard specification.type == .download, mustInspect(specification) else { return .done }
        attempt.phase = .inspecting
        let checksum: Checksum? =
            if case .literal(let literal) = specification.options.values.checksum { literal } else { nil }
        outbox.add(
            .inspect(
                attempt.task, path: specification.destination ?? "", checksum, member: member(specification),
                exceptSince: ownFileMayBeThere(attempt)))
        return .pending
    }
}
