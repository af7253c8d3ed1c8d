import AttemptLife
import CurlCore
import FileDelivery
import HTTPRules
import TransferModel

// A folder's file gets its name from the answer: what stands under it is known once the headers are there.

extension Engine {
    /// Where the headers say a folder's file goes; `nil` when neither they nor the URL give it a usable name.
    func pathInFolder(_ folder: String, _ attempt: Attempt) -> String? {
        attempt.saidHeaders.flatMap { SuggestedFilename.of($0, url: attempt.life.request.url) }.map { folder + $0 }
    }

    /// A name that came from a server or a URL must be this task's alone: two tasks that both succeeded with one file
    /// would make one of the reports wrong. Fails the attempt when another task of the run has the path, or sends it.
    func claim(_ path: String, _ attempt: Attempt, _ refusal: ErrorName = .destinationExists) -> Bool {
        claimed(attempt) { $0.claim(path, attempt.task, job, refusal) }
    }

    /// The same of the object at a URL.
    func claim(object url: ResourceURL, _ attempt: Attempt) -> Bool {
        claimed(attempt) { $0.claim(object: url.text, attempt.task, job) }
    }

    private func claimed(_ attempt: Attempt, _ claim: (inout PathClaims) -> TransferError?) -> Bool {
        var known = claims ?? PathClaims(job)
        // One copy at a time.
        claims = nil
        let problem = claim(&known)
        claims = known
        if let problem { fail(attempt, problem) }
        return problem == nil
    }

    /// What is known of a name that the answer gives: the file of that name that the task brought before.
    func chosenName(_ path: String, _ attempt: Attempt) -> ChosenName {
        guard let brought = attempt.known.brought, keptPath(attempt.specification, brought) == path else {
            return ChosenName()
        }
        return ChosenName(own: brought.file, checksum: brought.checksum)
    }

    /// What `existing` protects is not to be fetched to the end: asked at the headers, while the body comes.
    func inspectName(_ attempt: Attempt) {
        guard attempt.isDownload, attempt.exchange.decision == .keep, !attempt.life.isDeclined, attempt.asksForItsName,
            let destination = attempt.download.destination, let path = pathInFolder(destination.path, attempt)
        else { return }
        let checksum = destination.existing == .skip ? attempt.download.checksum : nil
        outbox.add(
            .inspect(
                .init(
                    attempt.task, path: path, checksum, member: destination.member,
                    exceptSince: ownFileMayBeThere(attempt))))
    }

    /// What stands there. Once all of the body is with a delivery thread, that decides.
    func inspectedName(_ attempt: Attempt, _ path: String, _ size: Int64?, _ matches: Bool?) {
        guard case .transferring = attempt.phase, let destination = attempt.download.destination,
            path == pathInFolder(destination.path, attempt), attempt.life.isFinalAnswer
        else { return }
        guard let size else { return attempt.announceLength() }
        stopTransfer(attempt)
        guard destination.existing == .skip else {
            return lose(attempt, TransferError(.destinationExists, "\(path) is there already"))
        }
        if attempt.download.checksum != nil, matches != true { return lose(attempt, .skippedFileDiffers(path)) }
        guard claim(path, attempt, .nameTaken) else { return }
        _ = attempt.takeRest()
        discard(attempt.download.staging)
        keepExisting(attempt, path, size)
    }
}

extension TransferError {
    /// It is not told as right, and not touched.
    static func skippedFileDiffers(_ path: String) -> TransferError {
        TransferError(
            .destinationExists,
            "\(path) does not have the `checksum`, and `existing: skip` keeps what is there already")
    }
}
