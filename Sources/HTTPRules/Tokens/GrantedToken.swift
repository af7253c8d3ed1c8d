import TextFormats
package import TransferModel

/// An access token that a server gave, and until when it is good.
package struct GrantedToken: Hashable, Sendable {
    /// The access token.
    package let text: String
    /// Refresh token that takes the place of the one that was shown; `nil` where that stays.
    package let refreshToken: String?
    /// When another one is to be asked for; `nil` where the server names no end.
    package let renewAt: Instant?

    /// Bytes of an answer that are read, at most.
    package static let longest: Int64 = 64 << 10
    /// Bytes of a token, at most: servers take no longer header.
    static let longestToken = 16 << 10
    /// A token is not used for its last minute: what it is sent with may take that long to get there.
    private static let margin = TimeSpan.seconds(60)
    /// A longer life is as good as this one, and can be counted with.
    private static let longestLife = TimeSpan.seconds(365 * 86_400)

    /// Reads a token server's answer (RFC 6749, section 5).
    ///
    /// - Parameter asked: when the request was sent. The token may be that old.
    package init(status: Int, _ body: [UInt8], asked: Instant) throws(TokenRefusal) {
        let answer = try TokenRefusal.object(status: status, body)
        guard let token = answer["access_token"] else { throw TokenRefusal("its answer holds no `access_token`") }
        if let type = answer["token_type"], type != .null {
            guard case .string(let name) = type, name.lowercased() == "bearer" else {
                throw TokenRefusal("its answer holds a token that is not of the type `Bearer`")
            }
        }
        text = try Self.token(token, "access_token")
        refreshToken =
            switch answer["refresh_token"] {
            case nil, .null?, .string("")?: nil
            case let token?: try Self.token(token, "refresh_token")
            }
        renewAt = Self.lifetime(answer["expires_in"]).map { life in
            // One that is short is used for half of its life.
            asked + TimeSpan(nanoseconds: life.nanoseconds - min(Self.margin.nanoseconds, life.nanoseconds / 2))
        }
    }

    /// Whether another token is to be asked for.
    package func isDue(at now: Instant) -> Bool { renewAt.map { $0 <= now } ?? false }

    private static func token(_ value: JSONValue, _ name: String) throws(TokenRefusal) -> String {
        guard case .string(let text) = value, !text.isEmpty else {
            throw TokenRefusal("`\(name)` of its answer is no text")
        }
        guard text.utf8.count <= longestToken else {
            throw TokenRefusal("`\(name)` of its answer is longer than \(longestToken >> 10) KiB")
        }
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw TokenRefusal("`\(name)` of its answer holds a character that no token may have")
        }
        return text
    }

    /// Seconds, for some servers in quotation marks. What is no number says nothing, and what is below zero is over.
    private static func lifetime(_ value: JSONValue?) -> TimeSpan? {
        let text: String
        switch value {
        case .number(let number): text = number
        case .string(let words): text = words
        default: return nil
        }
        guard let seconds = Double(text), !seconds.isNaN else { return nil }
        let longest = Double(longestLife.nanoseconds) / 1e9
        return TimeSpan(nanoseconds: Int64(min(max(seconds, 0), longest) * 1e9))
    }
}

extension GrantedToken {
    /// Reads the answer with GitHub Actions' OIDC token.
    package static func assertion(status: Int, _ body: [UInt8]) throws(TokenRefusal) -> String {
        let answer = try TokenRefusal.object(status: status, body)
        guard let value = answer["value"] else { throw TokenRefusal("its answer holds no `value`") }
        return try token(value, "value")
    }

    /// Reads the assertion in a file: one line, without the line break at its end.
    package static func assertion(file bytes: [UInt8]) throws(TokenRefusal) -> String {
        let isBlank = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) }
        let end = bytes.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? 0
        let start = bytes.firstIndex { !isBlank($0) } ?? 0
        guard start < end else { throw TokenRefusal("the file is empty") }
        let text = String(decoding: bytes[start..<end], as: UTF8.self)
        guard text.utf8.count <= longestToken, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw TokenRefusal("the file does not hold one token")
        }
        return text
    }
}

extension GrantedToken: CustomStringConvertible, CustomReflectable {
    package var description: String { "a token" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Why a server gave no token.
package struct TokenRefusal: Error, Hashable, Sendable {
    /// What it answered, in words that follow its URL in a message. What it said itself is marked as foreign.
    package let words: String
    /// The status, where it may be another one later; `nil` where the answer stays what it is.
    package let status: Int?
    /// Whether the server refuses this client itself, so that to ask again would only count as a wrong password.
    package let isOfClient: Bool

    init(_ words: String, status: Int? = nil, isOfClient: Bool = false) {
        self.words = words
        self.status = status
        self.isOfClient = isOfClient
    }

    /// The answer is longer than a token's can be.
    package static let tooLong = TokenRefusal("it answered with more than \(GrantedToken.longest >> 10) KiB")

    /// Returns the object of an answer that grants something.
    fileprivate static func object(status: Int, _ body: [UInt8]) throws(TokenRefusal) -> JSONValue {
        let limits = JSONParser.Limits(bytes: Int(GrantedToken.longest), depth: 16, values: 4_096)
        let answer = try? JSONParser.parse(body, limits: limits)
        let later = mayPass(status) ? status : nil
        // Some servers refuse with 200.
        if case .string(let code)? = answer?["error"], answer?["access_token"] == nil {
            throw TokenRefusal(refusal(code, answer), status: later, isOfClient: later == nil)
        }
        guard (200..<300).contains(status) else {
            let why = (300..<400).contains(status) ? ", and a request for a token follows no redirect" : ""
            let isOfClient = later == nil && (400..<500).contains(status)
            throw TokenRefusal(StatusReason.text(status) + why, status: later, isOfClient: isOfClient)
        }
        guard let answer, case .object = answer else { throw TokenRefusal("its answer is no JSON object") }
        return answer
    }

    private static func refusal(_ code: String, _ answer: JSONValue?) -> String {
        let words = "it says \(ForeignText.quoted(ServerWords.onOneLine(code) ?? ""))"
        guard case .string(let more)? = answer?["error_description"], let said = ServerWords.onOneLine(more) else {
            return words
        }
        return "\(words): \(ForeignText.said(said))"
    }

    /// Whether the server's trouble is not with what it was shown.
    private static func mayPass(_ status: Int) -> Bool { status >= 500 || status == 429 || status == 408 }
}
