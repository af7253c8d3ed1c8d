package import TransferModel

/// The cookies for one request.
package struct CookieHeader: Hashable, Sendable {
    /// Value of the `Cookie` header; `nil` for no header. All cookie values in it are secrets.
    package var value: SecretText?
    /// Cookies in the header, in their order.
    package var used: [Cookie.ID] = []
    /// Cookies left out because they contain a secret that may not go to this origin, set by the job or returned by a
    /// server.
    package var withheld: [Cookie.ID] = []
}

extension CookieJar {
    /// Returns the header for a request to `url`; the cookies in it count as used now.
    ///
    /// `Secure` requires https, on loopback too: any user of a machine can listen there.
    package mutating func header(
        for url: ResourceURL, at now: WallTime, minding bound: BoundSecrets = BoundSecrets([])
    ) -> CookieHeader {
        guard !isEmpty, url.isHTTP else { return CookieHeader() }
        removeExpired(at: now)
        let origin = url.origin
        var header = CookieHeader()
        var pieces: [SecretText.Piece] = []
        for (place, cookie) in matches(url) {
            guard cookie.value.secretBarred(from: origin) == nil, !bound.bars(cookie.value, from: origin) else {
                header.withheld.append(cookie.id)
                continue
            }
            index.use(place, at: now)
            header.used.append(cookie.id)
            Self.append(cookie, to: &pieces)
        }
        header.value = pieces.isEmpty ? nil : SecretText(pieces: pieces)
        return header
    }

    /// Names and values of the job's own cookies, from the job or its cookie file, in a request to `url`; they may
    /// state the user's identity.
    func presets(for url: ResourceURL, at now: WallTime) -> [String] {
        let origin = url.origin
        return matches(url).map(\.cookie).filter {
            ($0.isPreset || $0.isFromFile) && !$0.isExpired(at: now) && $0.value.secretBarred(from: origin) == nil
        }.flatMap { [$0.name, $0.value.revealed] }
    }

    /// The cookies for a URL: longer paths first, then the order of arrival.
    private func matches(_ url: ResourceURL) -> [(place: CookieIndex.Place, cookie: Cookie)] {
        let host = CookieHost(url)
        let path = url.path
        var found: [(place: CookieIndex.Place, cookie: Cookie)] = []
        for domain in host.domains {
            for place in index.places(in: domain) {
                guard let cookie = index[place]?.cookie, !cookie.isHostOnly || host.isNamed(domain),
                    !cookie.isSecure || url.isSecure,
                    CookiePath.matches(request: path, cookie: cookie.path)
                else { continue }
                found.append((place, cookie))
            }
        }
        return found.sorted { left, right in
            let (leftLength, rightLength) = (left.cookie.path.utf8.count, right.cookie.path.utf8.count)
            return leftLength == rightLength ? Self.isEarlier(left.cookie, right.cookie) : leftLength > rightLength
        }
    }

    private static func append(_ cookie: Cookie, to pieces: inout [SecretText.Piece]) {
        let separator = pieces.isEmpty ? "" : "; "
        let start = cookie.name.isEmpty ? separator : "\(separator)\(cookie.name)="
        if !start.isEmpty { pieces.append(.literal(start)) }
        pieces += cookie.value.pieces
    }
}
