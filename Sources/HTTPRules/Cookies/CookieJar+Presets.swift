package import TransferModel

extension CookieJar {
    /// Puts in the cookies that the job brings along; they win over what an earlier run left under the same identity,
    /// until a server sends another. Returned are those that cannot be cookies, by their place in the list.
    package mutating func add(
        _ presets: [CookieConfiguration.Preset], at now: WallTime
    ) -> [(index: Int, refusal: CookieRefusal)] {
        var refused: [(index: Int, refusal: CookieRefusal)] = []
        for (index, preset) in presets.enumerated() {
            do throws(CookieRefusal) {
                let cookie = try Cookie(preset, at: now)
                remove(cookie.id)
                if !cookie.isExpired(at: now) { _ = put(cookie, at: now) }
            } catch {
                refused.append((index, error))
            }
        }
        return refused
    }
}

extension CookieJar {
    /// Why a cookie of the job cannot be one, before any jar is there.
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
    /// The rules for what servers send, as far as they concern what is sent back, and for the job's own mistakes.
    init(_ preset: CookieConfiguration.Preset, at now: WallTime) throws(CookieRefusal) {
        let value = preset.value.revealed
        _ = try SetCookie.checked(name: Array(preset.name.utf8)[...], value: Array(value.utf8)[...])
        let separator = UInt8(ascii: ";")
        guard !preset.name.utf8.contains(where: { $0 == separator || $0 == UInt8(ascii: "=") }),
            !value.utf8.contains(separator), !preset.path.utf8.contains(separator)
        else { throw .separator }
        // Taken for `/`, it would go to more paths than the job says.
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

    /// The job's secrets stay bound to their hosts; what is literal in the job file is hidden as well.
    private static func allSecret(_ value: SecretText, of name: String) -> SecretText {
        let pieces = value.pieces.flatMap { piece in
            if case .literal(let text) = piece { secret(text, of: name).pieces } else { [piece] }
        }
        return SecretText(pieces: pieces)
    }
}
