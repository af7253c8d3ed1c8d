import AttemptLife
import CurlCore
import FileDelivery
import HTTPRules
import Stores
import TransferModel

// A file that stands there and was kept validators of: the server is asked whether it is still the same.

extension Engine {
    /// Asks what is kept of the last time, or begins when that is surely nothing.
    func recall(_ attempt: Attempt, _ url: ResourceURL) {
        guard let memory else { return begin(attempt, url) }
        let keeps = memory.keeps(attempt.specification)
        attempt.isKept = keeps.file
        attempt.leavesPart = keeps.part
        guard keeps.file || keeps.part, attempt.life.resume == nil, memory.find(attempt.task, attempt.specification)
        else { return begin(attempt, url) }
        attempt.phase = .recalling(url, nil)
    }

    func take(_ report: MemoryReport) {
        switch report {
        case .opened(_, let parts): outbox.add(.sweep(keeping: parts))
        case .found(let task, let kept, let record):
            guard let attempt = attempt(of: task), case .recalling(let url, nil) = attempt.phase else { return }
            attempt.validators = kept
            if let record, attempt.leavesPart, isOfUse(record, attempt, url) {
                attempt.part = record
                begin(attempt, url)
            } else {
                askAgain(attempt, url)
            }
        }
    }

    /// The file may be the one that was kept: what stands there tells.
    func askAgain(_ attempt: Attempt, _ url: ResourceURL) {
        guard let kept = attempt.validators, attempt.isKept else { return begin(attempt, url) }
        attempt.phase = .recalling(url, kept)
        outbox.add(.look(attempt.task, path: attempt.specification.destination ?? ""))
    }

    /// What stands at the destination now.
    func looked(_ task: TaskIndex, _ stamp: FileStamp?) {
        guard let attempt = attempt(of: task) else { return }
        switch attempt.phase {
        case .recalling(let url, let kept?):
            let options = attempt.specification.options.values
            if let condition = Revalidation.condition(kept, file: stamp, options) {
                attempt.asked = stamp
                attempt.life.ask(under: condition)
            }
            begin(attempt, url)
        case .confirming(let asked):
            if stamp == asked {
                return keepExisting(attempt, attempt.specification.destination ?? "", asked.size)
            }
            // Somebody took or changed the file while the server was asked about it.
            attempt.phase = .transferring
            goOn(attempt, attempt.life.askForAll())
        default: break
        }
    }

    /// The server says that the file is still the same: if it is still there, it stays.
    func confirm(_ attempt: Attempt) {
        guard let asked = attempt.asked else { preconditionFailure("a condition was sent without a file") }
        attempt.phase = .confirming(asked)
        outbox.add(.look(attempt.task, path: attempt.specification.destination ?? ""))
    }

    /// The file stands under its name: what its answer was known by goes to the store.
    func keepValidators(_ attempt: Attempt) {
        guard let memory, let file = attempt.file?.stamp, let head = attempt.head else { return }
        memory.file(
            FiledAnswer(
                url: attempt.life.request.url.text, status: head.status, headers: head.headers,
                shape: memory.shape(of: attempt.specification), file: file),
            attempt.specification, at: now.instant)
    }
}
