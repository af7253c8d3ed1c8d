/// Answers what a method promises (RFC 9110, section 9.2).
package enum HTTPMethod {
    /// Whether sending a request twice has the effect of sending it once.
    package static func isIdempotent(_ method: String) -> Bool {
        switch method {
        case "GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "MKCOL", "COPY", "MOVE": true
        default: false
        }
    }

    /// Whether the method only reads: sent a second time it finds what the first time found. (A DELETE is idempotent,
    /// but its second answer is a 404.)
    package static func isSafe(_ method: String) -> Bool {
        switch method {
        case "GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND": true
        default: false
        }
    }
}
