package import TransferModel

/// A file of cookies in the form that Netscape's browser had and curl and wget still read and write: a line for each cookie, of
/// seven fields with tabs between them.
package enum CookieFile {
    /// No longer file is read.
    package static let longest = 4 << 20
    private static let header = "# Netscape HTTP Cookie File\n# Written by transfer-run at the end of a run.\n\n"
    private static let onlyHTTP = "#HttpOnly_"

    /// A line that is no cookie, and why. Its text is not kept: it may hold what opens a session.
    package struct BadLine: Hashable, Sendable {
        package let number: Int
        package let why: String
    }

    /// What a file says. Cookies that have ended are left out silently.
    package struct Contents: Sendable {
        package var cookies: [Cookie] = []
        package var badLines: [BadLine] = []
    }

    private enum Problem: Error {
        case fields(Int)
        case flag
        case expiry
        case refused(CookieRefusal)

        var why: String {
            switch self {
            case .fields(let count): "a cookie has 7 fields with tabs between them, and this line has \(count)"
            case .flag: "the second and the fourth field must be `TRUE` or `FALSE`"
            case .expiry: "the fifth field must be a number of seconds since 1970, or 0"
            case .refused(let refusal): refusal.why
            }
        }
    }

    package static func read(_ bytes: [UInt8], at now: WallTime) -> Contents {
        var contents = Contents()
        for (index, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            let line = line.last == 0x0D ? line.dropLast() : line
            let isHTTPOnly = line.starts(with: onlyHTTP.utf8)
            if line.first == UInt8(ascii: "#"), !isHTTPOnly { continue }
            if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) { continue }
            do throws(Problem) {
                let text = isHTTPOnly ? line.dropFirst(onlyHTTP.utf8.count) : line
                var cookie = try cookie(text, at: now)
                cookie.isHTTPOnly = isHTTPOnly
                if !cookie.isExpired(at: now) { contents.cookies.append(cookie) }
            } catch {
                contents.badLines.append(BadLine(number: index + 1, why: error.why))
            }
        }
        return contents
    }

    private static func cookie(_ line: ArraySlice<UInt8>, at now: WallTime) throws(Problem) -> Cookie {
        let fields = line.split(separator: 0x09, maxSplits: 6, omittingEmptySubsequences: false)
        // Who writes an empty value may leave its tab out.
        guard fields.count >= 6 else { throw .fields(fields.count) }
        let value = fields.count == 7 ? fields[6] : []
        let (reachesBelow, isSecure) = (try flag(fields[1]), try flag(fields[3]))
        let expires = try expiry(fields[4], at: now)
        do throws(CookieRefusal) {
            var cookie = try Cookie(
                fileDomain: fields[0], reachesBelow: reachesBelow, path: fields[2], name: fields[5], value: value,
                isSecure: isSecure, at: now)
            cookie.expires = expires
            return cookie
        } catch {
            throw .refused(error)
        }
    }

    private static func flag(_ field: ArraySlice<UInt8>) throws(Problem) -> Bool {
        if field.isWord("true") { return true }
        guard field.isWord("false") else { throw .flag }
        return false
    }

    /// `nil`: it ends with the session.
    private static func expiry(_ field: ArraySlice<UInt8>, at now: WallTime) throws(Problem) -> WallTime? {
        guard !field.isEmpty, field.count <= 20, field.allSatisfy({ (0x30...0x39).contains($0) }) else { throw .expiry }
        let most = Int64.max / 1_000_000_000
        let seconds = field.reduce(Int64(0)) { min($0 * 10 + Int64($1 - 0x30), most) }
        if seconds == 0 { return nil }
        return min(WallTime(nanoseconds: seconds * 1_000_000_000), now + SetCookie.longestAge)
    }

    // MARK: Writing

    /// The file for these cookies; what the job itself brings along is left to the job.
    package static func text(of cookies: [Cookie], at now: WallTime) -> [UInt8] {
        var text = Array(header.utf8)
        for cookie in cookies where !cookie.isPreset && !cookie.isExpired(at: now) {
            // A tab would make two fields of it. Servers may send one.
            guard !cookie.name.utf8.contains(0x09), !cookie.path.utf8.contains(0x09) else { continue }
            let seconds = cookie.expires.map { max(1, $0.nanoseconds / 1_000_000_000) } ?? 0
            let fields = [
                (cookie.isHTTPOnly ? onlyHTTP : "") + (cookie.isHostOnly ? "" : ".") + cookie.domain,
                cookie.isHostOnly ? "FALSE" : "TRUE", cookie.path, cookie.isSecure ? "TRUE" : "FALSE", "\(seconds)",
                cookie.name, cookie.value.revealed,
            ]
            text += Array((fields.joined(separator: "\t") + "\n").utf8)
        }
        return text
    }
}

extension Cookie {
    /// The rules for what servers send, as far as a file can break them: none is for all names of a public suffix.
    fileprivate init(
        fileDomain: ArraySlice<UInt8>, reachesBelow: Bool, path: ArraySlice<UInt8>, name: ArraySlice<UInt8>,
        value: ArraySlice<UInt8>, isSecure: Bool, at now: WallTime
    ) throws(CookieRefusal) {
        let (name, value) = try SetCookie.checked(name: name, value: value)
        let semicolon = UInt8(ascii: ";")
        guard !name.utf8.contains(where: { $0 == semicolon || $0 == UInt8(ascii: "=") }),
            !value.utf8.contains(semicolon), !path.contains(semicolon)
        else { throw .separator }
        guard let path = String(validating: path, as: UTF8.self) else { throw .notUTF8 }
        guard path.utf8.first == UInt8(ascii: "/") else { throw .relativePath }
        if path.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) { throw .controlCharacter }
        let bare = fileDomain.first == UInt8(ascii: ".") ? fileDomain.dropFirst() : fileDomain
        guard let domain = String(validating: bare, as: UTF8.self),
            let ascii = HostName.ipv6(domain) ?? HostName.ascii(domain)
        else { throw .noHost }
        let host = CookieHost(name: ascii)
        if reachesBelow, !host.isAddress, PublicSuffixes.contains(host.name) { throw .publicSuffix }
        self.init(
            name: name, value: Self.secret(value, of: name), domain: host.name,
            isHostOnly: !reachesBelow || host.isAddress, path: path, created: now, lastUsed: now)
        self.isSecure = isSecure
        isFromFile = true
        try checkPrefix(namesPath: true)
    }
}

extension CookieJar {
    /// Puts in what the job's file of cookies holds; it wins over what an earlier run left, until a server sends another.
    mutating func add(fromFile cookies: [Cookie], at now: WallTime) {
        for cookie in cookies {
            remove(cookie.id)
            if !cookie.isExpired(at: now) { _ = put(cookie, at: now) }
        }
    }
}
