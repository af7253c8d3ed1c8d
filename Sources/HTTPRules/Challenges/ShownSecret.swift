import TextFormats
package import TransferModel

/// The secret of a credential, ready to be sent by one method or another.
package enum ShownSecret: Hashable, Sendable {
    case password(user: SecretText, password: SecretText)
    case token(SecretText)

    /// Whether both have the same text, whatever it was composed of.
    func isSame(as other: ShownSecret) -> Bool {
        switch (self, other) {
        case (.password(let user, let password), .password(let otherUser, let otherPassword)):
            user.revealed.isExactly(otherUser.revealed) && password.revealed.isExactly(otherPassword.revealed)
        case (.token(let token), .token(let other)): token.revealed.isExactly(other.revealed)
        case (.password, .token), (.token, .password): false
        }
    }

    /// The name of the first secret in it that must not go to `origin`, or `nil`.
    func secretBarred(from origin: Origin) -> String? {
        switch self {
        case .password(let user, let password): user.secretBarred(from: origin) ?? password.secretBarred(from: origin)
        case .token(let token): token.secretBarred(from: origin)
        }
    }

    /// Whether the method can send the secret: a colon ends a user's name in Basic, and control characters would end a
    /// header line.
    func isShowable(by method: AuthenticationMethod) -> Bool {
        switch self {
        case .password(let user, let password):
            let (user, password) = (user.revealed, password.revealed)
            guard method != .bearer, Self.isPrintable(user), Self.isPrintable(password) else { return false }
            return method != .basic || !user.utf8.contains(UInt8(ascii: ":"))
        case .token(let token):
            return method == .bearer && token.revealed.utf8.allSatisfy { (0x21...0x7E).contains($0) }
                && !token.revealed.isEmpty
        }
    }

    static func isPrintable(_ text: String) -> Bool { text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }

    /// The value for `Basic` (RFC 7617, in UTF-8 whether the server announces that or not) or `Bearer` (RFC 6750).
    var plainAuthorization: SecretText {
        switch self {
        case .password(let user, let password):
            Self.field("Basic", Base64.encode("\(user.revealed):\(password.revealed)".utf8))
        case .token(let token):
            Self.field("Bearer", token.revealed, named: token.secretNames.first ?? "credential")
        }
    }

    /// The name, which no job can give a secret, of a token that a server gave and gives anew.
    package static let accessToken = "access token"

    /// A header value in which everything after the scheme's name counts as secret.
    static func field(_ scheme: String, _ secret: String, named name: String = "credential") -> SecretText {
        SecretText(pieces: [.literal("\(scheme) "), .secret(name: name, value: secret, hosts: nil)])
    }
}

extension ShownSecret {
    /// Returns what gives access in a header of the job whose name says that it holds credentials: everything after the
    /// scheme's name and the password in Basic, the values of cookies, the whole of any other.
    package static func texts(in header: HeaderField, _ names: CredentialNames) -> [String] {
        guard names.isHeader(header.name) else { return [] }
        switch header.name.lowercased() {
        case "authorization", "proxy-authorization": return authorization(header.value.revealed)
        case "cookie": return cookies(header.value.revealed)
        default: return header.value.isSecret ? [] : [header.value.revealed]
        }
    }

    private static func authorization(_ value: String) -> [String] {
        let words = value.split(separator: " ", maxSplits: 1)
        guard words.count == 2 else { return [value] }
        let shown = String(words[1])
        guard words[0].lowercased() == "basic", let pair = Base64.decode(shown),
            let colon = pair.firstIndex(of: UInt8(ascii: ":"))
        else { return [shown] }
        return [shown, String(decoding: pair[(colon + 1)...], as: UTF8.self)]
    }

    private static func cookies(_ value: String) -> [String] {
        value.split(separator: ";").compactMap { pair in
            pair.firstIndex(of: "=").map { String(pair[pair.index(after: $0)...]) }
        }
    }

    /// Reads the user and password before a URL's host, escapes undone; `nil` when they are no text.
    package init?(userInformation: String) {
        let parts = userInformation.utf8.split(
            separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        let texts = parts.map { PercentEncoding.decode(String(decoding: $0, as: UTF8.self)) }
        guard let first = texts.first, let user = first, !user.isEmpty || texts.count == 2 else { return nil }
        guard texts.count == 2 else {
            self = .password(user: SecretText(user), password: "")
            return
        }
        guard let password = texts[1] else { return nil }
        self = .password(
            user: SecretText(user),
            password: SecretText(pieces: [.secret(name: "password", value: password, hosts: nil)]))
    }

    /// Makes a secret of a user and password found at run time, which no output may show.
    package static func found(user: String, password: String) -> ShownSecret {
        .password(
            user: SecretText(user),
            password: SecretText(pieces: [.secret(name: "password", value: password, hosts: nil)]))
    }
}
