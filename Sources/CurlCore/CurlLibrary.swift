internal import CLibcurl
internal import SystemIO
package import TransferModel

/// The library as a whole: set up once, before the first thread that uses it.
package enum CurlLibrary {
    /// Why it is not; `nil` when it is.
    package static let problem: String? = {
        if let problem = unsafe tr_curl_load() {
            return unsafe "cannot be loaded: \(String(cString: problem)) (Debian has it in the package `libcurl4`)"
        }
        // libcurl takes and gives back a receive buffer with each transfer. Fetching its pages from the system each time
        // costs as much as copying the bytes.
        Memory.keep(8 << 20)
        return curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK ? nil : "could not be initialised"
    }()

    package static func prepare() throws(TransferError) {
        if let problem { throw TransferError(.unknown, "libcurl \(problem)") }
    }

    /// `7.88.1`
    package static var version: String { unsafe facts { unsafe String(cString: $0.pointee.version) } ?? "unknown" }

    /// `OpenSSL/3.0.19`
    package static var tlsVersion: String? {
        unsafe facts { info in unsafe info.pointee.ssl_version.map { unsafe String(cString: $0) } } ?? nil
    }

    /// The features that matter here, by the names `curl --version` gives them.
    package static var features: [String] {
        let known: [(Int32, String)] = [
            (CURL_VERSION_ASYNCHDNS, "AsynchDNS"), (CURL_VERSION_BROTLI, "brotli"), (CURL_VERSION_GSSAPI, "GSS-API"),
            (CURL_VERSION_HTTP2, "HTTP2"), (CURL_VERSION_HTTP3, "HTTP3"), (CURL_VERSION_IDN, "IDN"),
            (CURL_VERSION_IPV6, "IPv6"), (CURL_VERSION_LIBZ, "libz"), (CURL_VERSION_NTLM, "NTLM"),
            (CURL_VERSION_PSL, "PSL"), (CURL_VERSION_SSL, "SSL"), (CURL_VERSION_ZSTD, "zstd"),
        ]
        let bits = unsafe facts { unsafe $0.pointee.features } ?? 0
        return known.filter { bits & $0.0 != 0 }.map(\.1)
    }

    private static func facts<R>(_ body: (UnsafeMutablePointer<curl_version_info_data>) -> R) -> R? {
        // Not while another thread makes it ready.
        guard problem == nil, let info = unsafe tr_curl_version() else { return nil }
        return unsafe body(info)
    }
}
