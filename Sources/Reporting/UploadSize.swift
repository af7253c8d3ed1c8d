internal import TransferModel

extension AttemptStart {
    /// Bytes of a body that was not sent: those of its files, or of the text in the job. A body that is put together
    /// only when it is sent (forms, JSON) counts as nothing.
    func bodySize(of task: TaskSpecification) -> Int64 {
        guard bodyFiles.isEmpty else { return bodyFiles.reduce(0) { $0 + $1.size } }
        return switch task.options.values.body {
        case .data(let text)?: Int64(text.revealed.utf8.count)
        case .base64(let bytes)?: Int64(bytes.count)
        case .json?, .form?, .file?, .stream?, .multipart?, nil: 0
        }
    }
}
