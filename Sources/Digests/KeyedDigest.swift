internal import CLibSSL

/// HMAC with SHA-256: a digest that cannot be made without the key.
package enum KeyedDigest {
    /// Returns the 32 bytes of the bytes' HMAC with `key`.
    package static func sha256(_ bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: 32) { buffer, filled in
            var length: UInt32 = 0
            let made = unsafe HMAC(
                EVP_sha256(), key, Int32(key.count), bytes, bytes.count, buffer.baseAddress, &length)
            precondition(unsafe made != nil, "libcrypto could not make a keyed digest")
            filled = Int(length)
        }
    }
}
