package import TransferModel

/// The protocol of git-credential helpers (gitcredentials(7)): lines of `key=value`, then an empty one, in both
/// directions.
package enum GitCredential {
    /// Argument that tells the helper what to do.
    package enum Action: String, Sendable { case get, store, erase }
    /// Length in bytes of the longest answer that is accepted.
    package static let longest = 64 << 10

    /// Returns the bytes for the helper's standard input; `nil` when a value does not fit on a line: with a line break
    /// in a host or a name, one answer would pass for another.
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

    /// A helper's answer.
    package enum Answer: Hashable, Sendable {
        /// The credential.
        case secret(ShownSecret)
        /// The helper knows none.
        case none
        /// The helper knows none, and no other helper is to be asked.
        case quit
        /// The helper does not speak the protocol.
        case broken
    }

    /// Parses a helper's output. Unknown keys are ignored; of a repeated key the last counts, as for git.
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

    /// Whether the answer is for the queried place: a helper may repeat the query's keys, and an answer for another
    /// place does not count.
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
