import Glibc

/// Names of headers and of query parameters whose values give access to something: what is shown has `***` in the place
/// of these values, whether or not the job declares them as secrets.
///
/// Letter case, `-`, `_` and `.` make no other name: `X-Api-Key`, `x_api_key` and `xApiKey` are one. What is sent, cached
/// and stored is not changed.
///
/// A class, since each event passes it on: one reference is copied then.
package final class CredentialNames: Sendable {
    /// The names that are known without a word of the job.
    package static let standard = CredentialNames()

    private let headers: NameSet
    private let parameters: NameSet

    /// Makes the standard names with those that a job adds.
    package init(addingHeaders headers: [String] = [], query: [String] = []) {
        self.headers = NameSet(Self.headerNames + headers)
        parameters = NameSet(Self.parameterNames + query)
    }

    private init(_ one: CredentialNames, _ other: CredentialNames) {
        headers = one.headers.union(other.headers)
        parameters = one.parameters.union(other.parameters)
    }

    /// Returns the names of both.
    package func union(_ other: CredentialNames) -> CredentialNames { CredentialNames(self, other) }

    private static let headerNames = [
        "authorization", "proxy-authorization", "cookie", "cookie2", "set-cookie", "set-cookie2",
        "api-key", "x-api-key", "x-api-token", "api-token", "x-auth-token", "auth-token", "x-auth-key",
        "x-access-token", "access-token", "x-access-key", "x-secret-key", "x-client-secret", "x-refresh-token",
        "x-id-token", "x-session-token", "x-session-id", "x-csrf-token", "x-xsrf-token", "x-token", "token", "x-secret",
        "x-password", "private-token", "job-token", "deploy-token", "x-amz-security-token",
        "x-amz-server-side-encryption-customer-key", "x-amz-copy-source-server-side-encryption-customer-key",
        "x-goog-api-key", "x-goog-iam-authorization-token", "x-goog-encryption-key", "x-ms-encryption-key",
        "x-oss-security-token", "x-cos-security-token", "x-jfrog-art-api", "ocp-apim-subscription-key",
        "x-functions-key", "x-vault-token", "x-consul-token", "x-nomad-token", "x-gitlab-token", "x-github-token",
        "x-forwarded-access-token", "x-nuget-apikey", "x-figma-token", "x-shopify-access-token", "x-subject-token",
        "x-service-token", "x-storage-token", "x-redmine-api-key", "x-rundeck-auth-token", "x-plex-token",
        "x-honeycomb-team", "circle-token", "dd-api-key", "dd-application-key", "x-algolia-api-key",
    ]

    /// Left out on purpose: `key`, `code`, `state`, `id`, `sid`, `user`, `policy`, which mean other things more often.
    private static let parameterNames = [
        "access_token", "auth_token", "api_token", "private_token", "job_token", "deploy_token", "id_token",
        "refresh_token", "session_token", "security_token", "oauth_token", "bearer_token", "user_token", "token",
        "api_key", "x_api_key", "app_key", "auth_key", "access_key", "secret_key", "subscription_key", "secret",
        "client_secret", "app_secret", "client_assertion", "password", "passwd", "passphrase", "pwd", "auth",
        "authorization", "jwt", "session", "session_id", "jsessionid", "phpsessid", "sig", "signature", "hmac",
        "X-Amz-Signature", "X-Amz-Credential", "X-Amz-Security-Token", "X-Goog-Signature", "X-Goog-Credential",
        "X-Oss-Signature", "X-Oss-Credential", "X-Oss-Security-Token", "q-signature", "x-cos-security-token",
        "AWSAccessKeyId", "GoogleAccessId", "OSSAccessKeyId",
    ]

    // MARK: Headers

    /// Whether the header's value is masked.
    package func isHeader(_ name: String) -> Bool {
        var name = name
        return name.withUTF8 { headers.contains($0.span) }
    }

    /// Whether a line of the block has a value that is masked, whole or in part.
    package func concern(_ block: HeaderBlock) -> Bool {
        let bytes = block.bytes
        for line in block.lines {
            let name = Int(line.nameStart)..<Int(line.nameEnd)
            if headers.contains(bytes.span.extracting(name)) { return true }
        }
        return !values(in: bytes.span).isEmpty
    }

    /// Returns a header's value as it is shown.
    package func masked(_ value: String, ofHeader name: String) -> String {
        guard isHeader(name) else { return masked(value) }
        return Self.setsCookie(name) ? Self.maskedCookie(value) : "***"
    }

    private static func setsCookie(_ name: String) -> Bool {
        let name = name.lowercased()
        return name == "set-cookie" || name == "set-cookie2"
    }

    /// Returns the value of one `Set-Cookie` as `sid=***; Path=/`: the cookie's name and its attributes give no access. A
    /// text without `=` is a value alone.
    package static func maskedCookie(_ line: String) -> String {
        let bytes = line.utf8
        let end = bytes.firstIndex(of: UInt8(ascii: ";")) ?? bytes.endIndex
        let pair = bytes[..<end]
        let name = pair.firstIndex(of: UInt8(ascii: "=")).map { String(Substring(pair[...$0])) } ?? ""
        return "\(name)***\(Substring(bytes[end...]))"
    }

    // MARK: Query parameters

    /// Whether a value in the text is masked.
    package func concern(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { !values(in: $0.span).isEmpty }
    }

    /// Returns the text with `***` for the values of such parameters in each URL in it.
    package func masked(_ text: String) -> String {
        var text = text
        let clean: [UInt8]? = text.withUTF8 { bytes in
            let found = values(in: bytes.span)
            return found.isEmpty ? nil : Self.masking(found, in: bytes.span)
        }
        return clean.map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    private static func masking(_ ranges: [Range<Int>], in text: Span<UInt8>) -> [UInt8] {
        var clean: [UInt8] = []
        clean.reserveCapacity(text.count)
        var position = 0
        for range in ranges {
            for index in position..<range.lowerBound { clean.append(text[index]) }
            clean += [0x2A, 0x2A, 0x2A]
            position = range.upperBound
        }
        for index in position..<text.count { clean.append(text[index]) }
        return clean
    }

    /// Returns the places of the values that belong to such a parameter: of `NAME=VALUE` behind `?`, `&` or `#`, also where
    /// one URL stands percent-encoded in another.
    package func values(in text: Span<UInt8>) -> [Range<Int>] {
        guard Self.mayHoldParameter(text) else { return [] }
        var found: [Range<Int>] = []
        var index = 0
        while index < text.count {
            let mark = Self.mark(text, at: index)
            guard mark > 0 else {
                index += 1
                continue
            }
            let start = index + mark
            var end = start
            while end < text.count, Self.isOfName(text[end]) { end += 1 }
            let equals = Self.equals(text, at: end)
            index = end
            guard equals > 0, parameters.contains(text.extracting(start..<end)) else { continue }
            let value = end + equals..<Self.endOfValue(text, from: end + equals, isEncoded: mark == 3)
            if !value.isEmpty { found.append(value) }
            index = value.upperBound
        }
        return found
    }

    /// Whether the text has the marks of a parameter at all, which nearly none has.
    private static func mayHoldParameter(_ text: Span<UInt8>) -> Bool {
        text.withUnsafeBytes { bytes in
            func holds(_ mark: UInt8) -> Bool {
                bytes.baseAddress.map { memchr($0, Int32(mark), bytes.count) != nil } ?? false
            }
            let isBegun = holds(UInt8(ascii: "?")) || holds(UInt8(ascii: "&")) || holds(UInt8(ascii: "#"))
            return isBegun && holds(UInt8(ascii: "=")) || holds(UInt8(ascii: "%"))
        }
    }

    /// The length of the delimiter that begins a parameter there; 0 where none stands.
    private static func mark(_ text: Span<UInt8>, at index: Int) -> Int {
        switch text[index] {
        case UInt8(ascii: "?"), UInt8(ascii: "#"): return 1
        case UInt8(ascii: "&"): return isAmp(text, after: index) ? 5 : 1
        case UInt8(ascii: "%"):
            let isMark =
                isEscape("3F", text, at: index) || isEscape("26", text, at: index) || isEscape("23", text, at: index)
            return isMark ? 3 : 0
        default: return 0
        }
    }

    private static func isAmp(_ text: Span<UInt8>, after index: Int) -> Bool {
        index + 4 < text.count && text[index + 1] == UInt8(ascii: "a") && text[index + 2] == UInt8(ascii: "m")
            && text[index + 3] == UInt8(ascii: "p") && text[index + 4] == UInt8(ascii: ";")
    }

    private static func equals(_ text: Span<UInt8>, at index: Int) -> Int {
        guard index < text.count else { return 0 }
        if text[index] == UInt8(ascii: "=") { return 1 }
        return isEscape("3D", text, at: index) ? 3 : 0
    }

    /// Whether `%` and these two digits stand there.
    private static func isEscape(_ digits: StaticString, _ text: Span<UInt8>, at index: Int) -> Bool {
        guard index + 2 < text.count, text[index] == UInt8(ascii: "%") else { return false }
        return text[index + 1] == digits.utf8Start[0] && text[index + 2] & 0xDF == digits.utf8Start[1] & 0xDF
    }

    private static func isOfName(_ byte: UInt8) -> Bool { NameSet.isLetterOrDigit(byte) || NameSet.isBlurred(byte) }

    /// A value ends where a URL's next part begins, or the URL itself ends in a text. Punctuation behind a URL is the
    /// text's.
    private static func endOfValue(_ text: Span<UInt8>, from start: Int, isEncoded: Bool) -> Int {
        var end = start
        while end < text.count, !endsURL(text[end]) {
            if isEncoded, isEscape("26", text, at: end) || isEscape("23", text, at: end) { return end }
            end += 1
        }
        let isAtEndOfWord = end == text.count || text[end] <= 0x20
        while isAtEndOfWord, end > start, isPunctuation(text[end - 1]) { end -= 1 }
        return end
    }

    private static func endsURL(_ byte: UInt8) -> Bool {
        switch byte {
        case 0...0x20, 0x7F, UInt8(ascii: "&"), UInt8(ascii: "#"), UInt8(ascii: "\""), UInt8(ascii: "`"),
            UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"):
            true
        default: false
        }
    }

    private static func isPunctuation(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: ":"), UInt8(ascii: ";"), UInt8(ascii: ","), UInt8(ascii: "."), UInt8(ascii: ")"),
            UInt8(ascii: "'"), UInt8(ascii: "]"), UInt8(ascii: "}"):
            true
        default: false
        }
    }
}

