internal import CLibSSL
import SystemIO
package import TransferModel

/// A client certificate with its key and its chain, read once.
package final class TLSIdentity {
    private let certificate: Certificate
    private let key: PrivateKey
    private let chain: Chain

    private static let longestFile = 1 << 20

    /// Reads PEM, with the key in the same file or one beside it, or PKCS#12.
    package init(_ configuration: TLSConfiguration.ClientCertificate) throws(TransferError) {
        // Errors that OpenSSL queues here must not affect connections, nor the other way round.
        ERR_clear_error()
        defer { ERR_clear_error() }
        let bytes = try Self.read(configuration.certificate)
        let password = configuration.password?.revealed
        if Self.isPEM(bytes) {
            (certificate, chain) = try Self.readCertificates(bytes, configuration.certificate)
            let keyFile = configuration.key ?? configuration.certificate
            let text = keyFile == configuration.certificate ? bytes : try Self.read(keyFile)
            key = try Self.readKey(text, keyFile, password)
        } else {
            (certificate, key, chain) = try Self.readPKCS12(bytes, configuration.certificate, password)
        }
        guard unsafe X509_check_private_key(certificate.pointer, key.pointer) == 1 else {
            throw Self.problem("the key does not belong to the certificate in \(configuration.certificate)")
        }
    }

    /// Sets the certificate for every connection made with this context, which counts references of its own.
    func use(in context: OpaquePointer) -> Bool {
        unsafe SSL_CTX_use_cert_and_key(context, certificate.pointer, key.pointer, chain.pointer, 1) == 1
    }

    private static func problem(_ words: String) -> TransferError {
        TransferError(.clientCertificateUnusable, words)
    }

    private static func read(_ path: String) throws(TransferError) -> [UInt8] {
        do throws(WholeFile.Problem) {
            return try WholeFile.read(path, limit: longestFile)
        } catch {
            let reason =
                switch error {
                case .notFound: "there is no such file"
                case .notRegular: "it is no regular file"
                case .tooLarge: "it is larger than \(longestFile >> 20) MiB"
                case .system(let error): error.reason
                }
            throw problem("the client certificate \(path) cannot be read: \(reason)")
        }
    }

    private static func isPEM(_ bytes: [UInt8]) -> Bool {
        let mark = Array("-----BEGIN ".utf8)
        return bytes.indices.contains { bytes[$0] == mark[0] && bytes[$0...].starts(with: mark) }
    }
}

@available(*, unavailable)
extension TLSIdentity: Sendable {}

// MARK: - What OpenSSL counts references of

@safe private final class Certificate {
    let pointer: OpaquePointer
    init(_ pointer: OpaquePointer) { unsafe self.pointer = pointer }
    deinit { unsafe X509_free(pointer) }
}

@safe private final class PrivateKey {
    let pointer: OpaquePointer
    init(_ pointer: OpaquePointer) { unsafe self.pointer = pointer }
    deinit { unsafe EVP_PKEY_free(pointer) }
}

/// A stack of certificates; `nil` for an empty one.
@safe private final class Chain {
    private(set) var pointer: OpaquePointer?
    init(_ pointer: OpaquePointer?) { unsafe self.pointer = pointer }
    deinit {
        guard let stack = unsafe pointer else { return }
        while let certificate = unsafe OPENSSL_sk_pop(stack) { unsafe X509_free(OpaquePointer(certificate)) }
        unsafe OPENSSL_sk_free(stack)
    }

    func append(_ certificate: OpaquePointer) {
        if unsafe pointer == nil { unsafe pointer = OPENSSL_sk_new_null() }
        if unsafe OPENSSL_sk_push(pointer, UnsafeRawPointer(certificate)) == 0 { unsafe X509_free(certificate) }
    }
}

/// Bytes in a form that OpenSSL can read, one call at a time.
@safe private final class Source {
    private let pointer: OpaquePointer
    private let bytes: UnsafeMutableBufferPointer<UInt8>

