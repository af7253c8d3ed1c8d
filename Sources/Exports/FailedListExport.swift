internal import TextFormats
internal import TransferModel

/// Writes one JSON object per line for each task that did not succeed, but for those that a `when` passed over: what failed, why, and what would help.
struct FailedListExport: Export {
    let parts: ReportParts = [.attempts]

    func begin(_ head: ReportHead, to output: ExportOutput) {}

    func add(_ task: ReportedTask, to output: ExportOutput) {
        guard task.outcome != .succeeded, !task.isPassedOver else { return }
        var json = JSONWriter()
        output.append(&json) { Self.write(task, to: &$0) }
        output.write("\n")
    }

    private static func write(_ task: ReportedTask, to json: inout JSONWriter) {
        json.beginObject()
        json.member("id", task.id)
        json.member("url", task.current.url)
        json.member("outcome", task.outcome.rawValue)
        json.member("tolerated", task.tolerated)
        json.key("error")
        if let error = task.error {
            json.beginObject()
            json.member("name", error.name)
            json.member("code", error.code)
            json.member("message", error.message)
            json.endObject()
        } else {
            json.null()
        }
        json.member("attempts", task.attempts.count)
        json.member("explanation", task.explanation)
        json.endObject()
    }

    func finish(to output: ExportOutput) {}
}
