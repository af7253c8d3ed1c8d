package import TransferModel

/// Reads and writes cookie files in Netscape's format, which curl and wget use too: a line for each cookie, of seven
/// fields separated by tabs.
package enum CookieFile {
    /// Length in bytes of the longest file that is read.
    package static let longest = 4 << 20
    private static let header = "# Netscape HTTP Cookie File\n# Written by transfer-run at the end of a run.\n\n"
    private static let onlyHTTP = "#HttpOnly_"

    /// A line that is no cookie. Its text is not included, because it may contain a session's secret.
    package struct BadLine: Hashable, Sendable {
        /// Number of the line, from 1.
        package let number: Int
        /// What is wrong with the line, for a message.
        package let why: String
    }

    /// The contents of a file, without the cookies that have expired.
    package struct Contents: Sendable {
        /// Cookies in the order of the file.
        package var cookies: [Cookie] = []
        /// Lines that are no cookies.
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

    /// Reads a file's cookies; lines that are no cookies are returned with the reason.
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
        // Writers may leave out the tab before an empty value.
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

    /// `nil` for a cookie that ends with the session.
    private static func expiry(_ field: ArraySlice<UInt8>, at now: WallTime) throws(Problem) -> WallTime? {
        guard !field.isEmpty, field.count <= 20, field.allSatisfy({ (0x30...0x39).contains($0) }) else { throw .expiry }
        let most = Int64.max / 1_000_000_000
        let seconds = field.reduce(Int64(0)) { min($0 * 10 + Int64($1 - 0x30), most) }
        if seconds == 0 { return nil }
        return min(WallTime(nanoseconds: seconds * 1_000_000_000), now + SetCookie.longestAge)
    }

    // MARK: Writing

    /// Returns the contents of a file with these cookies, except those that the job itself sets.
    package static func text(of cookies: [Cookie], at now: WallTime) -> [UInt8] {
        var text = Array(header.utf8)
        for cookie in cookies where !cookie.isPreset && !cookie.isExpired(at: now) {
            // A tab, which servers may send, would split the field in two.
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
    /// Applies the rules for cookies from servers, as far as a file can break them: no cookie may be for all names of a
    /// public suffix.
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
    /// Adds the cookies of the job's cookie file; they replace those of an earlier run, until a server sends new ones.
    mutating func add(fromFile cookies: [Cookie], at now: WallTime) {
        for cookie in cookies { replace(with: cookie, at: now) }
    }
}
