import AttemptLife
import FileDelivery
package import TransferModel

/// An attempt that began.
package struct AttemptBeginning: Hashable, Sendable {
    /// The attempt's task.
    package let task: TaskIndex
    /// Number of the attempt within its task.
    package let number: Int
}

/// Attempts that send no request before the journal has recorded that they begin.
struct RecordedBeginnings {
    /// Tasks whose attempts wait for that, because their requests must not be sent twice.
    var recordedFirst: Set<TaskIndex>
    /// Waiting attempts that were not handed to the journal yet.
    var waiting: [AttemptBeginning] = []
}

// Steps before an attempt's first request.

extension Engine {
    /// Makes the attempt wait until the journal has its beginning, if its request must not be sent twice: a process
    /// that continues the run must know of it.
    func recordBeginning(_ attempt: Attempt) -> StepOutcome {
        guard beginnings.recordedFirst.contains(attempt.task), attempt.object?.isAtStore != true,
            !renewals.isRenewing(attempt.task)
        else { return .done }
        attempt.phase = .awaitingRecord
        beginnings.waiting.append(AttemptBeginning(task: attempt.task, number: attempt.number))
        reports.append(.awaitsRecord(attempt.task))
        return .pending
    }

    /// Returns the attempts that began to wait since the last call.
    package func takeUnkept() -> [AttemptBeginning] {
        defer { beginnings.waiting.removeAll(keepingCapacity: true) }
        return beginnings.waiting
    }

    /// Lets the attempts continue: the journal has recorded their beginnings.
    package func kept(_ beginnings: [AttemptBeginning]) {
        for beginning in beginnings where awaitsRecord(beginning.task) {
            guard let attempt = attempt(of: beginning.task), attempt.number == beginning.number else { continue }
            reports.append(.isRecorded(attempt.task))
            stepDone(.recordBeginning, attempt)
        }
    }

    /// Whether the task's attempt still waits for the journal, so that it has sent no request.
    package func awaitsRecord(_ task: TaskIndex) -> Bool {
        guard case .awaitingRecord? = attempt(of: task)?.phase else { return false }
        return true
    }

    /// Has the file at the destination inspected, if it may make the request needless.
    func inspectDestination(_ attempt: Attempt) -> StepOutcome {
        let specification = attempt.specification
        guard specification.type == .download, mustInspect(specification) else { return .done }
        let checksum: Checksum? =
            if case .literal(let literal) = specification.options.values.checksum { literal } else { nil }
        if isStored(attempt, checksum) { return .ended }
        attempt.phase = .inspecting
        outbox.add(
            .inspect(
                .init(
                    attempt.task, path: specification.destination ?? "", checksum, member: member(specification),
                    exceptSince: ownFileMayBeThere(attempt))))
        return .pending
    }
}
