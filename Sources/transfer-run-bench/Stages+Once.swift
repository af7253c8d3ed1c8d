import RunControl
import Stores
import SystemIO
import TransferModel

extension Stages {
    /// What a run pays once, however many tasks it has: its lock, and its socket with the thread behind it.
    func once() throws {
        let repeats = 200
        var job = Job(name: "bench", file: "-", baseDirectory: "/")
        job.isNamed = true
        job.sessions = [SessionConfiguration(name: "bench")]
        let state = "\(folder)/state"
        print("\nprocessor time and allocations once a run\n")
        let lock = try Measure.cost(per: repeats, wholeProcess: true) { _ in
            for _ in 0..<repeats {
                let working = try Folders.working() ?? "/"
                let lock = try JobLocks.lock(of: job, file: nil) { () throws(StateFolder.Problem) in
                    try StateFolder(directory: state, workingDirectory: working) { _ in nil }
                }
                _ = try lock?.attempt()
                lock?.release()
            }
        }
        Table.row("lock", lock, budget: 200)
        let socket = try Measure.cost(per: repeats, wholeProcess: true) { _ in
            for _ in 0..<repeats {
                try ControlListener(
                    folder: "\(state)/runtime", process: CurrentProcess.processID(), leavesNothing: false,
                    deliver: { _ in }
                ).close()
            }
        }
        Table.row("socket and its thread", socket, budget: 300)
    }
}
