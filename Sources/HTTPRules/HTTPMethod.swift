/// What a method promises (RFC 9110, section 9.2).
package enum HTTPMethod {
    /// Whether sending it twice is the same as once.
    package static func isIdempotent(_ method: String) -> Bool {
        switch method {
        case "GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "MKCOL", "COPY", "MOVE": true
        default: false
        }
    }
}
