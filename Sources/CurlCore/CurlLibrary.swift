internal import CLibSSL
internal import CLibcurl
internal import Synchronization
internal import SystemIO
package import TransferModel

/// The libcurl library: loaded and set up once, before the first thread that uses it.
package enum CurlLibrary {
    /// Why libcurl cannot be used; `nil` when it can. The first access loads it.
    package static let problem: String? = {
        // libcurl allocates and frees a receive buffer with each transfer. Getting its pages from the system each time
        // costs as much as copying the bytes.
        Memory.keep(8 << 20)
        if let lack = unsafe tr_curl_lacks(tr_curl_itself) {
            let lack = unsafe String(cString: lack)
            return "cannot be loaded: \(lack)\(remedy(for: lack).map { "; \($0)" } ?? "")"
        }
        return curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK ? nil : "could not be initialised"
    }()

    /// What to install, given the dynamic linker's words about a file that is not there; `nil` for other faults and
    /// libraries.
    package static func remedy(for lack: String) -> String? {
        guard lack.hasSuffix(": No such file or directory") else { return nil }
        if lack.hasPrefix("libcrypto.so.3:") || lack.hasPrefix("libssl.so.3:") {
            return "install OpenSSL 3 (Debian and Ubuntu: libssl3, Fedora: openssl-libs)"
        }
        return lack.hasPrefix("libcurl.so.4:") ? "install it (Debian and Ubuntu: libcurl4, Fedora: libcurl)" : nil
    }

    /// Loads libcurl; throws when it cannot be used.
    package static func prepare() throws(TransferError) {
        if let problem { throw TransferError(.unknown, "libcurl \(problem)") }
    }

    /// Functions of libcurl for which it loads other libraries. Checked before they are used: a missing library in the
    /// middle of them ends the process.
    package enum Need: Sendable {
        /// A TLS handshake, and a login by Negotiate.
        case handshake, negotiate

        fileprivate var code: tr_curl_need {
            switch self {
            case .handshake: tr_curl_handshake
            case .negotiate: tr_curl_negotiate
            }
        }
    }

    /// The highest need whose libraries are loaded; they stay loaded.
    private static let loaded = Atomic<UInt32>(0)

    /// Returns which library for `need` is missing, or `nil`.
    package static func lack(for need: Need) -> String? {
        guard loaded.load(ordering: .acquiring) < need.code.rawValue else { return nil }
        if let lack = unsafe tr_curl_lacks(need.code) { return unsafe String(cString: lack) }
        loaded.max(need.code.rawValue, ordering: .acquiringAndReleasing)
        return nil
    }

    /// Loads the libraries for `need`; throws when one is missing.
    package static func prepare(for need: Need) throws(TransferError) {
        if let lack = lack(for: need) { throw TransferError(.unknown, "a library cannot be loaded: \(lack)") }
    }

    /// libcurl's version, `7.88.1`; `none` where it cannot be loaded.
    package static var version: String {
        guard let text = unsafe tr_curl_version_text() else { return "none" }
        return unsafe String(cString: text)
    }

    /// OpenSSL's version, `OpenSSL/3.0.19`; `nil` where it cannot be loaded.
    package static var tlsVersion: String? {
        guard lack(for: .handshake) == nil, let text = unsafe OpenSSL_version(OPENSSL_VERSION) else { return nil }
        return unsafe String(cString: text).split(separator: " ").prefix(2).joined(separator: "/")
    }

    /// File of the system's certificate authorities; `nil` where libcurl knows it itself.
    static let authorities = unsafe tr_curl_authorities().map { unsafe String(cString: $0) }
    /// Folder with a file for each of the system's certificate authorities; `nil` where libcurl knows it itself.
    static let authorityFolder = unsafe tr_curl_authority_folder().map { unsafe String(cString: $0) }

    /// The relevant features, by their names in `curl --version`; reading them loads all libraries.
    package static var features: [String] {
        let known: [(Int32, String)] = [
            (CURL_VERSION_ASYNCHDNS, "AsynchDNS"), (CURL_VERSION_BROTLI, "brotli"), (CURL_VERSION_GSSAPI, "GSS-API"),
            (CURL_VERSION_HTTP2, "HTTP2"), (CURL_VERSION_HTTP3, "HTTP3"), (CURL_VERSION_IDN, "IDN"),
            (CURL_VERSION_IPV6, "IPv6"), (CURL_VERSION_LIBZ, "libz"), (CURL_VERSION_NTLM, "NTLM"),
            (CURL_VERSION_PSL, "PSL"), (CURL_VERSION_SSL, "SSL"), (CURL_VERSION_ZSTD, "zstd"),
        ]
        guard lack(for: .handshake) == nil, let info = unsafe tr_curl_version() else { return [] }
        let bits = unsafe info.pointee.features
        return known.filter { bits & $0.0 != 0 }.map(\.1)
    }
}
