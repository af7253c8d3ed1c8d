internal import CLibSSL

/// What opens `SealedBytes`: 32 bytes that nobody can guess. Printed, dumped or shown by a failing test it says nothing.
package struct SealingKey: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    package static let byteCount = 32
    package let bytes: [UInt8]

    /// `nil` when these are not as many as a key has.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// A new one, from the system's source of random numbers.
    package static func random() -> SealingKey { SealingKey(drawn: SealedBytes.random(byteCount)) }

    private init(drawn bytes: [UInt8]) { self.bytes = bytes }

    package var description: String { "***" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Bytes that nobody without the key can read, or change without its being noticed: AES-256 in GCM (NIST SP 800-38D).
///
/// They are a number that is used once, the text that it and the key made, and a tag over that and over the purpose. That
/// number is drawn at random, which is safe for some thousand million of them with one key.
package enum SealedBytes {
    static let nonceCount = 12
    static let tagCount = 16
    /// How much longer they are than what they hold.
    package static let overhead = nonceCount + tagCount

    /// They open for the same `purpose` only, so that they cannot be put into another's place.
    package static func seal(_ bytes: [UInt8], key: SealingKey, purpose: [UInt8]) -> [UInt8] {
        seal(bytes, key: key, purpose: purpose, nonce: random(nonceCount))
    }

    /// For tests, which know what a nonce makes: no other may be given twice with one key.
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

    /// `nil` when they were made with another key or for another purpose, or are not as they were made.
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

/// One way through the cipher.
@safe private struct Cipher: ~Copyable {
    enum Direction: Int32 { case opening, sealing }
    private let context: OpaquePointer

    init(_ direction: Direction, _ key: SealingKey, _ nonce: [UInt8], _ purpose: [UInt8]) {
        guard let context = unsafe EVP_CIPHER_CTX_new() else { preconditionFailure("there is no memory for a cipher") }
        unsafe self.context = context
        check(unsafe EVP_CipherInit_ex(context, EVP_aes_256_gcm(), nil, key.bytes, nonce, direction.rawValue))
        var length: Int32 = 0
        // Without a place to write to, it is text that the tag is over and nothing else.
        check(unsafe EVP_CipherUpdate(context, nil, &length, purpose, Int32(purpose.count)))
    }

    deinit { unsafe EVP_CIPHER_CTX_free(context) }

    /// Makes the one of the other where it stands. libcrypto counts in 32 bits.
    func pass(_ bytes: UnsafeMutableRawBufferPointer) {
        var (done, length) = (0, Int32(0))
        while done < bytes.count {
            let count = min(bytes.count - done, 1 << 30)
            let place = unsafe bytes.baseAddress?.advanced(by: done).assumingMemoryBound(to: UInt8.self)
            check(unsafe EVP_CipherUpdate(context, place, &length, place, Int32(count)))
            done += count
        }
    }

    /// When opening: whether the tag is the one that was given.
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
