internal import CLibSSL
package import TransferModel

/// Computes a digest of bytes that arrive piece by piece. Belongs to one thread at a time.
///
/// `restart()` lets one object serve many files.
@safe package final class StreamingDigest {
    /// Algorithm of the digest.
    package let algorithm: DigestAlgorithm
    private let state: State
    private var isFinished = false

    @safe private enum State {
        case crypto(context: OpaquePointer, DigestMethod)
        case quick(QuickSum)
    }

    /// Begins a digest. Throws if this machine's libcrypto does not offer the algorithm, as MD5 in FIPS mode.
    package init(_ algorithm: DigestAlgorithm) throws(TransferError) {
        self.algorithm = algorithm
        if algorithm == .xxh3 {
            state = .quick(QuickSum())
            return
        }
        if let lack = unsafe tr_crypto_lack() {
            throw TransferError(.unknown, "a library cannot be loaded: \(unsafe String(cString: lack))")
        }
        guard let method = DigestMethod.of(algorithm), let context = unsafe EVP_MD_CTX_new() else {
            throw TransferError(.unknown, "This machine's OpenSSL offers no \(algorithm.rawValue).")
        }
        unsafe state = .crypto(context: context, method)
        restart()
    }

    deinit {
        if case .crypto(let context, _) = state { unsafe EVP_MD_CTX_free(context) }
    }

    /// Begins a new digest, as after `init`.
    package func restart() {
        switch state {
        case .crypto(let context, let method): check(unsafe EVP_DigestInit_ex2(context, method.pointer, nil))
        case .quick(let sum): sum.restart()
        }
        isFinished = false
    }

    /// Adds the next bytes.
    package func update(_ bytes: UnsafeRawBufferPointer) {
        precondition(!isFinished, "a digest that has ended was given more bytes")
        guard unsafe !bytes.isEmpty else { return }
        switch state {
        case .crypto(let context, _): check(unsafe EVP_DigestUpdate(context, bytes.baseAddress, bytes.count))
        case .quick(let sum): unsafe sum.update(bytes)
        }
    }

    /// Adds the next bytes.
    package func update(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { unsafe update($0) }
    }

    /// Ends the digest and returns it; only `restart()` may follow.
    package func finish() -> Checksum {
        precondition(!isFinished, "a digest was ended twice")
        isFinished = true
        switch state {
        case .crypto(let context, _): return unsafe end(context)
        case .quick(let sum): return sum.checksum
        }
    }

    private func end(_ context: OpaquePointer?) -> Checksum {
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: algorithm.byteCount) { buffer, filled in
            var length: UInt32 = 0
            check(unsafe EVP_DigestFinal_ex(context, buffer.baseAddress, &length))
            filled = Int(length)
        }
        return Checksum(algorithm: algorithm, bytes: bytes)
    }

    /// Stops the process on failure: once a digest has begun, libcrypto fails only without memory.
    private func check(_ result: Int32) {
        precondition(result == 1, "libcrypto could not go on with a digest")
    }
}

extension Checksum {
    /// Returns the SHA-256 that identifies a job. Every run begins with it, so for short files it does not wait for
    /// libcrypto to be loaded.
    package static func mark(of bytes: [UInt8]) -> Checksum {
        if bytes.count > longestMark, let digest = try? of(bytes, .sha256) { return digest }
        let digest = unsafe [UInt8](unsafeUninitializedCapacity: DigestAlgorithm.sha256.byteCount) { buffer, filled in
            unsafe bytes.withUnsafeBytes { unsafe tr_sha256($0.baseAddress, $0.count, buffer.baseAddress) }
            filled = buffer.count
        }
        return Checksum(algorithm: .sha256, bytes: digest)
    }

    /// Length in bytes above which libcrypto is faster, even with the time that it takes to load it.
    private static let longestMark = 512 << 10

    /// Returns the digest of `bytes`.
    package static func of(_ bytes: [UInt8], _ algorithm: DigestAlgorithm) throws(TransferError) -> Checksum {
        let digest = try StreamingDigest(algorithm)
        digest.update(bytes)
        return digest.finish()
    }
}

/// A method fetched from libcrypto's providers once: fetching it for each digest costs more than a small file's digest.
///
/// Unchecked: an `EVP_MD` is not changed once it was fetched, and these are never freed.
@safe private struct DigestMethod: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Returns the method; `nil` if this machine's libcrypto does not offer it. Each is fetched on first use: fetching
    /// all of them takes longer than reading a short run's whole job file.
    static func of(_ algorithm: DigestAlgorithm) -> DigestMethod? {
        switch algorithm {
        case .sha256: sha256
        case .sha512: sha512
        case .sha1: sha1
        case .md5: md5
        case .blake2b: blake2b
        case .xxh3: nil
        }
    }

    private static let sha256 = fetched("SHA2-256")
    private static let sha512 = fetched("SHA2-512")
    private static let sha1 = fetched("SHA1")
    private static let md5 = fetched("MD5")
    private static let blake2b = fetched("BLAKE2B-512")

    private static func fetched(_ name: String) -> DigestMethod? {
        guard let pointer = unsafe EVP_MD_fetch(nil, name, nil) else { return nil }
        return unsafe DigestMethod(pointer: pointer)
    }
}
