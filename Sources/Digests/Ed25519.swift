internal import CLibSSL
package import TransferModel

/// Ed25519 signatures (RFC 8032).
package enum Ed25519 {
    /// Length of a public key in bytes.
    package static let keyCount = 32
    /// Length of a signature in bytes.
    package static let signatureCount = 64

    /// Returns whether the signature of `bytes` was made with the secret half of `key`. Throws if this machine's
    /// libcrypto does not offer Ed25519, as in some FIPS modes.
    package static func isValid(
        _ signature: [UInt8], of bytes: [UInt8], key: [UInt8]
    ) throws(TransferError) -> Bool {
        if let lack = unsafe tr_crypto_lack() {
            throw TransferError(.unknown, "a library cannot be loaded: \(unsafe String(cString: lack))")
        }
        guard key.count == keyCount, signature.count == signatureCount else { return false }
        guard let context = unsafe EVP_MD_CTX_new() else { preconditionFailure("there is no memory for a signature") }
        defer { unsafe EVP_MD_CTX_free(context) }
        let made = unsafe EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, key, key.count)
        defer { unsafe EVP_PKEY_free(made) }
        guard unsafe made != nil, unsafe EVP_DigestVerifyInit(context, nil, nil, nil, made) == 1 else {
            ERR_clear_error()
            throw TransferError(.unknown, "This machine's OpenSSL offers no Ed25519.")
        }
        let isValid = unsafe EVP_DigestVerify(context, signature, signature.count, bytes, bytes.count) == 1
        // What does not fit leaves an error behind, which the next use of TLS in this thread would take for its own.
        if !isValid { ERR_clear_error() }
        return isValid
    }
}
