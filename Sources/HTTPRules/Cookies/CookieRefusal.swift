/// Why a cookie is not stored.
package enum CookieRefusal: Error, Hashable, Sendable, CaseIterable {
    case empty
    case controlCharacter
    case tooLong
    case notUTF8
    /// A separator inside a name, value or path: only a preset can have one.
    case separator
    /// The path of a preset does not begin with `/`.
    case relativePath
    /// The domain of a preset is no host name.
    case noHost
    case otherDomain
    case publicSuffix
    case secureOverHTTP
    case hidesSecureCookie
    case sameSiteNoneNotSecure
    case prefix

    /// The reason for people, after "the cookie was not kept: ".
    package var why: String {
        switch self {
        case .empty: "it has neither a name nor a value"
        case .controlCharacter: "it holds a control character"
        case .tooLong: "its name and value are longer than \(SetCookie.longestPair) bytes"
        case .notUTF8: "its name or value is not UTF-8"
        case .separator: "its name, value or path holds a `;`, or its name a `=`"
        case .relativePath: "its path does not begin with `/`"
        case .noHost: "its domain is no host name"
        case .otherDomain: "its domain is not that of the server"
        case .publicSuffix: "its domain is one under which everybody can register a name"
        case .secureOverHTTP: "it is `Secure` and came over http"
        case .hidesSecureCookie: "it came over http and would hide a `Secure` cookie of the same name"
        case .sameSiteNoneNotSecure: "`SameSite=None` goes with `Secure` only"
        case .prefix: "its name promises more than its attributes keep (`__Secure-`, `__Host-`)"
        }
    }
}
