package import TransferModel

extension CookieJar {
    /// Adds the cookies that the job sets; they replace those of an earlier run with the same identity, until a server
    /// sends new ones. Returns the presets that cannot be cookies, by their index.
    package mutating func add(
        _ presets: [CookieConfiguration.Preset], at now: WallTime
    ) -> [(index: Int, refusal: CookieRefusal)] {
        var refused: [(index: Int, refusal: CookieRefusal)] = []
        for (index, preset) in presets.enumerated() {
            do throws(CookieRefusal) {
                let cookie = try Cookie(preset, at: now)
                replace(with: cookie, at: now)
            } catch {
                refused.append((index, error))
            }
        }
        return refused
    }

    /// Puts a cookie of the job in place of the one with its id, as a newcomer. The store keeps that one: a run of
    /// another job file gets it again.
    mutating func replace(with cookie: Cookie, at now: WallTime) {
        let old = removeEntry(cookie.id)
        if cookie.isExpired(at: now) { return }
        put(cookie, isStored: old?.isStored == true, at: now)
        makeRoom(for: cookie, at: now)
    }
}

extension CookieJar {
    /// Returns why a preset of the job cannot be a cookie, or `nil`.
    package static func refusal(of preset: CookieConfiguration.Preset) -> CookieRefusal? {
        do throws(CookieRefusal) {
            _ = try Cookie(preset, at: WallTime(nanoseconds: 0))
            return nil
        } catch {
            return error
        }
    }
}

extension Cookie {
    /// Applies the rules for cookies from servers, as far as they concern the sent value, and rejects mistakes in the
    /// job.
    init(_ preset: CookieConfiguration.Preset, at now: WallTime) throws(CookieRefusal) {
        let value = preset.value.revealed
        _ = try SetCookie.checked(name: Array(preset.name.utf8)[...], value: Array(value.utf8)[...])
        let separator = UInt8(ascii: ";")
        guard !preset.name.utf8.contains(where: { $0 == separator || $0 == UInt8(ascii: "=") }),
            !value.utf8.contains(separator), !preset.path.utf8.contains(separator)
        else { throw .separator }
        // The default path `/` would send the cookie to more paths than the job says.
        guard preset.path.utf8.first == UInt8(ascii: "/") else { throw .relativePath }
        let isHostOnly = preset.domain.utf8.first != UInt8(ascii: ".")
        let host = try Self.host(isHostOnly ? preset.domain : String(preset.domain.dropFirst()))
        if !isHostOnly, !host.isAddress, PublicSuffixes.contains(host.name) { throw .publicSuffix }
        self.init(
            name: preset.name, value: Self.allSecret(preset.value, of: preset.name), domain: host.name,
            isHostOnly: isHostOnly || host.isAddress, path: preset.path, expires: preset.expires,
            created: now, lastUsed: now)
        isSecure = preset.secure
        isPreset = true
        try checkPrefix(namesPath: true)
    }

    private static func host(_ name: String) throws(CookieRefusal) -> CookieHost {
        guard let host = HostName.ipv6(name) ?? HostName.ascii(name) else { throw .noHost }
        return CookieHost(name: host)
    }

    /// Marks the literal parts of a preset as secret too; the job's secrets stay bound to their hosts.
    private static func allSecret(_ value: SecretText, of name: String) -> SecretText {
        let pieces = value.pieces.flatMap { piece in
            if case .literal(let text) = piece { secret(text, of: name).pieces } else { [piece] }
        }
        return SecretText(pieces: pieces)
    }
}
