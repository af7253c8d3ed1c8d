import AttemptLife
import FileDelivery
import HTTPRules
import TransferModel

// Bodies that are read before they are sent: a signature tells their digest.

extension Engine {
    /// Whether the request goes on later, or not at all. It keeps its slot: files are read fast.
    func digestsBody(_ request: OutgoingRequest, _ attempt: Attempt) -> Bool {
        switch attempt.specification.options.values.body {
        case .file(let path):
            attempt.phase = .digesting(request)
            outbox.add(.digest(attempt.task, path: path.revealed, .sha256))
            return true
        case .data, .base64, .json, .form:
            // Long, but it lies in memory.
            let bytes = PlannedBody.shortBytes(of: attempt.specification.options.values.body, upTo: .max)
            attempt.life.bodyDigest = bytes.map { AWSSignature.sha256($0) }
            return false
        case nil, .stream, .multipart:
            // It cannot be read twice, or not here. An object store takes it unsigned.
            if attempt.life.maySignUnseen { return false }
            fail(
                attempt,
                TransferError(
                    .cannotSign, "only an object store takes a body of this kind without its digest in the signature"))
            return true
        }
    }

    func digested(_ task: TaskIndex, _ digest: Checksum) {
        guard let attempt = attempt(of: task), case .digesting(let request) = attempt.phase else { return }
        attempt.phase = .transferring
        attempt.life.bodyDigest = digest.bytes
        send(request, attempt)
    }
}
