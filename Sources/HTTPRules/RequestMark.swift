import Digests
package import TransferModel

/// Identifies a request by what its answer depends on: the credentials it carries, and the headers that the answer's
/// `Vary` names.
///
/// A recorded answer counts only for a request that is the same in both: otherwise one user's validators would keep one
/// user's file for another, and a partial file of one would be completed with bytes of the other.
package struct RequestMark: Sendable {
    /// Header fields as the job wrote them, as far as they go to this origin.
    private let typed: [HeaderField]
    /// All header fields that go out, cookies and credentials too.
    private let sent: [HeaderField]
    /// The identity that a client certificate, a connection or an access token proves, or that a cookie preset by the
    /// job states; `nil` without one.
    private let proof: String?
    /// Which headers mean credentials.
    private let names: CredentialNames

    package init(
        typed: [HeaderField] = [], sent: [HeaderField] = [], proof: String? = nil, names: CredentialNames = .standard
    ) {
        self.typed = typed
        self.sent = sent
        self.proof = proof
        self.names = names
    }

    /// Returns the text to record beside the answer with these headers, a digest keyed with `key` because it is made of
    /// secrets; the text contains the key, so that no two are alike. `nil` when the request carries no credentials and
    /// the answer depends on no header.
    package func text(answer: HeaderBlock, key: @autoclosure () -> UInt64) -> String? {
        let names = Self.names(answer)
        let who = who
        guard who != nil || !names.isEmpty else { return nil }
        let key = String(key(), radix: 16)
        return "\(key) \(digest(who, names, key)) \(names.joined(separator: ","))"
    }

    /// Whether an answer recorded with `text` is an answer to this request too.
    package func fits(_ text: String?) -> Bool {
        guard let text else { return who == nil }
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return false }
        let names = parts[2].split(separator: ",").map { String($0) }
        return digest(who, names, String(parts[0])) == parts[1]
    }

    // MARK: Who

    /// The request's identity, `nil` without credentials. Cookies that a session collects count only where the answer's
    /// `Vary` names them: they change with each visit, and most identify no user.
    private var who: [String]? {
        var who = proof.map { [$0] } ?? []
        // An access token is another one each hour, and no other user's for that: `proof` says whose it is.
        for field in sent
        where field.isNamed("authorization") && !field.value.secretNames.contains(ShownSecret.accessToken) {
            who += ["authorization", Self.constant(field.value.revealed)]
        }
        who += Self.keys(typed, names)
        return who.isEmpty ? nil : who
    }

    /// Returns names and values of the headers, besides `Authorization`, by which the job itself states an identity:
    /// those whose names mean credentials, cookies among them, and every header made from a secret.
    package static func keys(_ typed: [HeaderField], _ names: CredentialNames) -> [String] {
        var keys: [String] = []
        for field in typed {
            guard field.value.isSecret || names.isHeader(field.name), !field.isNamed("authorization") else { continue }
            keys += [field.name.lowercased(), field.value.revealed]
        }
        return keys
    }

    /// The part of an `Authorization` value that stays the same from request to request.
    private static func constant(_ authorization: String) -> String {
        let scheme = authorization.prefix { $0 != " " }.lowercased()
        switch scheme {
        case "digest":
            let words = HeaderBlock.members(of: String(authorization.dropFirst(scheme.count))).map { String($0) }
            return words.filter { $0.hasPrefix("username") || $0.hasPrefix("realm=") }.sorted().joined(separator: ",")
        case "aws4-hmac-sha256":
            let words = HeaderBlock.members(of: String(authorization.dropFirst(scheme.count))).map { String($0) }
            let credential = words.first { $0.hasPrefix("Credential=") } ?? ""
            return String(credential.prefix { $0 != "/" })
        default: return authorization
        }
    }

    // MARK: What the answer depends on

    /// The names in the answer's `Vary`, in lower case. `Accept…` is left out because `Revalidation.shape` covers it,
    /// `Authorization` because `who` always counts.
    private static func names(_ answer: HeaderBlock) -> [String] {
        var names: Set<String> = []
        for member in answer.members("vary") {
            let name = String(member).lowercased()
            if name == "authorization" || name.hasPrefix("accept") || name.contains(" ") { continue }
            names.insert(name)
        }
        // More than 16 names count as all headers.
        return names.contains("*") || names.count > 16 ? ["*"] : names.sorted()
    }

    private static let conditions: Set<String> = ["range", "if-range", "if-none-match", "if-modified-since"]

    private func digest(_ who: [String]?, _ names: [String], _ key: String) -> String {
        var bytes: [UInt8] = []
        // No UTF-8 text holds these bytes, so the end of one text cannot be read as the beginning of the next.
        func add(_ text: String) { bytes += Array(text.utf8) + [0xFF] }
        for word in who ?? [] { add(word) }
        bytes.append(0xFE)
        for field in sent {
            let name = field.name.lowercased()
            let isLookedAt = names.contains(name) || names == ["*"] && name != "authorization"
            guard isLookedAt, !Self.conditions.contains(name) else { continue }
            add(name)
            add(field.value.revealed)
        }
        let digest = KeyedDigest.sha256(bytes, key: Array(key.utf8)).prefix(16)
        return digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
