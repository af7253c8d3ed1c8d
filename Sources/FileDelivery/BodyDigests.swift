import Digests
import TransferModel

/// The digests of a body on its way to the disk: of the written bytes, which the job expects, and of the sent bytes,
/// which the server announced. Where both are of the same bytes and algorithm, these are hashed once.
struct BodyDigests {
    struct Algorithms: Sendable {
        var written: DigestAlgorithm?
        var sent: DigestAlgorithm?
    }

    private var algorithms: Algorithms?
    private var isPacked = false
    private var written: StreamingDigest?
    private var sent: StreamingDigest?
    private var failure: TransferError?

    /// Starts the digests; further calls do nothing, since an attempt's algorithms do not change. Returns whether this was
    /// the first one.
    mutating func start(_ wanted: Algorithms, isPacked: Bool) -> Bool {
        guard algorithms == nil else { return false }
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
        return true
    }

    /// Whether one of the digests is of the file as it is written.
    var namesFile: Bool { written != nil || sent != nil && !isPacked }

    var areWanted: Bool { written != nil || sent != nil }

    func updateWritten(_ bytes: UnsafeRawBufferPointer) { written?.update(bytes) }
    func updateSent(_ bytes: UnsafeRawBufferPointer) { sent?.update(bytes) }

    /// Ends both digests and returns the one for the report: the digest that the job asked for, else the one compared
    /// with the server's. An algorithm that this OpenSSL refuses is an error, not a pass.
    mutating func verify(_ destination: Destination) throws(TransferError) -> Checksum? {
        if let failure { throw failure }
        let ofWritten = written?.finish()
        let ofSent = sent?.finish() ?? ofWritten
        (written, sent) = (nil, nil)
        if let expected = destination.checksum, ofWritten != expected {
            throw TransferError(
                .checksumMismatch,
                "\(expected.algorithm.rawValue) is \(ofWritten?.hex ?? "unknown"), expected \(expected.hex)")
        }
        if let told = destination.sent, ofSent != told.checksum {
            throw TransferError(
                .checksumMismatch,
                "`\(told.header)` says \(told.checksum), the bytes are \(ofSent?.description ?? "unknown")")
        }
        return ofWritten ?? (isPacked ? nil : ofSent)
    }
}
