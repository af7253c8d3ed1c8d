internal import TransferModel

/// Requests that a run of the whole job sends a second time, such as a POST: what such a request does is done twice.
enum ResentRequests {
    /// Methods that only read: nothing is done twice.
    private static let reading: Set<String> = ["GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND"]

    /// Whether the task sent one, and succeeded.
    static func has(_ job: Job, _ task: TaskIndex, _ record: TaskRecord) -> Bool {
        guard record.outcome == .succeeded, record.source != .unchanged else { return false }
        let specification = job.tasks[Int(task.raw)]
        switch specification.type {
        case .download: return false
        case .data: break
        case .upload:
            // The next run asks first what the server has.
            let existing = specification.options.values.ownExisting
            let asksFirst = existing == .revalidate || existing == .skip
            if asksFirst, specification.effectiveMethod == "PUT" { return false }
        }
        return !reading.contains(specification.effectiveMethod)
    }
}
