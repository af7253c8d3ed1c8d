internal import CLibSSL

/// A sum of bytes that come piece by piece, many times faster than a digest: it tells a file that was damaged or changed
/// from one that was not. It is no proof against somebody who means to deceive, for its key is known.
///
/// Poly1305. Belongs to one thread at a time.
@safe package final class QuickSum {
    private let context: OpaquePointer

    /// `nil` when this machine's libcrypto does not offer it.
    package init?() {
        guard let template = Template.shared, let context = unsafe EVP_MAC_CTX_dup(template.pointer) else { return nil }
        unsafe self.context = context
    }

    deinit { unsafe EVP_MAC_CTX_free(context) }

    /// For those who will surely make some: libcrypto is loaded, as long as nothing is under way that its lack would end.
    package static func prepare() { _ = Template.shared }

    package func update(_ bytes: UnsafeRawBufferPointer) {
        guard unsafe !bytes.isEmpty else { return }
        let result = unsafe EVP_MAC_update(context, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
        precondition(result == 1, "libcrypto could not go on with a sum")
    }

    /// Of the bytes so far; more may follow.
    package var soFar: [UInt8] {
        guard let copy = unsafe EVP_MAC_CTX_dup(context) else { return [] }
        defer { unsafe EVP_MAC_CTX_free(copy) }
        return unsafe [UInt8](unsafeUninitializedCapacity: 16) { buffer, filled in
            var length = 0
            guard unsafe EVP_MAC_final(copy, buffer.baseAddress, &length, 16) == 1 else { return }
            filled = length
        }
    }

    /// The same, short: enough against accidents.
    package var shortSoFar: Int64? {
        let bytes = soFar
        guard bytes.count >= 8 else { return nil }
        return bytes[..<8].reduce(0) { $0 << 8 | Int64($1) }
    }

    /// A context with its key, to be copied: fetching one from libcrypto's providers costs more than a small file's sum.
    ///
    /// Unchecked: it is never changed once it is made, and never freed.
    @safe private struct Template: @unchecked Sendable {
        let pointer: OpaquePointer

        /// The same in every version, for sums are kept.
        static let shared: Template? = {
            let key: [UInt8] = (0..<32).map { $0 * 7 + 3 }
            guard let method = unsafe EVP_MAC_fetch(nil, "POLY1305", nil) else { return nil }
            defer { unsafe EVP_MAC_free(method) }
            guard let context = unsafe EVP_MAC_CTX_new(method), unsafe EVP_MAC_init(context, key, key.count, nil) == 1
            else { return nil }
            return unsafe Template(pointer: context)
        }()
    }
}
