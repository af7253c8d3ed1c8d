internal import CLibSSL

/// The secret key of `SealedBytes`: 32 random bytes. Printed, dumped or shown by a failing test, it reads `***`.
package struct SealingKey: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// Length of a key in bytes.
    package static let byteCount = 32
    /// The key itself.
    package let bytes: [UInt8]

    /// Creates a key from stored bytes; `nil` unless there are `byteCount` of them.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// Returns a new key from the system's source of random numbers.
    package static func random() -> SealingKey { SealingKey(drawn: SealedBytes.random(byteCount)) }

    private init(drawn bytes: [UInt8]) { self.bytes = bytes }

    /// Always `***`.
    package var description: String { "***" }
    /// No children, so that `dump` shows nothing of the key.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Encrypted bytes that cannot be read without the key, or changed without detection: AES-256 in GCM (NIST SP 800-38D).
///
/// They are a nonce, the ciphertext, and a tag over the ciphertext and the purpose. The nonce is random, which is safe
/// for some thousand million of them with one key.
package enum SealedBytes {
    static let nonceCount = 12
    static let tagCount = 16
    /// Bytes that sealing adds.
    package static let overhead = nonceCount + tagCount

    /// Encrypts the bytes. They can be opened for the same `purpose` only, so that sealed bytes cannot be exchanged for
    /// others.
    package static func seal(_ bytes: [UInt8], key: SealingKey, purpose: [UInt8]) -> [UInt8] {
        seal(bytes, key: key, purpose: purpose, nonce: random(nonceCount))
    }

    /// Encrypts the bytes with a given nonce, for tests with known results. Never use a nonce twice with one key.
    package static func seal(_ bytes: [UInt8], key: SealingKey, purpose: [UInt8], nonce: [UInt8]) -> [UInt8] {
        precondition(nonce.count == nonceCount, "a nonce has \(nonceCount) bytes")
        var sealed = nonce + bytes + [UInt8](repeating: 0, count: tagCount)
        let cipher = Cipher(.sealing, key, nonce, purpose)
        unsafe sealed.withUnsafeMutableBytes { buffer in
            unsafe cipher.pass(UnsafeMutableRawBufferPointer(rebasing: buffer[nonceCount..<buffer.count - tagCount]))
            _ = cipher.end()
            unsafe cipher.tag(EVP_CTRL_AEAD_GET_TAG, UnsafeMutableRawBufferPointer(rebasing: buffer.suffix(tagCount)))
        }
        return sealed
    }

    /// Decrypts sealed bytes; `nil` if they were sealed with another key or for another purpose, or were changed.
    package static func open(_ sealed: [UInt8], key: SealingKey, purpose: [UInt8]) -> [UInt8]? {
        guard sealed.count >= overhead else { return nil }
        let cipher = Cipher(.opening, key, Array(sealed.prefix(nonceCount)), purpose)
        var tag = Array(sealed.suffix(tagCount))
        unsafe tag.withUnsafeMutableBytes { unsafe cipher.tag(EVP_CTRL_AEAD_SET_TAG, $0) }
        var bytes = Array(sealed[nonceCount..<sealed.count - tagCount])
        unsafe bytes.withUnsafeMutableBytes { unsafe cipher.pass($0) }
        return cipher.end() ? bytes : nil
    }

    static func random(_ count: Int) -> [UInt8] {
        // On Linux this is `getrandom`.
        var source = SystemRandomNumberGenerator()
        return (0..<count).map { _ in source.next() }
    }
}

/// One use of the cipher: sealing or opening.
@safe private struct Cipher: ~Copyable {
    enum Direction: Int32 { case opening, sealing }
    private let context: OpaquePointer

    init(_ direction: Direction, _ key: SealingKey, _ nonce: [UInt8], _ purpose: [UInt8]) {
        guard let context = unsafe EVP_CIPHER_CTX_new() else { preconditionFailure("there is no memory for a cipher") }
        unsafe self.context = context
        check(unsafe EVP_CipherInit_ex(context, EVP_aes_256_gcm(), nil, key.bytes, nonce, direction.rawValue))
        var length: Int32 = 0
        // Without an output buffer the text is only authenticated by the tag.
        check(unsafe EVP_CipherUpdate(context, nil, &length, purpose, Int32(purpose.count)))
    }

    deinit { unsafe EVP_CIPHER_CTX_free(context) }

    /// Encrypts or decrypts the bytes in place, in pieces because libcrypto counts in 32 bits.
    func pass(_ bytes: UnsafeMutableRawBufferPointer) {
        var (done, length) = (0, Int32(0))
        while done < bytes.count {
            let count = min(bytes.count - done, 1 << 30)
            let place = unsafe bytes.baseAddress?.advanced(by: done).assumingMemoryBound(to: UInt8.self)
            check(unsafe EVP_CipherUpdate(context, place, &length, place, Int32(count)))
            done += count
        }
    }

    /// Ends the cipher. When opening, returns whether the tag is the expected one.
    func end() -> Bool {
        var length: Int32 = 0
        var nothing: [UInt8] = [0]
        return unsafe EVP_CipherFinal_ex(context, &nothing, &length) == 1
    }

    func tag(_ order: Int32, _ bytes: UnsafeMutableRawBufferPointer) {
        check(unsafe EVP_CIPHER_CTX_ctrl(context, order, Int32(bytes.count), bytes.baseAddress))
    }

    private func check(_ code: Int32) { precondition(code == 1, "libcrypto could not seal or open") }
}
