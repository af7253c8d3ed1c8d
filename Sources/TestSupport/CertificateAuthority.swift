internal import CLibSSL
internal import Glibc

/// A certificate authority made for one test; its files live in a folder that is deleted with it.
package final class CertificateAuthority: Sendable {
    /// The fault that an issued certificate has.
    package enum Flaw: Sendable { case none, expired, notYetValid, otherHost, selfSigned }

    /// A certificate and its key as PEM files.
    package struct Issued: Sendable {
        /// Path of the certificate's PEM file; an intermediate certificate follows in it.
        package let certificateFile: String
        /// Path of the private key's PEM file.
        package let keyFile: String
        /// `sha256//…` over the public key, in the format of `tls.trust.pin`.
        package let pin: String
        /// `sha256:…` over the whole certificate.
        package let fingerprint: String
        /// Pin of the intermediate certificate's key; `nil` if the authority signed the certificate itself.
        package let intermediatePin: String?
    }

    /// Path of the authority's own certificate, PEM.
    package let caFile: String
    private let folder: TemporaryTree
    private let caKeyFile: String

    package init() throws {
        folder = try TemporaryTree("ca")
        caFile = folder.path("ca.pem")
        caKeyFile = folder.path("ca.key")
        let key = try KeyPair()
        let certificate = try Certificate(subject: "Test authority", issuer: "Test authority", key: key, flaw: .none)
        try certificate.extend(NID_basic_constraints, "critical,CA:TRUE", issuer: certificate)
        try certificate.extend(NID_key_usage, "critical,keyCertSign,cRLSign", issuer: certificate)
        try certificate.extend(NID_subject_key_identifier, "hash", issuer: certificate)
        try certificate.sign(with: key)
        try certificate.write(caFile)
        try key.write(caKeyFile)
    }

    /// Issues a certificate for localhost and 127.0.0.1, or with a common name of its own for a client.
    package func issue(
        _ name: String = "localhost", flaw: Flaw = .none, throughIntermediate: Bool = false
    ) throws -> Issued {
        let authority = (try Certificate(contentsOf: caFile), try KeyPair(contentsOf: caKeyFile), "Test authority")
        let key = try KeyPair()
        var issuer = authority
        if throughIntermediate { issuer = try intermediate(of: authority) }
        if flaw == .selfSigned { issuer.2 = name }
        let certificate = try Certificate(subject: name, issuer: issuer.2, key: key, flaw: flaw)
        let names = flaw == .otherHost ? "DNS:elsewhere.test" : "DNS:localhost,IP:127.0.0.1"
        try certificate.extend(NID_subject_alt_name, names, issuer: issuer.0)
        try certificate.extend(NID_ext_key_usage, "serverAuth,clientAuth", issuer: issuer.0)
        if flaw != .selfSigned { try certificate.extend(NID_authority_key_identifier, "keyid", issuer: issuer.0) }
        try certificate.sign(with: flaw == .selfSigned ? key : issuer.1)
        let stem = folder.path("\(name)-\(UInt64.random(in: 0...UInt64.max))")
        try certificate.write(stem + ".pem")
        if throughIntermediate { try issuer.0.write(stem + ".pem", mode: "a") }
        try key.write(stem + ".key")
        return Issued(
            certificateFile: stem + ".pem", keyFile: stem + ".key", pin: try key.pin(),
            fingerprint: try certificate.fingerprint(), intermediatePin: throughIntermediate ? try issuer.1.pin() : nil)
    }

    private func intermediate(
        of authority: (Certificate, KeyPair, String)
    ) throws -> (Certificate, KeyPair, String) {
        let key = try KeyPair()
        let name = "Test intermediate"
        let certificate = try Certificate(subject: name, issuer: authority.2, key: key, flaw: .none)
        try certificate.extend(NID_basic_constraints, "critical,CA:TRUE,pathlen:0", issuer: authority.0)
        try certificate.extend(NID_key_usage, "critical,keyCertSign", issuer: authority.0)
        try certificate.extend(NID_subject_key_identifier, "hash", issuer: authority.0)
        try certificate.extend(NID_authority_key_identifier, "keyid", issuer: authority.0)
        try certificate.sign(with: authority.1)
        return (certificate, key, name)
    }
}

