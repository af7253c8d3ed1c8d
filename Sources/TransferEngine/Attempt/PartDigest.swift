import Digests
import HTTPRules
import TransferModel

/// What a server says of the bytes of one message alone (`Content-Digest`, `Content-MD5`), where that carries a part of a file:
/// the file's own digests say nothing of that. Few servers tell it, so the loop makes it along the way.
final class PartDigest {
    private let told: SentDigest
    private let digest: StreamingDigest
    private var count: Int64 = 0

    /// `nil` where the message says nothing of itself, or what this machine cannot make.
    init?(_ headers: HeaderBlock, whole: SentDigest?) {
        guard let told = SentDigests.ofPart(headers, whole: whole),
            let digest = try? StreamingDigest(told.checksum.algorithm)
        else { return nil }
        self.told = told
        self.digest = digest
    }

    func update(_ bytes: UnsafeRawBufferPointer) {
        count += Int64(bytes.count)
        digest.update(bytes)
    }

    /// Why what came is not what was sent; asked once. Of a message that was left before its end nothing can be said.
    func miss(length: Int64?) -> TransferError? {
        guard count == length else { return nil }
        let found = digest.finish()
        guard found != told.checksum else { return nil }
        return TransferError(
            .checksumMismatch, "`\(told.header)` of a part says \(told.checksum), its bytes are \(found)")
    }
}
