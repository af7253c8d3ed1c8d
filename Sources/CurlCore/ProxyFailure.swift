internal import CLibSSL
internal import CLibcurl
internal import Glibc
internal import SystemIO
package import TransferModel

/// Why a transfer through a proxy failed, where libcurl does not say it: mostly because of the proxy, not of the server
/// behind it.
package struct ProxyFailure: Sendable {
    /// The catalogue's error.
    package let name: ErrorName
    /// The message for people.
    package let message: String
}

extension TransferSlot {
    /// `nil` when the proxy did its part, or there is none.
    func proxyFailure(_ code: CurlCode) -> ProxyFailure? {
        guard let proxy = pool?.proxy else { return nil }
        let who = "the proxy \(proxy.server)"
        if state.login.isEndless, state.head.status == 407 || state.tunnel.isOpening {
            return ProxyFailure(name: .proxyAuthenticationRequired, message: "\(who): \(message)")
        }
        switch CURLcode(code.rawValue) {
        case CURLE_COULDNT_RESOLVE_PROXY:
            return ProxyFailure(name: .cannotFindProxy, message: "the host of \(who) is not known")
        case CURLE_COULDNT_CONNECT:
            return ProxyFailure(name: .cannotConnectToProxy, message: "\(who) cannot be reached: \(easy.message)")
        case CURLE_PROXY: return refusedBySOCKS(who)
        case CURLE_SSL_CONNECT_ERROR:
            if let refusedCertificate = state.tls.refusedCertificate { return Self.distrusted(refusedCertificate) }
        default: break
        }
        if isProxyAfterCertificate {
            return ProxyFailure(
                name: .proxyAuthenticationRequired,
                message: "\(who) wants a client certificate, and proxies are shown none: \(easy.message)")
        }
        if let answer = state.tunnel.answer, state.tunnel.isOpening { return refused(answer.status, who) }
        guard isTalkingToProxy(proxy, code) else { return nil }
        switch CURLcode(code.rawValue) {
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE:
            return ProxyFailure(
                name: .proxyCertificateUntrusted, message: "the certificate of \(who): \(easy.message)")
        case CURLE_OPERATION_TIMEDOUT:
            return ProxyFailure(name: .timedOut, message: "\(who) did not answer: \(easy.message)")
        default:
            return ProxyFailure(name: .cannotConnectToProxy, message: "\(who) does not answer: \(easy.message)")
        }
    }

    /// The failure of the server's certificate, in libcurl's words.
    private static func distrusted(_ verifyResult: Int) -> ProxyFailure {
        let name = CurlCode.certificateError(verifyResult)
        if name == .serverKeyNotPinned { return ProxyFailure(name: name, message: TLSSettings.notPinned) }
        let words = unsafe String(cString: X509_verify_cert_error_string(verifyResult))
        return ProxyFailure(name: name, message: "SSL certificate problem: \(words)")
    }

    /// Whether the transfer failed before it reached beyond the proxy: neither a tunnel nor a request went through.
    private func isTalkingToProxy(_ proxy: ProxySettings, _ code: CurlCode) -> Bool {
        if state.tunnel.isNeeded { return state.tunnel.isOpening && state.tunnel.answer == nil }
        // No byte of the request was sent.
        guard easy.offset(CURLINFO_PRETRANSFER_TIME_T) == 0 else { return false }
        if proxy.speaksHTTP { return proxy.isSecure }
        // libcurl has no code of its own for a silent SOCKS proxy. TLS begins behind it; an FTP server may be the
        // silent side.
        return code == CurlCode(CURLE_OPERATION_TIMEDOUT) && state.tls.contexts == 0 && ftp == nil
    }

    private func refused(_ status: Int, _ who: String) -> ProxyFailure {
        switch status {
        // Allowed (RFC 9110, section 15.2), but libcurl takes it for the answer.
        case ..<200:
            ProxyFailure(
                name: .cannotConnectToProxy,
                message: "\(who) sent an interim answer (\(status)) to CONNECT, which libcurl takes for the last one")
        // Some proxies answer 401 to a wrong password; the answer to CONNECT can only be the proxy's.
        case 401, 407:
            ProxyFailure(
                name: .proxyAuthenticationRequired, message: "\(who) wants to know who asks (\(status) to CONNECT)")
        // These statuses mean of a proxy what they mean of a server: the same request may succeed a little later.
        case 408, 425, 429:
            ProxyFailure(
                name: .proxyCouldNotConnect, message: "\(who) asks to come again later (\(status) to CONNECT)")
        case 500...:
            ProxyFailure(
                name: .proxyCouldNotConnect, message: "\(who) did not get through to the host (\(status) to CONNECT)")
        default:
            ProxyFailure(name: .proxyRefusedConnection, message: "\(who) refused the connection (\(status) to CONNECT)")
        }
    }

