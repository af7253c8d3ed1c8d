import AttemptLife
import FileDelivery
import HTTPRules
import TransferModel

/// Has a body read before it is sent, where a signature tells its digest.
final class BodyDigests: Participant {
    let core: EngineCore

    init(_ core: EngineCore) { self.core = core }

    /// Whether the request goes on later, or not at all. It keeps its slot: files are read fast.
    func digestsBody(_ request: OutgoingRequest, _ attempt: Attempt) -> Bool {
        switch attempt.sending.planned?.content {
        case .sections(let sections, let starts):
            let pieces = Self.pieces(sections, starts, request.bodyRange)
            // Long, but it lies in memory.
            if pieces.count == 1, case .bytes(let bytes) = pieces[0] {
                attempt.life.learnDigest(of: request, AWSSignature.sha256(bytes))
                return false
            }
            attempt.phase = .digesting(request)
            core.outbox.add(.digest(attempt.task, pieces, .sha256))
            return true
        case .stream, nil:
            // It cannot be read twice. An object store takes it unsigned.
            if attempt.life.maySignUnseen { return false }
            engine.fail(
                attempt,
                TransferError(
                    .cannotSign, "only an object store takes a body of this kind without its digest in the signature"))
            return true
        }
    }

    /// The body was read: the request can be signed, or the body compared.
    func digested(_ task: TaskIndex, _ digest: Checksum) {
        guard let attempt = core.attempt(of: task) else { return }
        if case .comparing(let comparison) = attempt.phase {
            return participants.sentUploads.compared(attempt, comparison, digest)
        }
        guard case .digesting(let request) = attempt.phase else { return }
        attempt.phase = .transferring
        attempt.life.learnDigest(of: request, digest.bytes)
        engine.send(request, attempt)
    }

    /// What lies in the range, of all sections.
    private static func pieces(
        _ sections: [PlannedBody.Section], _ starts: [Int64], _ range: Range<Int64>?
    ) -> [DigestedPiece] {
        zip(sections, starts).compactMap { section, start in
            guard let range else { return section.digested(nil) }
            let part = range.clamped(to: start..<start + section.length)
            return part.isEmpty ? nil : section.digested(part.lowerBound - start..<part.upperBound - start)
        }
    }
}

extension PlannedBody.Section {
    fileprivate func digested(_ range: Range<Int64>?) -> DigestedPiece {
        switch self {
        case .bytes(let bytes): .bytes(range.map { Array(bytes[Int($0.lowerBound)..<Int($0.upperBound)]) } ?? bytes)
        case .file(let file): .file(path: file.path, range)
        }
    }
}
