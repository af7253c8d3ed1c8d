import AttemptLife
import FileDelivery
import SystemIO
import TransferModel

extension Destination {
    /// A rule of `onResponse` leads the body of a task to a file of its own: what was said of standard output does not count.
    /// Like the task's `to`, the rule's may be a symlink to that file.
    mutating func becomeFile(at target: String, _ options: TaskOptions.Values) throws(TransferError) {
        var folders = TrustedFolders()
        path = if case .link(let end) = try WrittenPath.standing(at: target, &folders) { end } else { target }
        guard toStandardOutput else { return }
        (toStandardOutput, mode, existing) = (false, options.mode, options.existing)
    }
}

extension TaskSpecification {
    /// Where the answer to an upload is saved; `nil` where it goes into the report.
    var answerPath: String? { savesAnswer ? destination ?? "-" : nil }
}

extension Attempt {
    /// Gives the answer's body the file of the rule that it obeys, if there is one; false when that can be no file, which ends
    /// the transfer.
    func takeRuleTarget() -> Bool {
        guard let target = life.target, !specification.savesAnswer, var destination = download.destination else {
            return true
        }
        do throws(TransferError) {
            try destination.becomeFile(at: target, specification.options.values)
            download.destination = destination
            return true
        } catch {
            exchange.bodyFailure = error
            return false
        }
    }
}
