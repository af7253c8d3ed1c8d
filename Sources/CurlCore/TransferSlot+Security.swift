internal import CLibSSL
internal import CLibcurl
import TransferModel

/// Sets libcurl's TLS options, and performs the TLS checks that libcurl does not.
extension TransferSlot {
    func setSecurity(_ request: CurlRequest) {
        let tls = request.pool.tls
        if request.isSecure { set(tls, .server) }
        if request.isProxySecure { set(tls, .proxy) }
        guard request.isSecure || request.isProxySecure else { return }
        unsafe easy.set(secureContext: prepareSecureContext)
        unsafe easy.set(CURLOPT_SSL_CTX_DATA, pointer: userPointer)
    }

    /// The names of the same options for a server and for a proxy.
    private struct Options {
        let versions, ciphers, authorities, authorityFolder, peer, host: CURLoption
        static let server = Options(
            versions: CURLOPT_SSLVERSION, ciphers: CURLOPT_SSL_CIPHER_LIST, authorities: CURLOPT_CAINFO,
            authorityFolder: CURLOPT_CAPATH, peer: CURLOPT_SSL_VERIFYPEER, host: CURLOPT_SSL_VERIFYHOST)
        static let proxy = Options(
            versions: CURLOPT_PROXY_SSLVERSION, ciphers: CURLOPT_PROXY_SSL_CIPHER_LIST,
            authorities: CURLOPT_PROXY_CAINFO, authorityFolder: CURLOPT_PROXY_CAPATH,
            peer: CURLOPT_PROXY_SSL_VERIFYPEER, host: CURLOPT_PROXY_SSL_VERIFYHOST)
    }

    private func set(_ tls: TLSSettings, _ options: Options) {
        easy.set(options.versions, tls.versions)
        if tls.minimum < .v1_2 {
            // OpenSSL 3 rejects the signatures of the old versions at its usual security level.
            easy.set(options.ciphers, "DEFAULT@SECLEVEL=0")
        }
        if let file = tls.ca ?? CurlLibrary.authorities { easy.set(options.authorities, file) }
        if tls.ca != nil, tls.onlyOwnCA {
            easy.set(options.authorityFolder, nil)
        } else if let folder = CurlLibrary.authorityFolder {
            easy.set(options.authorityFolder, folder)
        }
        guard case .chain = tls.trust else {
            // Pins are for servers. Where only a pin is trusted, the proxy is checked by the system's authorities.
            if case .pinAlone = tls.trust, options.peer == CURLOPT_PROXY_SSL_VERIFYPEER { return }
            easy.set(options.peer, false)
            easy.set(options.host, false)
            return
        }
    }

    /// Records the TLS facts of the connection that the request uses.
    func noteSecurity() {
        guard pool?.proxy == nil || isSecure, let ssl = unsafe secureStream() else { return }
        unsafe state.tls.connection = UnsafeRawPointer(ssl)
        state.tls.version = UInt16(truncatingIfNeeded: unsafe SSL_version(ssl))
        state.tls.cipher = unsafe SSL_CIPHER_get_protocol_id(SSL_get_current_cipher(ssl))
        let ends = pool?.secureEnds
        state.tls.peerCertificate = unsafe ends?.certificate(of: UnsafeRawPointer(ssl)) { unsafe PeerCertificate(ssl) }
    }

    /// The TLS object of the transfer's connection; `nil` without TLS.
    func secureStream() -> OpaquePointer? {
        guard pool?.secureEnds.isUsed == true else { return nil }
        var found: UnsafeMutableRawPointer?
        guard unsafe tr_easy_get_pointer(easy.raw, CURLINFO_TLS_SSL_PTR, &found) == CURLE_OK, let info = unsafe found
        else { return nil }
        let session = unsafe info.assumingMemoryBound(to: curl_tlssessioninfo.self)
        guard unsafe session.pointee.backend == CURLSSLBACKEND_OPENSSL else { return nil }
        return unsafe session.pointee.internals.map { OpaquePointer($0) }
    }

    /// What became of the client certificate that the server had asked for.
    var certificateAlert: CertificateAlert? {
        if state.tls.wasAskedForCertificate, pool?.refusesToShow == true { return .refused }
        guard state.tls.wasAskedForCertificate, let alert = state.tls.alert, Self.certificateAlerts.contains(alert)
        else { return nil }
        return pool?.identity == nil || alert == 116 ? .required : .rejected
    }

    /// handshake_failure, bad_certificate and its kin, unknown_ca, access_denied, decrypt_error, certificate_required.
    private static let certificateAlerts: Set<Int32> = [40, 41, 42, 43, 44, 45, 46, 48, 49, 51, 116]

    /// Whether the proxy asked for a client certificate. Proxies get none, and only this alert says for certain that
    /// one wants it.
    var isProxyAfterCertificate: Bool { state.tls.proxyAlert == SSL_AD_CERTIFICATE_REQUIRED }
}

/// How a connection ended because the server wanted a client certificate.
package enum CertificateAlert: Sendable {
    /// The session has none, or the server says that it required one.
    case required
    /// The server did not accept the certificate.
    case rejected
    /// A rule of the job forbids connections on which a certificate is asked for.
    case refused
}

// MARK: - Called by OpenSSL

