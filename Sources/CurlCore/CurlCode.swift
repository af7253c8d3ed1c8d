internal import CLibSSL
internal import CLibcurl
import TransferModel

/// libcurl's result of a transfer; not an enumeration, because another libcurl may know more codes.
package struct CurlCode: RawRepresentable, Hashable, Sendable {
    /// libcurl's number.
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }
    init(_ code: CURLcode) { rawValue = code.rawValue }

    /// The transfer succeeded.
    package static let ok = CurlCode(CURLE_OK)
    /// The connection ended before the body did.
    package static let partialFile = CurlCode(CURLE_PARTIAL_FILE)
    /// Whether the connection ended or broke while an answer was awaited or read.
    package var saysNothingCame: Bool {
        rawValue == CURLE_GOT_NOTHING.rawValue || rawValue == CURLE_RECV_ERROR.rawValue
    }

    /// Whether the transfer may have failed so because a descriptor could not be opened: for looking up a name, for a file
    /// of certificates, or within libcurl. It tells no cause then.
    var mayWantDescriptors: Bool {
        switch CURLcode(rawValue) {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT, CURLE_OUT_OF_MEMORY,
            CURLE_FAILED_INIT, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CONNECT_ERROR:
            true
        default: false
        }
    }

    /// Returns the catalogue's error for this code. `verifyResult` is OpenSSL's verdict on the certificate chain.
    func errorName(verifyResult: Int) -> ErrorName {
        switch CURLcode(rawValue) {
        // libcurl is limited to http and https, so this code means an answer that is neither HTTP/1 nor HTTP/2.
        case CURLE_UNSUPPORTED_PROTOCOL: .badServerResponse
        case CURLE_URL_MALFORMAT: .badURL
        case CURLE_COULDNT_RESOLVE_HOST: .cannotFindHost
        case CURLE_COULDNT_RESOLVE_PROXY: .cannotFindProxy
        case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED: .cannotConnectToHost
        case CURLE_PROXY: .cannotConnectToProxy
        case CURLE_OPERATION_TIMEDOUT: .timedOut
        case CURLE_PARTIAL_FILE, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_HTTP2_STREAM, CURLE_HTTP2:
            .networkConnectionLost
        case CURLE_GOT_NOTHING: .networkConnectionLost
        // Older versions report a malformed header line with the second code, newer ones with the first.
        case CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_FUNCTION_ARGUMENT: .cannotParseResponse
        // Newer versions reject a `Transfer-Encoding` that this program rejects too; libcurl decodes no
        // `Content-Encoding`.
        case CURLE_BAD_CONTENT_ENCODING: .badServerResponse
        case CURLE_SEND_FAIL_REWIND: .requestBodyStreamExhausted
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_ENGINE_NOTFOUND: .secureConnectionFailed
        case CURLE_PEER_FAILED_VERIFICATION: Self.certificateError(verifyResult)
        case CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR: .serverCertificateUntrusted
        case CURLE_SSL_CLIENTCERT: .clientCertificateRequired
        case CURLE_REMOTE_FILE_NOT_FOUND, CURLE_FTP_COULDNT_RETR_FILE: .fileDoesNotExist
        case CURLE_REMOTE_ACCESS_DENIED: .noPermissionsToReadFile
        case CURLE_LOGIN_DENIED: .userAuthenticationRequired
        case CURLE_UPLOAD_FAILED, CURLE_REMOTE_DISK_FULL, CURLE_REMOTE_FILE_EXISTS, CURLE_QUOTE_ERROR,
            CURLE_FTP_WEIRD_PASS_REPLY, CURLE_FTP_WEIRD_PASV_REPLY, CURLE_FTP_WEIRD_227_FORMAT,
            CURLE_FTP_CANT_GET_HOST, CURLE_FTP_COULDNT_SET_TYPE, CURLE_FTP_PRET_FAILED:
            .badServerResponse
        case CURLE_FTP_ACCEPT_FAILED, CURLE_FTP_ACCEPT_TIMEOUT, CURLE_FTP_PORT_FAILED: .cannotConnectToHost
        case CURLE_TOO_MANY_REDIRECTS: .httpTooManyRedirects
        default: .unknown
        }
    }

    /// Describes what is malformed in an answer, where libcurl uses another error's code: it calls broken chunks a
    /// failed `recv`, too many headers too, and one header line beyond its bound (100 KiB) a lack of memory. Only the
    /// message tells them apart; `nil` for other messages, whose code's name stays.
    func misshapenAnswer(_ message: String) -> String? {
        switch CURLcode(rawValue) {
        case CURLE_OUT_OF_MEMORY where message.isEmpty, Self.tooLarge:
            "a header line of the answer is longer than libcurl takes, or there was no memory for it"
        case CURLE_RECV_ERROR where Self.speaksOfChunks(message):
            "the chunks of the body are malformed: \(message)"
        case CURLE_RECV_ERROR where message.hasPrefix("Too large response headers"):
            "the headers of the answer are too long: \(message)"
        case CURLE_BAD_FUNCTION_ARGUMENT: "a header line of the answer is malformed"
        default: nil
        }
    }

    /// The prefixes are those of older versions.
    private static func speaksOfChunks(_ message: String) -> Bool {
        message.hasSuffix("in chunked-encoding")
            || ["chunk hex-length", "invalid chunk size"].contains { message.hasPrefix($0) }
    }

    /// Whether libcurl found the announced length of a body wrong. Its versions differ in the lengths that they check;
    /// this program finds all others itself.
    func findsWrongLength(_ message: String) -> Bool {
        CURLcode(rawValue) == CURLE_WEIRD_SERVER_REPLY && message.hasPrefix("Invalid Content-Length")
    }

    /// `CURLE_TOO_LARGE`, which older headers do not define.
    private static let tooLarge = CURLcode(100)

    static func certificateError(_ verifyResult: Int) -> ErrorName {
        switch Int32(truncatingIfNeeded: verifyResult) {
        // libcurl checks the name itself, after OpenSSL accepted the chain.
        case X509_V_OK, X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH: .serverCertificateWrongHost
        case X509_V_ERR_CERT_HAS_EXPIRED: .serverCertificateHasBadDate
        case X509_V_ERR_CERT_NOT_YET_VALID: .serverCertificateNotYetValid
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
            X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
            .serverCertificateHasUnknownRoot
        case TLSSettings.pinMismatch: .serverKeyNotPinned
        // Self-signed, by too weak a key, for another purpose, revoked.
        default: .serverCertificateUntrusted
        }
    }

    /// libcurl's own text for the code.
    package var text: String { unsafe String(cString: curl_easy_strerror(CURLcode(rawValue))) }
}
