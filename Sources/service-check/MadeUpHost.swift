import BackgroundService
import Glibc
import JobRunner
import Synchronization
import SystemIO
import TransferModel

/// Carries nothing. It notes who rang and whether two processes were ever at work at the same time, has a run under way
/// as long as a file `busy` lies in its folder, and tells as many events as it is told to.
final class MadeUpHost: ServiceHost {
    private let directory: String
    private let flood: Int
    /// What it takes to say how many runs there are, as on a machine that has no time for this process.
    private let slowness: UInt32
    private let witness = Mutex<Witness?>(nil)
    private let isOver = Atomic<Bool>(false)
    private let thread = Mutex<Thread?>(nil)

    private final class Witness: Sendable {
        let file: Descriptor
        init(_ file: consuming Descriptor) { self.file = file }
    }

    init(_ directory: String, flood: Int, slowness: UInt32) {
        self.directory = directory
        self.flood = flood
        self.slowness = slowness
    }

    func resumeRuns(reportingTo board: NewsBoard) throws(ServiceTrouble) {
        do throws(SystemError) {
            let file = Witness(try Descriptor.open("\(directory)/witness", O_RDWR | O_CREAT, mode: 0o600))
            if try !file.file.tryLock() { note("two-at-once", "\(getpid())") }
            witness.withLock { $0 = file }
            guard flood > 0 else { return }
            let made = try Thread(named: "flood") { self.tell(board) }
            thread.withLock { $0 = made }
        } catch {
            throw ServiceTrouble("\(error)")
        }
    }

    private func note(_ name: String, _ line: String) {
        guard let file = try? Descriptor.open("\(directory)/\(name)", O_WRONLY | O_CREAT | O_APPEND, mode: 0o600) else {
            return
        }
        try? file.writeAll(Array("\(line)\n".utf8))
    }

    /// So many events a second, in rounds of a millisecond, as a loop's turns come.
    private func tell(_ board: NewsBoard) {
        let start = Clocks.instant()
        var sequence: UInt64 = 0
        while !isOver.load(ordering: .relaxed) {
            let due = UInt64((Clocks.instant() - start).seconds * Double(flood))
            while sequence < due {
                sequence += 1
                board.events(of: "flood", upTo: sequence)
                let task = "task-\(sequence % 16)"
                board.progress(
                    TaskProgress(
                        identifier: "flood", task: task, .received, bytes: Int64(sequence), expected: nil,
                        after: sequence, at: Clocks.wall()))
            }
            usleep(1000)
        }
    }

    func ring(_ identifier: String?) { note("rings", "\(getpid()) \(identifier ?? "")") }

    func status(_ identifier: String?, reply: @escaping @Sendable ([SessionStatus]) -> Void) { reply([]) }

    func control(_ control: ServiceControl, reply: @escaping @Sendable (ControlReply) -> Void) {
        reply(.refused("nothing is under way"))
    }

    var liveRuns: Int {
        usleep(slowness * 1000)
        return access("\(directory)/busy", F_OK) == 0 ? 1 : 0
    }
    var isIdle: Bool { liveRuns == 0 }

    func leave() {
        isOver.store(true, ordering: .relaxed)
        thread.withLock { $0 }?.join()
        note("left", "\(getpid())")
        witness.withLock { $0 = nil }
    }
}
