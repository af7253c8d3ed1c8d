import TransferModel

/// Names whose values are secrets: those that are masked in all that is shown, and others by the words in them.
enum SecretNames {
    private static let known = CredentialNames(query: ["pass", "pw", "otp"])
    /// Ends of a name, whatever stands before them.
    private static let ends = [
        "token", "secret", "password", "passwd", "passphrase", "apikey", "accesskey", "secretkey",
    ]
    /// Words that make a name one of a credential, but before `notSecret`: `PASSWORD_PROD`, `APP_SECRET_VALUE`.
    private static let words: Set<String> = ["password", "passwd", "passphrase", "secret", "token"]
    /// Last words after which a name tells something about a credential.
    private static let notSecret: Set<String> = [
        "file", "path", "dir", "url", "uri", "endpoint", "host", "count", "length", "len", "size", "min", "max", "hint",
        "policy", "name", "type", "age", "ttl", "expiry", "expires", "expiration", "in", "at", "field", "header",
        "limit",
        "usage", "status", "enabled", "required", "strength", "rules", "format", "prefix", "algorithm", "manager",
        "store",
        "address", "symbol", "amount", "balance", "price", "decimals", "budget", "index",
    ]
    /// Last words of a credential's name that has a word before them: `GH_PAT`, `DB_PWD`.
    private static let lastWords: Set<String> = ["pass", "pwd", "pat", "otp"]
    /// Words that end in `pass` and are none.
    private static let notPass = [
        "compass", "bypass", "trespass", "overpass", "underpass", "surpass", "multipass", "firstpass", "lowpass",
        "highpass",
    ]
    /// Words before `key` that make a field or a variable a credential: `private_key`, `SharedKey`.
    private static let keys: Set<String> = [
        "private", "license", "licence", "shared", "api", "access", "secret", "auth", "app", "application",
        "encryption",
        "signing", "master", "service", "account", "storage", "subscription", "consumer", "client", "deploy", "webhook",
        "hmac", "ssh", "admin",
    ]
    /// Words before `key` with which a header gives access to nothing.
    private static let openKeys: Set<String> = [
        "idempotency", "cache", "surrogate", "websocket", "partition", "sort", "routing", "public", "object", "primary",
        "row", "dedup", "deduplication", "message", "meta",
    ]
    /// Schemes of `Authorization`, which mark a credential in a header of any name.
    private static let schemes: Set<String> = ["bearer", "basic"]

    static func isHeader(_ name: String) -> Bool {
        if known.isHeader(name) || endsLikeOne(name) { return true }
        let words = words(in: name)
        let isKey = words.last == "key" && words.count > 1 && !openKeys.contains(words[words.count - 2])
        return isKey || words.last == "pass" || isOne(words)
    }

    /// Whether a query parameter, a field of a form or a member of a JSON body is one; of `user[password]` the inner name.
    static func isField(_ name: some StringProtocol) -> Bool {
        let parts = Percent.decoded(String(name)).split { $0 == "[" || $0 == "]" }
        guard let name = parts.last else { return false }
        return known.concern("?\(name)=x") || endsLikeOne(name) || isOne(words(in: String(name)))
    }

    /// Whether the value of a header begins with a scheme of `Authorization`, and a credential follows.
    static func hasScheme(_ value: String) -> Bool {
        let scheme = value.prefix { $0 != " " }
        return scheme.count < value.count && schemes.contains(scheme.lowercased())
    }

    private static func endsLikeOne(_ name: some StringProtocol) -> Bool {
        let letters = name.lowercased().filter { $0.isLetter }
        return ends.contains { letters.hasSuffix($0) }
    }

    private static func isOne(_ words: [String]) -> Bool {
        guard let last = words.last else { return false }
        if !notSecret.contains(last), words.contains(where: { Self.words.contains($0) }) { return true }
        if words.count > 1 {
            if lastWords.contains(last) { return true }
            if last == "key", keys.contains(words[words.count - 2]) { return true }
        }
        return last.hasSuffix("pass") && last != "pass" && !notPass.contains { last.hasSuffix($0) }
    }

    /// The words of a name in lower case: `SMTP_PASS` and `smtpPass` have two.
    static func words(in name: String) -> [String] {
        var words: [String] = []
        var previous: Character?
        for character in name {
            guard character.isLetter || character.isNumber else {
                previous = nil
                continue
            }
            let begins = previous == nil || character.isUppercase && previous?.isLowercase == true
            if begins { words.append("") }
            words[words.count - 1] += character.lowercased()
            previous = character
        }
        return words
    }
}
