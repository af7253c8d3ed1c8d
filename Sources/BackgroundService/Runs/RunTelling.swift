import Stores
import TransferModel

/// Reports the progress of bodies to the board; everything else the followers read in the journal.
final class ProgressReporter: EventConsumer {
    private var job: Job
    private let board: NewsBoard
    /// The number of the last event that goes into the journal.
    private var last: UInt64

    init(_ job: Job, _ board: NewsBoard, after last: UInt64) {
        self.job = job
        self.board = board
        self.last = last
    }

    func consume(_ events: ArraySlice<Event>) {
        for event in events {
            switch event.kind {
            case .receivedData(let progress): tell(progress, .received, event)
            case .sentBodyData(let progress): tell(progress, .sent, event)
            case .expanded(let expansion):
                job.tasks += expansion.tasks
                last = event.sequence
            default: last = event.sequence
            }
        }
    }

    private func tell(_ progress: Event.Progress, _ direction: TaskProgress.Direction, _ event: Event) {
        guard let task = event.task.map({ job.tasks[Int($0.raw)] }),
            let identifier = job.sessions[Int(task.session.raw)].identifier, board.isFollowed(identifier)
        else { return }
        board.progress(
            TaskProgress(
                identifier: identifier, task: task.id, direction, bytes: progress.bytes, expected: progress.expected,
                after: last, at: event.time))
    }
}
