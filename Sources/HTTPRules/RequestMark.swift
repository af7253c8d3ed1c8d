import Digests
package import TransferModel

/// A request as its answer depends on it: who asked, and whatever of its headers the answer says it looked at.
///
/// What is kept of an answer counts only for a request that is the same in both: one user's validators would keep one
/// user's file for another, and a half-done file of one would be completed with bytes of the other.
package struct RequestMark: Sendable {
    /// As the job wrote them, as far as they go to this place.
    private let typed: [HeaderField]
    /// All that goes out: cookies and what says who asks too.
    private let sent: [HeaderField]
    /// Who asks, where that is proven by a certificate or by a connection, or said by a cookie that the job presets.
    private let proof: String?

    package init(typed: [HeaderField] = [], sent: [HeaderField] = [], proof: String? = nil) {
        self.typed = typed
        self.sent = sent
        self.proof = proof
    }

    /// What may be written down of it, beside the answer with these headers: a keyed digest, for it is made of secrets. The
    /// key lies beside it, so that no two are alike. `nil` where nobody says who asks and the answer depends on nothing.
    package func text(answer: HeaderBlock, key: @autoclosure () -> UInt64) -> String? {
        let names = Self.names(answer)
        let who = who
        guard who != nil || !names.isEmpty else { return nil }
        let key = String(key(), radix: 16)
        return "\(key) \(digest(who, names, key)) \(names.joined(separator: ","))"
    }

    /// Whether an answer that was kept with `text` is one to this request too.
    package func fits(_ text: String?) -> Bool {
        guard let text else { return who == nil }
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return false }
        let names = parts[2].split(separator: ",").map { String($0) }
        return digest(who, names, String(parts[0])) == parts[1]
    }

    // MARK: Who

    /// `nil` for nobody. The cookies that a session collects are counted only where the answer says that it looks at them:
    /// they change with each visit, and most say nothing of who asks.
    private var who: [String]? {
        var who = proof.map { [$0] } ?? []
        for field in sent where field.isNamed("authorization") {
            who += ["authorization", Self.constant(field.value.revealed)]
        }
        who += Self.keys(typed)
        return who.isEmpty ? nil : who
    }

    /// What the job itself writes to show who asks, beside `Authorization`: cookies, and whatever is made of a secret.
    package static func keys(_ typed: [HeaderField]) -> [String] {
        var keys: [String] = []
        for field in typed {
            guard field.isNamed("cookie") || field.value.isSecret, !field.isNamed("authorization") else { continue }
            keys += [field.name.lowercased(), field.value.revealed]
        }
        return keys
    }

    /// What of a proof stays the same from request to request.
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

    /// In lower case. What a job accepts is held against `Revalidation.shape`, and who asks counts in any case.
    private static func names(_ answer: HeaderBlock) -> [String] {
        var names: Set<String> = []
        for member in answer.members("vary") {
            let name = String(member).lowercased()
            if name == "authorization" || name.hasPrefix("accept") || name.contains(" ") { continue }
            names.insert(name)
        }
        // Whoever names so many means everything.
        return names.contains("*") || names.count > 16 ? ["*"] : names.sorted()
    }

    private static let conditions: Set<String> = ["range", "if-range", "if-none-match", "if-modified-since"]

    private func digest(_ who: [String]?, _ names: [String], _ key: String) -> String {
        var bytes: [UInt8] = []
        // No text holds these bytes: what ends here cannot go on there.
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
