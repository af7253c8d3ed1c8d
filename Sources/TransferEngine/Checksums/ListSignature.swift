import Digests
import TextFormats
import TransferModel

extension RequiredSignature {
    /// Throws unless `file`, which was fetched from `url`, is a signature of `bytes` by the key. `name` is the signed
    /// file in messages.
    func check(_ file: [UInt8], of bytes: [UInt8], named name: String) throws(TransferError) {
        let made: MinisignSignature
        do throws(MinisignSignature.Problem) { made = try MinisignSignature(file) } catch {
            throw Self.unusable(url, error.words)
        }
        guard made.keyID == key.id else {
            throw TransferError(
                .signatureMismatch,
                "the signature \(url.text)\(TransferError.otherKeyWords)\(MinisignKey.name(of: made.keyID)), "
                    + "and the job asks for one of the key \(key)")
        }
        let signed =
            switch made.form {
            case .plain: bytes
            case .prehashed: try Checksum.of(bytes, .blake2b).bytes
            }
        guard try Ed25519.isValid(made.signature, of: signed, key: key.bytes) else {
            throw TransferError(
                .signatureMismatch,
                "the signature \(url.text) does not fit \(name): one of the two was changed after it was signed")
        }
        guard try Ed25519.isValid(made.global, of: made.signature + made.trustedComment, key: key.bytes) else {
            throw TransferError(
                .signatureMismatch, "the signature \(url.text) was changed: its trusted comment is not the one signed")
        }
    }

    /// The error for a file that is no signature at all.
    static func unusable(_ url: ResourceURL, _ why: String) -> TransferError {
        TransferError(.signatureMismatch, "\(url.text)\(TransferError.noSignatureWords)\(why)")
    }
}
