package import TransferModel

/// A cookie as it is kept (RFC 6265bis, section 5.7): plain values, so that a store can write it down field by field.
///
/// Its value is a secret. It goes into a request and a private store, and into nothing that people read: printed,
/// a cookie shows `***`.
package struct Cookie: Hashable, Sendable {
    /// What a server says of requests that another site causes. Kept and not acted on: every request of a job is the
    /// user's own, as one typed into a browser's address bar is.
    package enum SameSite: String, CaseIterable, Sendable { case unset, none, lax, strict }

    /// Empty for a cookie that is a value alone: `Set-Cookie: token`.
    package var name: String
    package var value: SecretText
    /// In lower case and ASCII, without a dot at either end; an IPv6 address keeps its brackets.
    package var domain: String
    /// It goes to `domain` alone, not to the names below it.
    package var isHostOnly: Bool
    package var path: String
    /// `nil`: it ends with the session and is never written to disk.
    package var expires: WallTime?
    /// An update keeps it. Ascending in the order of arrival: cookies of one answer lie a nanosecond apart.
    package var created: WallTime
    package var lastUsed: WallTime
    package var isSecure = false
    /// For scripts in pages, of which there are none here; kept for who reads the store.
    package var isHTTPOnly = false
    package var sameSite = SameSite.unset
    /// From the job and not from a server. The next run has it from the job again, so it is never written to disk.
    package var isPreset = false
    /// From the job's file of cookies, and not sent anew by a server since. The next run has it from the file again.
    package var isFromFile = false

    package init(
        name: String, value: SecretText, domain: String, isHostOnly: Bool, path: String, expires: WallTime? = nil,
        created: WallTime, lastUsed: WallTime
    ) {
        self.name = name
        self.value = value
        self.domain = domain
        self.isHostOnly = isHostOnly
        self.path = path
        self.expires = expires
        self.created = created
        self.lastUsed = lastUsed
    }

    /// What makes two cookies the same one: a store has at most one of each. Compared as bytes, as servers do.
    package struct ID: Hashable, Sendable, CustomStringConvertible {
        package let name: String
        package let domain: String
        package let isHostOnly: Bool
        package let path: String

        package init(name: String, domain: String, isHostOnly: Bool, path: String) {
            self.name = name
            self.domain = domain
            self.isHostOnly = isHostOnly
            self.path = path
        }

        package static func == (left: ID, right: ID) -> Bool {
            left.isHostOnly == right.isHostOnly && left.domain == right.domain
                && left.name.utf8.elementsEqual(right.name.utf8) && left.path.utf8.elementsEqual(right.path.utf8)
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(domain)
            hasher.combine(name.utf8.count)
            for byte in name.utf8 { hasher.combine(byte) }
            for byte in path.utf8 { hasher.combine(byte) }
        }

        /// `sid of .example.org/shop`; the dot says that names below it are meant, too.
        package var description: String { "\(name) of \(isHostOnly ? "" : ".")\(domain)\(path)" }
    }

    package var id: ID { ID(name: name, domain: domain, isHostOnly: isHostOnly, path: path) }

    /// `self.id == id`, without making one.
    func has(_ id: ID) -> Bool {
        isHostOnly == id.isHostOnly && domain == id.domain && name.utf8.elementsEqual(id.name.utf8)
            && path.utf8.elementsEqual(id.path.utf8)
    }

    /// Whether it may go to disk.
    package var isPersistent: Bool { expires != nil && !isPreset && !isFromFile }

    func isExpired(at now: WallTime) -> Bool { expires.map { $0 <= now } ?? false }
}

extension Cookie: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "\(name)=*** of \(isHostOnly ? "" : ".")\(domain)\(path)" }
    package var debugDescription: String { description }
    /// `dump` and failing tests walk through mirrors.
    package var customMirror: Mirror { Mirror(self, children: ["id": id.description]) }
}
