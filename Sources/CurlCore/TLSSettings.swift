internal import CLibSSL
package import TransferModel

/// How the connections of a session are secured: one object per session.
package final class TLSSettings: Sendable {
    /// What makes a server trusted.
    enum Trust: Sendable {
        /// A chain of certificates to an authority, with dates and the host's name.
        case chain
        /// A key that the job names, whatever its certificate says and whatever signed it (as DANE-EE does, RFC 7671
        /// section 5.1).
        case pinAlone
        /// Only a pin is checked, where there is one.
        case nothing
    }

    let minimum: TLSVersion
    let maximum: TLSVersion?
    let ca: String?
    let trust: Trust
    /// Whether only `ca` is trusted.
    let onlyOwnCA: Bool
    /// SHA-256 digests of the pinned public keys.
    private let pins: [[UInt8]]

    package init(_ configuration: TLSConfiguration) {
        minimum = configuration.minimum
        maximum = configuration.maximum
        ca = configuration.ca
        pins = configuration.pins.compactMap { Self.digest(ofPin: $0) }
        onlyOwnCA = configuration.policy == .only
        switch configuration.policy {
        case .insecure: trust = .nothing
        case .only where configuration.ca == nil: trust = .pinAlone
        case .only, .system: trust = .chain
        }
    }

    var hasPins: Bool { !pins.isEmpty }

    /// The range of versions in libcurl's encoding.
    var versions: Int {
        let low =
            switch minimum {
            case .v1_0: 4
            case .v1_1: 5
            case .v1_2: 6
            case .v1_3: 7
            }
        let high =
            switch maximum {
            case .v1_0: 4
            case .v1_1: 5
            case .v1_2: 6
            case .v1_3: 7
            case nil: 0
            }
        return low | high << 16
    }

    // MARK: Pins

    /// Decodes a pin: `sha256//` and base64 of 32 bytes, as the loader accepts it.
    private static func digest(ofPin text: String) -> [UInt8]? {
        let encoded = Array(text.utf8.dropFirst("sha256//".utf8.count))
        var bytes = [UInt8](repeating: 0, count: encoded.count)
        let count = unsafe EVP_DecodeBlock(&bytes, encoded, Int32(encoded.count))
        return count >= 32 ? Array(bytes[..<32]) : nil
    }

    /// Judges a server's certificates during the handshake: a server that fails learns nothing, not even the client's
    /// identity.
    func accepts(_ store: OpaquePointer) -> Bool {
        if case .chain = trust, unsafe X509_verify_cert(store) != 1 { return false }
        if unsafe !hasPins || isPinned(store) {
            unsafe X509_STORE_CTX_set_error(store, X509_V_OK)
            return true
        }
        unsafe X509_STORE_CTX_set_error(store, Self.pinMismatch)
        return false
    }

    /// A number that OpenSSL leaves to programs.
    static let pinMismatch = X509_V_ERR_APPLICATION_VERIFICATION
    static let notPinned = "no key of the server's certificates is one that `tls.trust.pin` names"

    /// Whether a pinned key is used: the server proved that it has the leaf's key; the rest of the chain counts only
    /// with verified signatures.
    private func isPinned(_ store: OpaquePointer) -> Bool {
        guard case .chain = trust else {
            return unsafe X509_STORE_CTX_get0_cert(store).map { unsafe isPinned(certificate: $0) } ?? false
        }
        guard let chain = unsafe X509_STORE_CTX_get0_chain(store) else { return false }
        return (0..<(unsafe OPENSSL_sk_num(chain))).contains { index in
            guard let certificate = unsafe OPENSSL_sk_value(chain, index) else { return false }
            return unsafe isPinned(certificate: OpaquePointer(certificate))
        }
    }

    private func isPinned(certificate: OpaquePointer) -> Bool {
        var encoded: UnsafeMutablePointer<UInt8>?
        let length = unsafe i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &encoded)
        guard length > 0, let key = unsafe encoded else { return false }
        defer { unsafe CRYPTO_free(key, nil, 0) }
        var digest = [UInt8](repeating: 0, count: 32)
        guard unsafe EVP_Digest(key, Int(length), &digest, nil, EVP_sha256(), nil) == 1 else { return false }
        return pins.contains(digest)
    }
}

/// The facts about a server's certificate for reports.
struct PeerCertificate {
    /// `sha256:…` over the whole certificate, as browsers and `openssl x509 -fingerprint` show it.
    let fingerprint: String
    let expiry: WallTime?

    /// `nil` where the peer sent no certificate.
    init?(_ ssl: OpaquePointer) {
        guard let certificate = unsafe SSL_get0_peer_certificate(ssl) else { return nil }
        var digest = [UInt8](repeating: 0, count: 32)
        guard unsafe X509_digest(certificate, EVP_sha256(), &digest, nil) == 1 else { return nil }
        let digits = Array("0123456789abcdef".utf8)
        let text = digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        fingerprint = "sha256:" + String(decoding: text, as: UTF8.self)
        var end = unsafe tm()
        let isKnown = unsafe ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) == 1
        let seconds = unsafe timegm(&end)
        // Some certificates are unlimited, beyond the range of the clock.
        expiry =
            isKnown && (0..<9_000_000_000).contains(seconds)
            ? WallTime(nanoseconds: Int64(seconds) * 1_000_000_000) : nil
    }
}