// MARK: - Lines of a job file

extension CredentialNames {
    /// Keys of the job language that are such names too; what stands behind them is no credential.
    private static let keys = NameSet(["session", "signature", "auth"])

    /// Returns the places of values in a line of a job file: of `NAME: value`, and in URLs. What holds a `${…}` names a
    /// value and is none.
    package func values(inSource line: [UInt8]) -> [Range<Int>] {
        var found = values(in: line.span)
        var index = 0
        while index < line.count {
            let start = index
            while index < line.count, Self.isOfName(line[index]) { index += 1 }
            if index == start {
                index += 1
            } else if masks(line.span.extracting(start..<index)), let value = Self.value(in: line, behindKey: index),
                !Self.isSwitch(line[start..<index], line[value])
            {
                found.append(value)
                index = value.upperBound
            }
        }
        return found
    }

    /// Whether it is `secret: true`, which says that another value is one.
    private static func isSwitch(_ key: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) -> Bool {
        key.elementsEqual("secret".utf8) && ["true", "false", "null"].contains { value.elementsEqual($0.utf8) }
    }

    private func masks(_ key: Span<UInt8>) -> Bool {
        (headers.contains(key) || parameters.contains(key)) && !Self.keys.contains(key)
    }

    private static func value(in line: [UInt8], behindKey end: Int) -> Range<Int>? {
        var start = end
        if start < line.count, isQuote(line[start]) { start += 1 }
        guard start < line.count, line[start] == UInt8(ascii: ":") else { return nil }
        start += 1
        while start < line.count, line[start] == 0x20 { start += 1 }
        guard start < line.count, line[start] != UInt8(ascii: "{"), line[start] != UInt8(ascii: "[") else { return nil }
        let quote = isQuote(line[start]) ? line[start] : nil
        if quote != nil { start += 1 }
        let isInBraces = line[..<end].contains(UInt8(ascii: "{"))
        let close = line[start...].firstIndex { byte in
            quote.map { $0 == byte }
                ?? (isInBraces && (byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}")))
        }
        var last = close ?? line.count
        while quote == nil, last > start, line[last - 1] == 0x20 { last -= 1 }
        let value = start..<last
        let isReference = zip(line[value], line[value].dropFirst()).contains { $0 == (0x24, 0x7B) }
        return value.isEmpty || isReference ? nil : value
    }

    private static func isQuote(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") }
}

/// Names that are compared by their letters and digits alone. A lookup allocates nothing.
private struct NameSet: Sendable {
    /// Bit *n* is set if a name has *n* letters and digits.
    private var lengths: UInt64 = 0
    /// Letters and digits of the names, in lower case, by their number.
    private var names = [[[UInt8]]](repeating: [], count: 64)
    /// Bits for the last letters of names, by the names' first letter.
    private var ends = [UInt32](repeating: 0, count: 26)

    init(_ names: [String]) { for name in names { insert(name.utf8.filter { !Self.isBlurred($0) }.map(Self.lower)) } }

    /// A name of more than 63 letters is no known one.
    private mutating func insert(_ name: [UInt8]) {
        guard let first = name.first, let last = name.last, name.count < 64, !names[name.count].contains(name)
        else { return }
        if let first = Self.letter(first), let last = Self.letter(last) {
            ends[first] |= 1 << UInt32(last)
        } else {
            // One with a digit there: all are compared in full.
            ends = [UInt32](repeating: .max, count: 26)
        }
        lengths |= 1 << UInt64(name.count)
        names[name.count].append(name)
    }

    func union(_ other: NameSet) -> NameSet {
        var union = self
        for name in other.names.joined() { union.insert(name) }
        return union
    }

    func contains(_ name: Span<UInt8>) -> Bool {
        guard !name.isEmpty else { return false }
        // Of headers that servers send most, none passes this.
        if let first = Self.letter(name[0]), let last = Self.letter(name[name.count - 1]),
            ends[first] & (1 << UInt32(last)) == 0
        {
            return false
        }
        var count = 0
        for index in name.indices where !Self.isBlurred(name[index]) { count += 1 }
        guard count < 64, lengths & (1 << UInt64(count)) != 0 else { return false }
        for known in names[count] where Self.isSame(known, name) { return true }
        return false
    }

    private static func isSame(_ known: [UInt8], _ name: Span<UInt8>) -> Bool {
        var place = 0
        for index in name.indices where !isBlurred(name[index]) {
            if lower(name[index]) != known[place] { return false }
            place += 1
        }
        return true
    }

    static func isBlurred(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".")
    }

    static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) && byte < 0x80
    }

    private static func letter(_ byte: UInt8) -> Int? {
        let place = Int(byte | 0x20) - 0x61
        return (0..<26).contains(place) ? place : nil
    }

    private static func lower(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }
}