    init(_ content: [UInt8]) throws(TransferError) {
        unsafe bytes = UnsafeMutableBufferPointer.allocate(capacity: content.count)
        _ = unsafe bytes.initialize(from: content)
        guard let source = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(content.count)) else {
            unsafe bytes.deallocate()
            throw TransferError(.unknown, "OpenSSL: no memory")
        }
        unsafe pointer = source
    }

    deinit {
        unsafe BIO_free(pointer)
        unsafe bytes.deallocate()
    }

    /// Calls `call` with OpenSSL's pointer, valid during the call.
    func read<Result>(_ call: (OpaquePointer) -> Result) -> Result { unsafe call(pointer) }
}

// MARK: - PEM

extension TLSIdentity {
    /// Reads the certificates of a PEM file: the first is the leaf, the others lead to its authority.
    private static func readCertificates(
        _ bytes: [UInt8], _ path: String
    ) throws(TransferError) -> (leaf: Certificate, chain: Chain) {
        let source = try Source(bytes)
        guard let leaf = unsafe source.read({ unsafe PEM_read_bio_X509_AUX($0, nil, refusePassword, nil) }) else {
            throw problem("no certificate can be read from \(path)")
        }
        let chain = unsafe Chain(nil)
        while let next = unsafe source.read({ unsafe PEM_read_bio_X509($0, nil, refusePassword, nil) }) {
            unsafe chain.append(next)
        }
        return (unsafe Certificate(leaf), chain)
    }

    private static func readKey(
        _ bytes: [UInt8], _ path: String, _ password: String?
    ) throws(TransferError) -> PrivateKey {
        let source = try Source(bytes)
        // Without a password OpenSSL would ask for one on the terminal.
        var text = Array((password ?? "").utf8CString)
        let key = unsafe text.withUnsafeMutableBytes { password in
            unsafe source.read { unsafe PEM_read_bio_PrivateKey($0, nil, nil, password.baseAddress) }
        }
        if let key = unsafe key { return unsafe PrivateKey(key) }
        guard isEncrypted(bytes) else { throw problem("no key can be read from \(path)") }
        throw problem(
            password == nil
                ? "the key in \(path) needs a `password`" : "the `password` does not open the key in \(path)")
    }

    private static func isEncrypted(_ bytes: [UInt8]) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        return text.contains("ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED")
    }

    // MARK: PKCS#12

    private static func readPKCS12(
        _ bytes: [UInt8], _ path: String, _ password: String?
    ) throws(TransferError) -> (Certificate, PrivateKey, Chain) {
        guard let archive = unsafe try Source(bytes).read({ unsafe d2i_PKCS12_bio($0, nil) }) else {
            throw problem("\(path) is neither PEM nor PKCS#12")
        }
        defer { unsafe PKCS12_free(archive) }
        var key: OpaquePointer?
        var leaf: OpaquePointer?
        var stack: OpaquePointer?
        let isRead = unsafe PKCS12_parse(archive, password ?? "", &key, &leaf, &stack) == 1
        let chain = unsafe Chain(stack)
        let owned = (unsafe leaf.map { unsafe Certificate($0) }, unsafe key.map { unsafe PrivateKey($0) })
        guard isRead else { throw refusal(path, password) }
        guard let certificate = owned.0, let privateKey = owned.1 else {
            throw problem("\(path) holds no certificate with a key")
        }
        return (certificate, privateKey, chain)
    }

    private static func refusal(_ path: String, _ password: String?) -> TransferError {
        while true {
            let code = ERR_get_error()
            if code == 0 { break }
            if code == unsupported {
                let hint = "unpack it with `openssl pkcs12 -legacy` and pack it anew"
                return problem("\(path) is packed with a cipher that OpenSSL no longer uses: \(hint)")
            }
        }
        return problem(password == nil ? "\(path) needs a `password`" : "the `password` does not open \(path)")
    }

    /// `error:0308010C:digital envelope routines::unsupported`, made by macros that Swift does not import.
    private static let unsupported: UInt = 0x0308_010C
}

/// Refuses to give a password: certificates are never encrypted, and the terminal must not be asked.
private func refusePassword(
    _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int32, _ isForWriting: Int32, _ user: UnsafeMutableRawPointer?
) -> Int32 { -1 }