/// Configures a new TLS context by the session's settings, beyond libcurl's options.
private func prepareSecureContext(
    _ easy: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?, _ user: UnsafeMutableRawPointer?
) -> CURLcode {
    guard let slot = unsafe slot(user), let pool = slot.pool, let context = unsafe context else {
        return CURLE_ABORTED_BY_CALLBACK
    }
    let sslContext = OpaquePointer(context)
    slot.state.tls.contexts += 1
    // The pointer is to the pool's object, because the pool closes its connections after the loop is gone.
    let ends = unsafe Unmanaged.passUnretained(pool.secureEnds).toOpaque()
    guard unsafe SSL_CTX_set_ex_data(sslContext, CurlLoop.secureContextIndex, ends) == 1 else {
        return CURLE_OUT_OF_MEMORY
    }
    pool.secureEnds.isUsed = true
    unsafe SSL_CTX_set_info_callback(sslContext, noteSecureEvent)
    if let proxy = pool.proxy, proxy.isSecure {
        let isProxy = slot.state.tls.contexts == 1
        unsafe pool.secureEnds.watch(context, of: slot, isProxy: isProxy)
        if isProxy { return unsafe expect(proxy.bareHost, pool.tls, sslContext, isProxy: true) }
    }
    unsafe SSL_CTX_set_cert_cb(sslContext, noteCertificateRequest, user)
    if let identity = pool.identity, unsafe !identity.use(in: sslContext) { return CURLE_SSL_CERTPROBLEM }
    if needsOwnCheck(pool.tls) {
        unsafe SSL_CTX_set_verify(sslContext, SSL_VERIFY_PEER, nil)
        unsafe SSL_CTX_set_cert_verify_callback(sslContext, verifyServer, Unmanaged.passUnretained(pool).toOpaque())
    }
    return unsafe expect(slot.host, pool.tls, sslContext, isProxy: false)
}

private func needsOwnCheck(_ tls: TLSSettings) -> Bool {
    if case .pinAlone = tls.trust { return true }
    return tls.hasPins
}

/// Sets the host's name to be checked with the chain. libcurl checks it only after the handshake, when the wrong server
/// may already have got the client certificate.
private func expect(_ host: String?, _ tls: TLSSettings, _ context: OpaquePointer, isProxy: Bool) -> CURLcode {
    switch tls.trust {
    case .nothing: return CURLE_OK
    case .pinAlone where !isProxy: return CURLE_OK
    case .chain, .pinAlone: break
    }
    guard let host, let parameters = unsafe SSL_CTX_get0_param(context) else { return CURLE_OUT_OF_MEMORY }
    if unsafe X509_VERIFY_PARAM_set1_ip_asc(parameters, host) == 1 { return CURLE_OK }
    unsafe X509_VERIFY_PARAM_set_hostflags(parameters, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
    return unsafe X509_VERIFY_PARAM_set1_host(parameters, host, 0) == 1 ? CURLE_OK : CURLE_OUT_OF_MEMORY
}

private func verifyServer(_ store: OpaquePointer?, _ user: UnsafeMutableRawPointer?) -> Int32 {
    guard let store = unsafe store, let user = unsafe user else { return 0 }
    let pool = unsafe Unmanaged<ConnectionPool>.fromOpaque(user).takeUnretainedValue()
    return unsafe pool.tls.accepts(store) ? 1 : 0
}

/// Notes that the server asks for a client certificate, which explains errors that may follow. The certificate itself
/// is in the context already.
private func noteCertificateRequest(_ ssl: OpaquePointer?, _ user: UnsafeMutableRawPointer?) -> Int32 {
    // Handshakes happen only in the loop's turn, so the slot exists.
    guard let ssl = unsafe ssl, let slot = unsafe slot(user), let ends = slot.pool?.secureEnds else { return 1 }
    slot.state.tls.wasAskedForCertificate = true
    unsafe ends.asks(UnsafeRawPointer(ssl), of: slot)
    return slot.pool?.refusesToShow == true ? 0 : 1
}

private func noteSecureEvent(_ ssl: OpaquePointer?, _ place: Int32, _ value: Int32) {
    guard let ssl = unsafe ssl, let context = unsafe SSL_get_SSL_CTX(ssl),
        let user = unsafe SSL_CTX_get_ex_data(context, CurlLoop.secureContextIndex)
    else { return }
    let ends = unsafe Unmanaged<SecureEnds>.fromOpaque(user).takeUnretainedValue()
    let connection = unsafe UnsafeRawPointer(ssl)
    if place & SSL_CB_HANDSHAKE_START != 0 {
        unsafe ends.began(connection)
    } else if place & SSL_CB_READ_ALERT == SSL_CB_READ_ALERT {
        let alert = value & 0xFF
        if alert == SSL_AD_CLOSE_NOTIFY {
            unsafe ends.closed(connection)
        } else if value >> 8 == 2 {
            unsafe ends.complained(connection, alert: alert)
            unsafe ends.complained(UnsafeRawPointer(context), proxyAlert: alert)
        }
    } else if place & SSL_CB_WRITE_ALERT == SSL_CB_WRITE_ALERT, value >> 8 == 2 {
        // Where nothing is checked, the verdict on the chain is no reason.
        let result = unsafe SSL_get_verify_result(ssl)
        guard result != X509_V_OK, unsafe SSL_get_verify_mode(ssl) != SSL_VERIFY_NONE else { return }
        unsafe ends.refused(UnsafeRawPointer(context), result)
    }
}
