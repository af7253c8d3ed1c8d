import Digests
package import TransferModel

/// A parsed Digest challenge (RFC 7616).
package struct DigestChallenge: Hashable, Sendable {
    /// What the digest covers, the challenge's `qop`.
    enum Protection: Hashable, Sendable {
        /// RFC 2069: no `qop`, no count, no client nonce.
        case none
        /// Method and target.
        case auth
        /// Method, target and body.
        case authInt
    }
    let algorithm: DigestAlgorithm
    /// Whether the algorithm is a `-sess` one, whose first hash includes the two nonces.
    let isSession: Bool
    /// Algorithm as the server spelled it, which the answer repeats.
    let algorithmName: String?
    let realm: String
    /// The server's nonce.
    package let nonce: String
    let opaque: String?
    let protections: Set<Protection>
    /// Whether only the nonce of the last answer was refused, not its password.
    package let isStale: Bool
    let hashesUser: Bool
    let isUTF8: Bool
    /// Other places where the server says the credential counts: unresolved references.
    let domain: [String]

    /// `nil` for a challenge that cannot be answered: unknown algorithm, no nonce, text that cannot be repeated.
    package init?(_ offer: OfferedChallenge) {
        let name = offer["algorithm"]
        guard offer.scheme == "digest", Self.obstacle(offer) == nil, let nonce = offer["nonce"],
            let realm = offer["realm"], let (algorithm, isSession) = Self.algorithm(name),
            let protections = Self.protections(offer["qop"])
        else { return nil }
        self.algorithm = algorithm
        self.isSession = isSession
        self.protections = protections
        self.realm = realm
        self.nonce = nonce
        algorithmName = name
        opaque = offer["opaque"]
        isStale = offer["stale"]?.lowercased() == "true"
        hashesUser = offer["userhash"]?.lowercased() == "true"
        isUTF8 = offer["charset"]?.lowercased() == "utf-8"
        domain = (offer["domain"] ?? "").split(separator: " ").prefix(64).map(String.init)
    }

    /// Why the challenge cannot be answered, or `nil`.
    static func obstacle(_ offer: OfferedChallenge) -> String? {
        guard let nonce = offer["nonce"], let realm = offer["realm"] else { return "it lacks a `nonce` or a `realm`" }
        if algorithm(offer["algorithm"]) == nil { return "its `algorithm` is not known here" }
        let said = [nonce, realm, offer["opaque"] ?? "", offer["algorithm"] ?? ""]
        if said.contains(where: { $0.unicodeScalars.contains("\u{FFFD}") }) {
            return "it is not in UTF-8, and would have to be repeated as it came"
        }
        if !said.allSatisfy(ShownSecret.isPrintable) { return "control characters stand in it" }
        return protections(offer["qop"]) == nil ? "its `qop` is not known here" : nil
    }

    /// The method under which a challenge that cannot be answered is reported.
    static func method(_ offer: OfferedChallenge) -> AuthenticationMethod {
        algorithm(offer["algorithm"])?.0 == .sha256 ? .digestSHA256 : .digestMD5
    }

    var method: AuthenticationMethod { algorithm == .md5 ? .digestMD5 : .digestSHA256 }

    private static func algorithm(_ name: String?) -> (DigestAlgorithm, isSession: Bool)? {
        switch name?.lowercased() ?? "md5" {
        case "md5": (.md5, false)
        case "md5-sess": (.md5, true)
        case "sha-256": (.sha256, false)
        case "sha-256-sess": (.sha256, true)
        default: nil
        }
    }

    /// `nil` when the challenge offers only unknown protections.
    private static func protections(_ text: String?) -> Set<Protection>? {
        guard let text else { return [.none] }
        let words = HeaderBlock.members(of: text).map { String($0).lowercased() }
        var known: Set<Protection> = []
        if words.contains("auth") { known.insert(.auth) }
        if words.contains("auth-int") { known.insert(.authInt) }
        if known.isEmpty, words.isEmpty { return [.none] }
        return known.isEmpty ? nil : known
    }

    /// Returns the protection to use; `auth-int` only where the challenge offers nothing else and the body is
    /// available, else `nil`.
    func protection(hasEntity: @autoclosure () -> Bool) -> Protection? {
        if protections.contains(.auth) { return .auth }
        if protections.contains(.none) { return Protection.none }
        return hasEntity() ? .authInt : nil
    }
}

/// The facts about a request that a digest covers.
package struct DigestedRequest: Sendable {
    /// Method of the request.
    package var method: String
    /// Target as in the request line.
    package var target: String
    /// Returns the whole body, empty where the request has none; `nil` when it is not available.
    package var entity: @Sendable () -> [UInt8]?

    package init(method: String, target: String, entity: @escaping @Sendable () -> [UInt8]?) {
        self.method = method
        self.target = target
        self.entity = entity
    }
}

