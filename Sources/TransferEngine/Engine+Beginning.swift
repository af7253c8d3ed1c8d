import AttemptLife
import FileDelivery
package import TransferModel

/// An attempt that began.
package struct AttemptBeginning: Hashable, Sendable {
    package let task: TaskIndex
    package let number: Int
}

/// Attempts that send nothing before the journal has recorded that they begin.
package struct RecordedBeginnings {
    /// The tasks of such attempts: what they send must not be sent twice.
    package var recordedFirst: Set<TaskIndex> = []
    /// Attempts that wait, and were not passed on yet.
    var waiting: [AttemptBeginning] = []
}

// What comes before an attempt's first request.

extension Engine {
    /// What must not be sent twice is sent when it is certain that whoever goes on with the run knows of it.
    func recordBeginning(_ attempt: Attempt) -> StepOutcome {
        guard beginnings.recordedFirst.contains(attempt.task) else { return .done }
        attempt.phase = .awaitingRecord
        beginnings.waiting.append(AttemptBeginning(task: attempt.task, number: attempt.number))
        return .pending
    }

    /// Those that began since, and wait for that.
    package func takeUnkept() -> [AttemptBeginning] {
        defer { beginnings.waiting.removeAll(keepingCapacity: true) }
        return beginnings.waiting
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
                .init(
                    attempt.task, path: specification.destination ?? "", checksum, member: member(specification),
                    exceptSince: ownFileMayBeThere(attempt))))
        return .pending
    }
}
