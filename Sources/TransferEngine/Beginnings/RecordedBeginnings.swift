import AttemptLife
import FileDelivery
package import TransferModel

/// Holds back attempts whose requests must not be sent twice until the journal has recorded that they begin.
package final class RecordedBeginnings: Participant {
    let core: EngineCore
    /// Tasks whose attempts wait for that, because their requests must not be sent twice.
    var recordedFirst: Set<TaskIndex>
    /// Waiting attempts that were not handed to the journal yet.
    private var waiting: [AttemptBeginning] = []

    init(_ core: EngineCore, recordedFirst: Set<TaskIndex>) {
        self.core = core
        self.recordedFirst = recordedFirst
    }

    /// Makes the attempt wait until the journal has its beginning, if its request must not be sent twice: a process
    /// that continues the run must know of it.
    func recordBeginning(_ attempt: Attempt) -> StepOutcome {
        guard recordedFirst.contains(attempt.task), attempt.object?.isAtStore != true,
            !participants.renewals.underWay.isRenewing(attempt.task)
        else { return .done }
        attempt.phase = .awaitingRecord
        waiting.append(AttemptBeginning(task: attempt.task, number: attempt.number))
        core.reports.append(.awaitsRecord(attempt.task))
        return .pending
    }

    /// Returns the attempts that began to wait since the last call.
    package func takeUnkept() -> [AttemptBeginning] {
        defer { waiting.removeAll(keepingCapacity: true) }
        return waiting
    }

    /// Lets the attempts continue: the journal has recorded their beginnings.
    package func kept(_ beginnings: [AttemptBeginning]) {
        for beginning in beginnings where awaitsRecord(beginning.task) {
            guard let attempt = core.attempt(of: beginning.task), attempt.number == beginning.number else { continue }
            core.reports.append(.isRecorded(attempt.task))
            engine.stepDone(.recordBeginning, attempt)
        }
    }

    /// Whether the task's attempt still waits for the journal, so that it has sent no request.
    package func awaitsRecord(_ task: TaskIndex) -> Bool {
        guard case .awaitingRecord? = core.attempt(of: task)?.phase else { return false }
        return true
    }
}

/// An attempt that began.
package struct AttemptBeginning: Hashable, Sendable {
    /// The attempt's task.
    package let task: TaskIndex
    /// Number of the attempt within its task.
    package let number: Int
}