extension CertificateAuthority.Issued {
    private static func fresh(_ path: String, _ kind: String) -> String {
        "\(path).\(UInt64.random(in: 0...UInt64.max)).\(kind)"
    }

    /// Writes certificate and key to one PKCS#12 file and returns its path; with an empty password it is encrypted
    /// under that.
    package func pkcs12(password: String) throws -> String {
        let (certificate, key) = (try Certificate(contentsOf: certificateFile), try KeyPair(contentsOf: keyFile))
        guard let packed = PKCS12_create(password, "test", key.pointer, certificate.pointer, nil, 0, 0, 0, 0, 0) else {
            throw TLSFailure("PKCS#12")
        }
        defer { PKCS12_free(packed) }
        let path = Self.fresh(certificateFile, "p12")
        guard let file = BIO_new_file(path, "w") else { throw TLSFailure(path) }
        defer { BIO_free(file) }
        try check(i2d_PKCS12_bio(file, packed), path)
        return path
    }

    /// Writes the key to a PEM file encrypted with `password`, and returns its path.
    package func encryptedKey(password: String) throws -> String {
        let key = try KeyPair(contentsOf: keyFile)
        let path = Self.fresh(keyFile, "encrypted")
        guard let file = BIO_new_file(path, "w") else { throw TLSFailure(path) }
        defer { BIO_free(file) }
        try check(
            PEM_write_bio_PKCS8PrivateKey(
                file, key.pointer, EVP_aes_256_cbc(), password, Int32(password.utf8.count), nil, nil), path)
        return path
    }

    /// Writes certificate and key to one PEM file and returns its path.
    package func together() throws -> String {
        let path = Self.fresh(certificateFile, "both")
        let bytes = try TemporaryTree.bytes(at: certificateFile) + TemporaryTree.bytes(at: keyFile)
        guard let file = BIO_new_file(path, "w") else { throw TLSFailure(path) }
        defer { BIO_free(file) }
        try check(BIO_write(file, bytes, Int32(bytes.count)) == Int32(bytes.count) ? 1 : 0, path)
        return path
    }
}

/// How a scripted server uses TLS.
package struct TLSOptions: Sendable {
    /// A TLS version, by its number on the wire.
    package enum Version: Int32, Sendable {
        case v1_0 = 0x0301
        case v1_1 = 0x0302
        case v1_2 = 0x0303
        case v1_3 = 0x0304
    }
    /// The authority that signs the server's certificate. Share one among servers that a job trusts by one file.
    package var authority: CertificateAuthority
    /// Oldest version that the server accepts.
    package var minimum: Version
    /// Newest version that the server accepts.
    package var maximum: Version
    /// The fault of the server's certificate.
    package var flaw: CertificateAuthority.Flaw
    /// Whether the server sends close_notify before FIN; some real servers do not.
    package var closesInOrder: Bool
    /// Whether the server requests a client certificate of the same authority and refuses clients without one.
    package var requiresClientCertificate: Bool
    /// Whether the server requests a client certificate and continues without one.
    package var asksForClientCertificate = false
    /// Whether an intermediate certificate stands between the server's and the authority's.
    package var hasIntermediate = false
    /// Whether the server selects HTTP/2 when the client offers it. The server does not implement it: a script for the
    /// route `PRI *`, which is how the client's first line parses, sends the frames (`HTTP2Frame`).
    package var takesHTTP2 = false

    package init(
        authority: CertificateAuthority? = nil, minimum: Version = .v1_2, maximum: Version = .v1_3,
        flaw: CertificateAuthority.Flaw = .none, closesInOrder: Bool = true, requiresClientCertificate: Bool = false
    ) throws {
        self.authority = try authority ?? CertificateAuthority()
        self.minimum = minimum
        self.maximum = maximum
        self.flaw = flaw
        self.closesInOrder = closesInOrder
        self.requiresClientCertificate = requiresClientCertificate
    }
}

