import CurlCore
import Testing

@Suite struct CurlLibraryTests {
    /// The dynamic linker's words, and the package that brings the library.
    @Test(arguments: [
        ("libcrypto.so.3: cannot open shared object file: No such file or directory", "libssl3"),
        ("libssl.so.3: cannot open shared object file: No such file or directory", "libssl3"),
        ("libcurl.so.4: cannot open shared object file: No such file or directory", "libcurl4"),
        ("libnghttp2.so.14: cannot open shared object file: No such file or directory", nil),
        ("/opt/no/libssl.so.3: file too short", nil),
        ("libcrypto.so.3: version `OPENSSL_3.2.0' not found (required by libssl.so.3)", nil),
    ])
    func whatToInstall(_ lack: String, _ package: String?) {
        #expect((CurlLibrary.remedy(for: lack) != nil) == (package != nil))
        if let package { #expect(CurlLibrary.remedy(for: lack)?.contains(": \(package), ") == true) }
    }
}