    private func refusedBySOCKS(_ who: String) -> ProxyFailure {
        let reason = CURLproxycode(UInt32(truncatingIfNeeded: easy.long(CURLINFO_PROXY_ERROR)))
        let name: ErrorName
        switch reason {
        case CURLPX_NO_AUTH, CURLPX_USER_REJECTED, CURLPX_IDENTD, CURLPX_IDENTD_DIFFER:
            name = .proxyAuthenticationRequired
        case CURLPX_REPLY_NOT_ALLOWED: name = .proxyRefusedConnection
        case CURLPX_REPLY_CONNECTION_REFUSED, CURLPX_REPLY_GENERAL_SERVER_FAILURE, CURLPX_REPLY_HOST_UNREACHABLE,
            CURLPX_REPLY_NETWORK_UNREACHABLE, CURLPX_REPLY_TTL_EXPIRED, CURLPX_REQUEST_FAILED:
            name = .proxyCouldNotConnect
        // SOCKS without remote lookup: the host's name was looked up here.
        case CURLPX_RESOLVE_HOST: name = .cannotFindHost
        default: name = .cannotConnectToProxy
        }
        return ProxyFailure(name: name, message: "\(who): \(easy.message)")
    }
}

extension CurlCompletion {
    /// Whether the server ended an HTTP/2 stream, without an error, while libcurl was still sending: libcurl then drops
    /// the answer. For a stream error libcurl has a message.
    package var lostAnswer: Bool { code == CurlCode(CURLE_HTTP2_STREAM) && message.isEmpty }

    /// Whether the server's answer to the handshake was no TLS record.
    package var speaksNoTLS: Bool {
        proxyFailure == nil && certificateAlert == nil
            && code.errorName(verifyResult: verifyResult) == .secureConnectionFailed
            && TLSFailure(in: message)?.isNoTLS == true
    }

    /// Whether the server ended the connection in the handshake, without a word.
    package var wasHungUpOn: Bool {
        proxyFailure == nil && certificateAlert == nil
            && code.errorName(verifyResult: verifyResult) == .secureConnectionFailed && TLSFailure.isHangUp(message)
    }

    /// Says why a file of CA certificates cannot be used; `nil` for another failure.
    private var authoritiesProblem: String? {
        let prefix = "error setting certificate file: "
        guard code == CurlCode(CURLE_SSL_CACERT_BADFILE), message.hasPrefix(prefix) else { return nil }
        let path = String(message.dropFirst(prefix.count))
        guard unsafe access(path, R_OK) == 0 else {
            let reason = SystemError(call: "access", errno: errno).reason
            return "\(TransferError.authoritiesWords)\(path) cannot be read: \(reason)"
        }
        return "\(TransferError.authoritiesWords)\(path) holds no certificate in PEM form"
    }

    /// The transfer's error in the catalogue's terms; `nil` when libcurl reports success.
    package var error: TransferError? {
        guard code != .ok else { return nil }
        var name = code.errorName(verifyResult: verifyResult)
        var words = message.isEmpty ? code.text : message
        if let proxyFailure {
            (name, words) = (proxyFailure.name, proxyFailure.message)
        } else if let certificateAlert {
            (name, words) = Self.explain(certificateAlert, words)
        } else if name == .serverKeyNotPinned {
            words = TLSSettings.notPinned
        } else if speaksNoTLS {
            words = "the server speaks no TLS on this port"
        } else if wasHungUpOn {
            words = "the server \(TransferError.brokenHandshakeWords)"
        } else if let authoritiesProblem {
            words = authoritiesProblem
        } else if let misshapen = code.misshapenAnswer(message) {
            (name, words) = (.cannotParseResponse, misshapen)
        } else if code.findsWrongLength(message) {
            name = .badServerResponse
        } else if isPutOff, name == .fileDoesNotExist || name == .noPermissionsToReadFile {
            // libcurl considers only which command failed.
            name = .badServerResponse
        } else if lostAnswer {
            words = "the server ended the HTTP/2 stream before it had the whole body, and what it answered is lost"
        }
        return TransferError(
            name, words, curl: Int32(code.rawValue), errno: systemError == 0 ? nil : systemError)
    }

    private static func explain(_ alert: CertificateAlert, _ words: String) -> (ErrorName, String) {
        switch alert {
        case .required: (.clientCertificateRequired, "the server wants a client certificate: \(words)")
        case .refused:
            (.cancelled, "the server asked for a client certificate, and a rule of `challenges` cancels then")
        case .rejected: (.clientCertificateRejected, "the server does not take the client certificate: \(words)")
        }
    }
}
