internal import CLibSSL

/// An OpenSSL error in a handshake, by its number. libcurl includes OpenSSL's text in its message (`error:0A00010B:SSL
/// routines::…`); the words around it differ between versions.
package struct TLSFailure {
    private let code: UInt

    package init?(in message: String) {
        for mark in message.ranges(of: "error:") {
            let digits = message[mark.upperBound...].prefix { $0.isASCII && $0.isHexDigit }
            guard digits.count == 8, let code = UInt(digits, radix: 16) else { continue }
            self.code = code
            return
        }
        return nil
    }

    /// Whether the server's bytes were no TLS record: most often a plain HTTP server's answer.
    package var isNoTLS: Bool {
        // Which reason is reported depends on the version: the record's header is parsed in another order.
        let reasons = [SSL_R_WRONG_VERSION_NUMBER, SSL_R_PACKET_LENGTH_TOO_LONG, SSL_R_HTTP_REQUEST]
        return ERR_GET_LIB(code) == ERR_LIB_SSL && reasons.contains(ERR_GET_REASON(code))
    }

    /// Whether the message says that the server ended the connection before the handshake was over. OpenSSL has no error
    /// number for a connection that is closed before the first record.
    package static func isHangUp(_ message: String) -> Bool {
        if message.contains("SSL_ERROR_SYSCALL") || message.contains("SSL_ERROR_ZERO_RETURN") { return true }
        guard let failure = TLSFailure(in: message), ERR_GET_LIB(failure.code) == ERR_LIB_SSL else { return false }
        return ERR_GET_REASON(failure.code) == SSL_R_UNEXPECTED_EOF_WHILE_READING
    }
}
