import Digests
import TransferModel

/// The digests of a body on its way to disk: that of what is written, which the job expects, and that of what was sent,
/// which the server told. Where both are of the same bytes and made in the same way, these are hashed once.
struct BodyDigests {
    struct Algorithms {
        var written: DigestAlgorithm?
        var sent: DigestAlgorithm?
    }

    private var algorithms: Algorithms?
    private var isPacked = false
    private var written: StreamingDigest?
    private var sent: StreamingDigest?
    private var failure: TransferError?

    /// The first word counts: an attempt's algorithms do not change.
    mutating func start(_ wanted: Algorithms, isPacked: Bool) {
        guard algorithms == nil else { return }
        algorithms = wanted
        self.isPacked = isPacked
        do throws(TransferError) {
            if let algorithm = wanted.written { written = try StreamingDigest(algorithm) }
            if let algorithm = wanted.sent, isPacked || algorithm != wanted.written {
                sent = try StreamingDigest(algorithm)
            }
        } catch {
            failure = error
        }
    }

    var areWanted: Bool { written != nil || sent != nil }

    func updateWritten(_ bytes: UnsafeRawBufferPointer) { written?.update(bytes) }
    func updateSent(_ bytes: UnsafeRawBufferPointer) { sent?.update(bytes) }

    /// Ends both. Gives back what the report shows: the digest that the job asked for, else the one that the server's
    /// was held against. An algorithm that this OpenSSL refuses is an error, not a pass.
    mutating func verify(_ destination: Destination) throws(TransferError) -> Checksum? {
        if let failure { throw failure }
        let ofWritten = written?.finish()
        let ofSent = sent?.finish() ?? ofWritten
        (written, sent) = (nil, nil)
        if let expected = destination.checksum, ofWritten != expected {
            throw TransferError(
                .checksumMismatch, "expected \(expected), the file is \(ofWritten?.description ?? "unknown")")
        }
        if let told = destination.sent, ofSent != told.checksum {
            throw TransferError(
                .checksumMismatch,
                "`\(told.header)` says \(told.checksum), the bytes are \(ofSent?.description ?? "unknown")")
        }
        return ofWritten ?? (isPacked ? nil : ofSent)
    }
}
