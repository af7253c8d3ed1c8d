import CurlCore
import Testing

/// Whatever OpenSSL's words are, its number tells.
@Suite struct TLSFailureTests {
    @Test(arguments: [
        "error:0A00010B:SSL routines::wrong version number", "error:0A00010B:SSL routines::falsche Version",
        "OpenSSL/3.5.1: error:0A0000C6:SSL routines::packet length too long",
        "TLS connect error: error:0A00010B:SSL routines::wrong version number",
    ])
    func anAnswerThatIsNoTLS_isKnownByItsNumber(_ message: String) throws {
        #expect(try #require(TLSFailure(in: message)).isNoTLS)
    }

    @Test(arguments: [
        "error:0A000126:SSL routines::unexpected eof while reading",
        "error:0A00042E:SSL routines::tlsv1 alert protocol version",
        // Another library's error of that number.
        "error:0B00010B:x509 certificate routines::wrong version number",
    ])
    func anotherFailureOfTheHandshake_isNot(_ message: String) throws {
        #expect(try !#require(TLSFailure(in: message)).isNoTLS)
    }

    @Test(arguments: [
        ("OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to 127.0.0.1:8802 ", true),
        ("OpenSSL/3.0.19: error:0A000126:SSL routines::unexpected eof while reading", true),
        ("OpenSSL/3.0.19: error:0A00010B:SSL routines::wrong version number", false), ("", false),
    ])
    func aServerThatHangsUp_isKnown(_ message: String, _ isHangUp: Bool) {
        #expect(TLSFailure.isHangUp(message) == isHangUp)
    }

    @Test(arguments: ["", "wrong version number", "error:", "error:0A0001:SSL routines", "error:0A00010BFF:x"])
    func aMessageWithoutANumber_tellsNothing(_ message: String) { #expect(TLSFailure(in: message) == nil) }
}
