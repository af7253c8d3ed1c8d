package import TransferModel

/// A stored cookie (RFC 6265bis, section 5.7), as plain values so that a store can record it field by field.
///
/// Its value is a secret. It goes into a request and a private store, and into nothing that people read: printed, a
/// cookie shows `***`.
package struct Cookie: Hashable, Sendable {
    /// The attribute for requests that another site causes. Recorded and without effect: every request of a job is the
    /// user's own, as one typed into a browser's address bar is.
    package enum SameSite: String, CaseIterable, Sendable { case unset, none, lax, strict }

    /// Name; empty for a cookie that is a value alone: `Set-Cookie: token`.
    package var name: String
    /// Value, as sent to the server.
    package var value: SecretText
    /// Domain in lower case and ASCII, without a dot at either end; an IPv6 address keeps its brackets.
    package var domain: String
    /// Whether it is sent to `domain` alone, not to the names below it.
    package var isHostOnly: Bool
    /// Path to which, and below which, the cookie is sent.
    package var path: String
    /// Time of expiry; `nil` for a cookie that ends with the session and is never written to disk.
    package var expires: WallTime?
    /// Time of arrival, which an update does not change. Ascending: cookies of one answer are a nanosecond apart.
    package var created: WallTime
    /// Time when a request last carried the cookie, at first the time of arrival.
    package var lastUsed: WallTime
    /// Whether it is sent over https only.
    package var isSecure = false
    /// The attribute for scripts in pages, without effect here; recorded for other readers of the store.
    package var isHTTPOnly = false
    /// The attribute `SameSite`, recorded without effect.
    package var sameSite = SameSite.unset
    /// Whether the job itself set the cookie. The next run gets it from the job again, so it is never written to disk.
    package var isPreset = false
    /// Whether the cookie comes from the job's cookie file and no server has replaced it since. The next run gets it
    /// from the file again.
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

    /// The identity of a cookie: a jar holds at most one of each. Compared as bytes, as servers do.
    package struct ID: Hashable, Sendable, CustomStringConvertible {
        /// Name of the cookie.
        package let name: String
        /// Domain of the cookie.
        package let domain: String
        /// Whether it is sent to `domain` alone.
        package let isHostOnly: Bool
        /// Path of the cookie.
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
            Self.combine(name, into: &hasher)
            Self.combine(path, into: &hasher)
        }

        private static func combine(_ text: String, into hasher: inout Hasher) {
            var text = text
            text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        }

        /// `sid of .example.org/shop`; the dot means that names below it are included.
        package var description: String { "\(name) of \(isHostOnly ? "" : ".")\(domain)\(path)" }
    }

    /// The cookie's identity.
    package var id: ID { ID(name: name, domain: domain, isHostOnly: isHostOnly, path: path) }

    /// Whether the cookie may be written to disk.
    package var isPersistent: Bool { expires != nil && !isPreset && !isFromFile }

    func isExpired(at now: WallTime) -> Bool { expires.map { $0 <= now } ?? false }
}

extension Cookie: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "\(name)=*** of \(isHostOnly ? "" : ".")\(domain)\(path)" }
    package var debugDescription: String { description }
    /// Hides the value from `dump` and failing tests, which read mirrors.
    package var customMirror: Mirror { Mirror(self, children: ["id": id.description]) }
}