/// A challenge and how often its nonce was used, from which the next answer is computed.
package struct DigestState: Hashable, Sendable {
    /// The challenge to answer.
    package private(set) var challenge: DigestChallenge
    /// The nonce for the next answer: the challenge's, or a later `nextnonce`.
    package private(set) var nonce: String
    /// How many answers used the nonce.
    package private(set) var count: UInt32 = 0

    package init(_ challenge: DigestChallenge) {
        self.challenge = challenge
        nonce = challenge.nonce
    }

    /// Takes over the next nonce from `Authentication-Info` (RFC 7616, section 3.5).
    package mutating func take(authenticationInfo text: String) {
        for member in HeaderBlock.members(of: text).prefix(ChallengeParser.most) {
            var parser = ChallengeParser("x " + String(member))
            guard let next = parser.challenges().first?["nextnonce"], next != nonce, !next.isEmpty,
                ShownSecret.isPrintable(next), !next.unicodeScalars.contains("\u{FFFD}")
            else { continue }
            nonce = next
            count = 0
        }
    }

    /// Returns the value of `Authorization` for one request and counts it; `nil` when the challenge cannot be answered
    /// for that request.
    package mutating func authorization(
        _ secret: ShownSecret, for request: DigestedRequest, clientNonce: String
    ) -> SecretText? {
        guard case .password(let user, let password) = secret,
            let protection = challenge.protection(hasEntity: request.entity() != nil), count < .max
        else { return nil }
        count += 1
        do throws(TransferError) {
            let answer = DigestAnswer(
                challenge: challenge, nonce: nonce, count: count, clientNonce: clientNonce, protection: protection)
            return ShownSecret.field("Digest", try answer.text(user.revealed, password.revealed, request))
        } catch {
            return nil
        }
    }
}

/// One answer to a challenge, with everything that its text is computed from.
private struct DigestAnswer {
    let challenge: DigestChallenge
    let nonce: String
    let count: UInt32
    let clientNonce: String
    let protection: DigestChallenge.Protection

    func text(_ user: String, _ password: String, _ request: DigestedRequest) throws(TransferError) -> String {
        var fields = [try userField(user)]
        fields.append("realm=\(Self.quoted(challenge.realm))")
        fields.append("nonce=\(Self.quoted(nonce))")
        fields.append("uri=\(Self.quoted(request.target))")
        if let name = challenge.algorithmName { fields.append("algorithm=\(name)") }
        if protection != .none || challenge.isSession { fields.append("cnonce=\(Self.quoted(clientNonce))") }
        if protection != .none {
            fields.append("nc=\(countText)")
            fields.append("qop=\(protectionText)")
        }
        fields.append("response=\"\(try response(user, password, request))\"")
        if let opaque = challenge.opaque { fields.append("opaque=\(Self.quoted(opaque))") }
        if challenge.hashesUser { fields.append("userhash=true") }
        return fields.joined(separator: ", ")
    }

    private func userField(_ user: String) throws(TransferError) -> String {
        if challenge.hashesUser { return "username=\"\(try hash("\(user):\(challenge.realm)"))\"" }
        // A name outside ASCII has a form of its own, known to servers that announce a charset.
        if challenge.isUTF8, !user.utf8.allSatisfy({ $0 < 0x80 }) {
            return "username*=UTF-8''\(PercentEncoding.encode(user))"
        }
        return "username=\(Self.quoted(user))"
    }

    private func response(_ user: String, _ password: String, _ request: DigestedRequest) throws(TransferError)
        -> String
    {
        var first = try hash("\(user):\(challenge.realm):\(password)")
        if challenge.isSession { first = try hash("\(first):\(nonce):\(clientNonce)") }
        var second = "\(request.method):\(request.target)"
        if protection == .authInt { second += ":\(try hash(request.entity() ?? []))" }
        let last = try hash(second)
        if protection == .none { return try hash("\(first):\(nonce):\(last)") }
        return try hash("\(first):\(nonce):\(countText):\(clientNonce):\(protectionText):\(last)")
    }

    private var protectionText: String { protection == .authInt ? "auth-int" : "auth" }

    private var countText: String {
        let digits = String(count, radix: 16)
        return String(repeating: "0", count: 8 - digits.utf8.count) + digits
    }

    private func hash(_ text: String) throws(TransferError) -> String { try hash(Array(text.utf8)) }

    private func hash(_ bytes: [UInt8]) throws(TransferError) -> String {
        let digest = try Checksum.of(bytes, challenge.algorithm)
        // The description begins with `sha256:` or `md5:`.
        return String(digest.description.utf8.drop { $0 != UInt8(ascii: ":") }.dropFirst()) ?? ""
    }

    static func quoted(_ text: String) -> String {
        var bytes: [UInt8] = [UInt8(ascii: "\"")]
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
            bytes.append(byte)
        }
        return String(decoding: bytes + [UInt8(ascii: "\"")], as: UTF8.self)
    }
}
