import AttemptLife
import FileDelivery
import HTTPRules
import TransferModel

// Bodies that are read before they are sent: a signature tells their digest.

extension Engine {
    /// Whether the request goes on later, or not at all. It keeps its slot: files are read fast.
    func digestsBody(_ request: OutgoingRequest, _ attempt: Attempt) -> Bool {
        switch attempt.plannedBody?.content {
        case .sections(let sections, _):
            // Long, but it lies in memory.
            if sections.count == 1, case .bytes(let bytes) = sections[0] {
                attempt.life.bodyDigest = AWSSignature.sha256(bytes)
                return false
            }
            attempt.phase = .digesting(request)
            outbox.add(.digest(attempt.task, sections.map(\.digested), .sha256))
            return true
        case .stream, nil:
            // It cannot be read twice. An object store takes it unsigned.
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

extension PlannedBody.Section {
    fileprivate var digested: DigestedPiece {
        switch self {
        case .bytes(let bytes): .bytes(bytes)
        case .file(let file): .file(path: file.path)
        }
    }
}
