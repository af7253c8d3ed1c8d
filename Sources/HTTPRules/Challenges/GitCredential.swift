package import TransferModel

/// What is said to a git-credential helper on its standard input, and what it says back (gitcredentials(7)): lines of
/// `key=value`, then an empty one.
package enum GitCredential {
    package enum Action: String, Sendable { case get, store, erase }
    /// Longer answers are none.
    package static let longest = 64 << 10

    /// `nil` when a value cannot stand in a line: with a line break in a host or a name, one answer would pass for another.
    package static func question(_ query: CredentialQuery, secret: ShownSecret? = nil) -> [UInt8]? {
        let standard = ResourceURL.defaultPort(query.origin.scheme)
        let port = query.origin.port == standard ? "" : ":\(query.origin.port)"
        var lines = [("protocol", query.origin.scheme), ("host", query.origin.host + port)]
        if case .password(let user, let password) = secret {
            lines += [("username", user.revealed), ("password", password.revealed)]
        } else if let user = query.user {
            lines.append(("username", user))
        }
        guard lines.allSatisfy({ isOneLine($0.1) }) else { return nil }
        return Array((lines.map { "\($0.0)=\($0.1)\n" }.joined() + "\n").utf8)
    }

    package enum Answer: Hashable, Sendable {
        case secret(ShownSecret)
        /// It knows none.
        case none
        /// It knows none, and nobody else is to be asked.
        case quit
        /// It does not speak the protocol.
        case broken
    }

    /// Keys that are not known here say nothing; of a key that comes twice the last counts, as for git.
    package static func answer(_ bytes: [UInt8], to query: CredentialQuery, at now: WallTime) -> Answer {
        guard bytes.count <= longest, !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else {
            return .broken
        }
        var values: [Substring: Substring] = [:]
        for line in text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false) {
            if line.isEmpty { break }
            guard let equals = line.firstIndex(of: UInt8(ascii: "=")), !line.contains(0x0D) else { return .broken }
            values[Substring(line[..<equals])] = Substring(line[line.index(after: equals)...])
        }
        if let quit = values["quit"], quit == "1" || quit == "true" { return .quit }
        guard isMeant(values, query) else { return .none }
        if let end = values["password_expiry_utc"].flatMap({ Int64($0) }), end <= now.nanoseconds / 1_000_000_000 {
            return .none
        }
        guard let user = values["username"], let password = values["password"] else { return .none }
        return .secret(.found(user: String(user), password: String(password)))
    }

    /// A helper may say again what it was asked; what it says for another place is not for this one.
    private static func isMeant(_ values: [Substring: Substring], _ query: CredentialQuery) -> Bool {
        let standard = ResourceURL.defaultPort(query.origin.scheme)
        let port = query.origin.port == standard ? "" : ":\(query.origin.port)"
        if let scheme = values["protocol"], scheme != query.origin.scheme { return false }
        if let host = values["host"], host.lowercased() != query.origin.host + port { return false }
        if let user = query.user, let other = values["username"], other != user { return false }
        return true
    }

    private static func isOneLine(_ text: String) -> Bool {
        !text.utf8.contains { $0 == 0x0A || $0 == 0x0D || $0 == 0 }
    }
}
