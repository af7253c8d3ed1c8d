import SystemIO
package import TransferModel

/// Where the files lie that are to become objects of a store, until the store has them.
///
/// Of a job that keeps something from run to run they lie in the state folder, where the next run finds what this one
/// could not put. All others lie in a folder of this run alone, which goes with it.
package struct ObjectFolder {
    private let state: String?
    private let run: String
    /// The folders that were made.
    private var made: Set<String> = []

    /// `state`: the state folder, if there is one.
    package init(state: String?, run: String) {
        self.state = state
        self.run = run
    }

    /// The folder of this run, once it was made.
    private var runFolder: RunFolder?
    private var ofRun: String { "\(CurrentProcess.temporaryFolder())/\(RunFolder.prefix)\(run)" }
    private static func ofState(_ state: String) -> String { "\(state)/objects" }
    private static let prefix = "\(TemporaryNames.prefix)object-"
    private static func prefix(_ job: String) -> String { "\(prefix)\(RunLabel.mark(job))-" }

    /// Returns the path of a task's file, the same one in each run of its job; makes the folder.
    ///
    /// - Parameter job: by what the store knows the job; `nil` where nothing is kept of the task's session.
    package mutating func path(job: String?, session: String, task: String, object: String) throws(TransferError)
        -> String
    {
        let words = [session, task, object].joined(separator: "\0")
        let name = (job.map { Self.prefix($0) } ?? Self.prefix) + RunLabel.mark(words)
        let folder = job == nil ? ofRun : state.map { Self.ofState($0) } ?? ofRun
        if made.insert(folder).inserted {
            do throws(PrivacyProblem) {
                if folder == ofRun {
                    RunFolder.removeLeft(in: CurrentProcess.temporaryFolder())
                    runFolder = try RunFolder(folder)
                } else {
                    _ = try PrivateFolder.make(folder)
                }
            } catch {
                throw TransferError(.cannotCreateFile, "there is no place for files on their way to a store: \(error)")
            }
            if folder != ofRun { Self.removeOld(in: folder) }
        }
        return "\(folder)/\(name)"
    }

    /// Removes what is left at the end of the run and no next run can use.
    package func close() {
        guard runFolder != nil else { return }
        RunFolder.remove(ofRun)
    }

    /// Removes files that no run came back for.
    private static func removeOld(in folder: String) {
        for name in Folders.names(in: folder) {
            let path = "\(folder)/\(name)"
            if let facts = try? FileFacts.ofName(path), facts.isRegular, Self.isOld(facts) {
                HalfDoneFile.remove(path)
            }
        }
    }

    /// Goes by the time of the last change of any kind: the time of change of the content may be the one that a server
    /// sent.
    private static func isOld(_ facts: FileFacts) -> Bool {
        Clocks.wall().nanoseconds - facts.changedNanoseconds > KeptPlace.age.nanoseconds
    }

    /// Removes everything that earlier runs of a job could not put.
    package static func removeAll(of job: String, state: String) {
        let folder = ofState(state)
        for name in Folders.names(in: folder) where name.hasPrefix(prefix(job)) {
            HalfDoneFile.remove("\(folder)/\(name)")
        }
    }
}

/// A folder for the files of one run. It is locked as long as the run lives: what a killed one left is known by that.
private final class RunFolder: Sendable {
    static let prefix = "transfer-run-objects-"
    private let lock: Descriptor

    init(_ path: String) throws(PrivacyProblem) {
        for _ in 0..<10 {
            let folder = try PrivateFolder.make(path)
            // Another run may have taken it for one that a killed run left, and removed it.
            if (try? folder.tryLock()) == true, let facts = try? folder.facts(),
                (try? FileFacts.ofName(path))?.isSameFile(as: facts) == true
            {
                lock = folder
                return
            }
        }
        // Its filesystem knows no locks: nobody else can take it for one that was left, either.
        lock = try PrivateFolder.make(path)
    }

    static func remove(_ path: String) {
        for name in Folders.names(in: path) { HalfDoneFile.remove("\(path)/\(name)") }
        PrivateFolder.removeIfEmpty([path])
    }

    /// Removes this user's folders of runs that live no more.
    static func removeLeft(in parent: String) {
        for name in Folders.names(in: parent) where name.hasPrefix(prefix) {
            let path = "\(parent)/\(name)"
            if let folder = try? PrivateFolder.open(path), (try? folder.tryLock()) == true { remove(path) }
        }
    }
}
