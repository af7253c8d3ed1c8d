import AttemptLife
import CurlCore
import FileDelivery
import HTTPRules
import Stores
import TransferModel

// A file that stands there and was kept validators of: the server is asked whether it is still the same.

extension Engine {
    /// Asks what is kept of the last time; `false` when that is surely nothing and the attempt can begin.
    func recall(_ attempt: Attempt, _ url: ResourceURL) -> Bool {
        guard let validators, validators.keeps(attempt.specification) else { return false }
        attempt.isKept = true
        guard attempt.life.resume == nil, validators.find(attempt.task, attempt.specification) else { return false }
        attempt.phase = .recalling(url, nil)
        return true
    }

    func recalled(_ answer: (task: TaskIndex, kept: KeptValidators?)) {
        guard let attempt = attempt(of: answer.task), case .recalling(let url, nil) = attempt.phase else { return }
        guard let kept = answer.kept else { return begin(attempt, url) }
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
        guard let validators, let file = attempt.file?.stamp, let head = attempt.head else { return }
        validators.file(
            FiledAnswer(
                url: attempt.life.request.url.text, status: head.status, headers: head.headers,
                shape: validators.shape(of: attempt.specification), file: file),
            attempt.specification, at: now.instant)
    }
}