/// A server's SSL_CTX. Unchecked `Sendable`: it is not changed after `init`, and OpenSSL counts its references
/// atomically.
final class TLSContext: @unchecked Sendable {
    let pointer: OpaquePointer
    let closesInOrder: Bool
    let leaf: CertificateAuthority.Issued

    init(_ options: TLSOptions) throws {
        // SSL_write raises SIGPIPE and has no flag against it.
        signal(SIGPIPE, SIG_IGN)
        guard let context = SSL_CTX_new(TLS_server_method()) else { throw TLSFailure("SSL_CTX_new") }
        pointer = context
        closesInOrder = options.closesInOrder
        // Macros over SSL_CTX_ctrl, which Swift does not import.
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(options.minimum.rawValue), nil)
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(options.maximum.rawValue), nil)
        // The old versions need ciphers that the default security level forbids.
        if options.minimum.rawValue < Version.v1_2.rawValue { SSL_CTX_set_security_level(context, 0) }
        leaf = try options.authority.issue(flaw: options.flaw, throughIntermediate: options.hasIntermediate)
        try check(SSL_CTX_use_certificate_chain_file(context, leaf.certificateFile), "certificate")
        try check(SSL_CTX_use_PrivateKey_file(context, leaf.keyFile, SSL_FILETYPE_PEM), "private key")
        if options.takesHTTP2 { SSL_CTX_set_alpn_select_cb(context, takeHTTP2, nil) }
        if options.requiresClientCertificate || options.asksForClientCertificate {
            try check(SSL_CTX_load_verify_locations(context, options.authority.caFile, nil), "authority")
            let need = options.requiresClientCertificate ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0
            SSL_CTX_set_verify(context, SSL_VERIFY_PEER | need, nil)
            // OpenSSL resumes a session with a client certificate only within a context that has a session id.
            try check(SSL_CTX_set_session_id_context(context, Array("test".utf8), 4), "context")
        }
    }

    private typealias Version = TLSOptions.Version

    deinit { SSL_CTX_free(pointer) }
}

/// Called by OpenSSL with the protocols that the client offers, each preceded by a byte with its length.
private func takeHTTP2(
    _ ssl: OpaquePointer?, _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    _ chosenCount: UnsafeMutablePointer<UInt8>?, _ offered: UnsafePointer<UInt8>?, _ count: UInt32,
    _ user: UnsafeMutableRawPointer?
) -> Int32 {
    let names = UnsafeBufferPointer(start: offered, count: Int(count))
    var place = 0
    while place < names.count {
        let name = names[(place + 1)...].prefix(Int(names[place]))
        if name.elementsEqual("h2".utf8) {
            chosen?.pointee = offered.map { $0 + place + 1 }
            chosenCount?.pointee = names[place]
            return SSL_TLSEXT_ERR_OK
        }
        place += 1 + name.count
    }
    return SSL_TLSEXT_ERR_NOACK
}

struct TLSFailure: Error, CustomStringConvertible {
    let description: String
    init(_ what: String) {
        var text = [CChar](repeating: 0, count: 256)
        ERR_error_string_n(ERR_get_error(), &text, text.count)
        description =
            "\(what): \(String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))"
    }
}

private func check(_ result: Int32, _ what: String) throws {
    if result != 1 { throw TLSFailure(what) }
}

/// A key on the curve P-256: made in a fraction of a millisecond.
private final class KeyPair {
    let pointer: OpaquePointer

