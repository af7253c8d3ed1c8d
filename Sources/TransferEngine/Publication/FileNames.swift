import AttemptLife
import CurlCore
import FileDelivery
import HTTPRules
import TransferModel

/// Gives a folder's file the name that the answer says, and sees to it that no two tasks of the run write one path.
final class FileNames: Participant {
    let core: EngineCore
    /// Paths and the tasks that write them; made when a server names the first file.
    private var claims: PathClaims?

    init(_ core: EngineCore) { self.core = core }

    /// Adds tasks that came in mid-run.
    func add(_ tasks: [TaskSpecification], from first: TaskIndex) {
        for (place, task) in tasks.enumerated() { claims?.add(task, TaskIndex(raw: first.raw + UInt32(place))) }
    }

    /// A task that failed leaves its path to others.
    func release(_ task: TaskIndex) { claims?.release(task) }

    /// Where the headers say a folder's file goes; `nil` when neither they nor the URL give it a usable name.
    func pathInFolder(_ folder: String, _ attempt: Attempt) -> String? {
        attempt.saidHeaders.flatMap { SuggestedFilename.of($0, url: attempt.life.request.url) }.map { folder + $0 }
    }

    /// A name that came from a server or a URL must be this task's alone: two tasks that both succeeded with one file
    /// would make one of the reports wrong. Fails the attempt when another task of the run has the path, or sends it.
    func claim(_ path: String, _ attempt: Attempt, _ refusal: ErrorName = .destinationExists) -> Bool {
        claimed(attempt) { $0.claim(path, attempt.task, core.job, refusal) }
    }

    /// Claims the object at a URL for the task.
    func claim(object url: ResourceURL, _ attempt: Attempt) -> Bool {
        claimed(attempt) { $0.claim(object: url.text, attempt.task, core.job) }
    }

    private func claimed(_ attempt: Attempt, _ claim: (inout PathClaims) -> TransferError?) -> Bool {
        var known = claims ?? PathClaims(core.job)
        // One copy at a time.
        claims = nil
        let problem = claim(&known)
        claims = known
        if let problem { fail(attempt, problem) }
        return problem == nil
    }

    /// What is known of a name that the answer gives: the file of that name that the task brought before.
    func chosenName(_ path: String, _ attempt: Attempt) -> ChosenName {
        guard let brought = attempt.known.brought,
            participants.keptFiles.keptPath(attempt.specification, brought) == path
        else {
            return ChosenName()
        }
        return ChosenName(own: brought.file, checksum: brought.checksum)
    }
}

extension TransferError {
    /// The error of a file that `existing: skip` keeps although it is not the one wanted.
    static func skippedFileDiffers(_ path: String) -> TransferError {
        TransferError(
            .destinationExists,
            "\(path) does not have the `checksum`, and `existing: skip` keeps what is there already")
    }
}