    init() throws {
        guard let context = EVP_PKEY_CTX_new_id(NID_X9_62_id_ecPublicKey, nil) else { throw TLSFailure("key") }
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        try check(EVP_PKEY_keygen_init(context), "key")
        try check(EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1), "curve")
        try check(EVP_PKEY_keygen(context, &key), "key")
        guard let key else { throw TLSFailure("key") }
        pointer = key
    }

    init(contentsOf path: String) throws {
        guard let file = BIO_new_file(path, "r") else { throw TLSFailure(path) }
        defer { BIO_free(file) }
        guard let key = PEM_read_bio_PrivateKey(file, nil, nil, nil) else { throw TLSFailure(path) }
        pointer = key
    }

    deinit { EVP_PKEY_free(pointer) }

    func write(_ path: String) throws {
        guard let file = BIO_new_file(path, "w") else { throw TLSFailure(path) }
        defer { BIO_free(file) }
        try check(PEM_write_bio_PrivateKey(file, pointer, nil, nil, 0, nil, nil), path)
    }

    func pin() throws -> String {
        var encoded: UnsafeMutablePointer<UInt8>?
        let length = i2d_PUBKEY(pointer, &encoded)
        guard length > 0, let encoded else { throw TLSFailure("public key") }
        defer { CRYPTO_free(encoded, nil, 0) }
        var digest = [UInt8](repeating: 0, count: 32)
        try check(EVP_Digest(encoded, Int(length), &digest, nil, EVP_sha256(), nil), "digest")
        var text = [UInt8](repeating: 0, count: 64)
        let count = EVP_EncodeBlock(&text, digest, 32)
        return "sha256//" + String(decoding: text.prefix(Int(count)), as: UTF8.self)
    }
}

private final class Certificate {
    let pointer: OpaquePointer

    init(subject: String, issuer: String, key: KeyPair, flaw: CertificateAuthority.Flaw) throws {
        guard let made = X509_new() else { throw TLSFailure("certificate") }
        pointer = made
        let hour = 3600
        try check(X509_set_version(made, 2), "version")
        try check(ASN1_INTEGER_set_uint64(X509_get_serialNumber(made), .random(in: 1...UInt64.max >> 1)), "serial")
        X509_gmtime_adj(X509_getm_notBefore(made), flaw == .notYetValid ? 24 * hour : -48 * hour)
        X509_gmtime_adj(X509_getm_notAfter(made), flaw == .expired ? -24 * hour : 48 * hour)
        try name(X509_get_subject_name(made), subject)
        try name(X509_get_issuer_name(made), issuer)
        try check(X509_set_pubkey(made, key.pointer), "public key")
    }

    init(contentsOf path: String) throws {
        guard let file = BIO_new_file(path, "r") else { throw TLSFailure(path) }
        defer { BIO_free(file) }
        guard let read = PEM_read_bio_X509(file, nil, nil, nil) else { throw TLSFailure(path) }
        pointer = read
    }

    deinit { X509_free(pointer) }

    private func name(_ field: OpaquePointer?, _ text: String) throws {
        let isASCII = Int32(0x1001)  // MBSTRING_ASC
        try check(
            X509_NAME_add_entry_by_txt(field, "CN", isASCII, Array(text.utf8), Int32(text.utf8.count), -1, 0), "name")
    }

    func extend(_ identifier: Int32, _ value: String, issuer: Certificate) throws {
        var context = X509V3_CTX()
        X509V3_set_ctx(&context, issuer.pointer, pointer, nil, nil, 0)
        guard let made = X509V3_EXT_conf_nid(nil, &context, identifier, value) else { throw TLSFailure(value) }
        defer { X509_EXTENSION_free(made) }
        try check(X509_add_ext(pointer, made, -1), value)
    }

    func sign(with key: KeyPair) throws {
        if X509_sign(pointer, key.pointer, EVP_sha256()) == 0 { throw TLSFailure("signature") }
    }

    func write(_ path: String, mode: String = "w") throws {
        guard let file = BIO_new_file(path, mode) else { throw TLSFailure(path) }
        defer { BIO_free(file) }
        try check(PEM_write_bio_X509(file, pointer), path)
    }

    func fingerprint() throws -> String {
        var digest = [UInt8](repeating: 0, count: 32)
        try check(X509_digest(pointer, EVP_sha256(), &digest, nil), "fingerprint")
        return "sha256:"
            + digest.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}
