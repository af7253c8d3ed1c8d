import Digests
import TextFormats
package import TransferModel

/// AWS Signature Version 4, with which a request proves that its sender knows a secret key.
///
/// A pure rule. It signs the request as sent, without the headers that a proxy may change on the way and those that
/// only the transport knows.
package struct AWSSignature: Hashable, Sendable {
    /// What the signature covers of the body.
    package enum Payload: Hashable, Sendable {
        /// SHA-256 of the body.
        case sha256([UInt8])
        /// Nothing: the object stores allow it, for bodies whose digest is not known in advance.
        case unsigned
    }

    /// The differences between services.
    package struct Style: Hashable, Sendable {
        /// Whether the signed path has its dot segments and doubled slashes removed; an object store's keys are signed
        /// as sent.
        package var normalizesPath: Bool
        /// Whether the signed path is percent-encoded a second time.
        package var encodesPathTwice: Bool
        /// Whether paths are keys of an object store.
        var takesKeys: Bool { !normalizesPath && !encodesPathTwice }
        /// Whether the request carries the body's digest in `X-Amz-Content-Sha256`.
        package var announcesPayload = true
        /// Whether the signature covers the session token, or the token is added afterwards.
        package var signsToken = true

        package init(normalizesPath: Bool, encodesPathTwice: Bool) {
            self.normalizesPath = normalizesPath
            self.encodesPathTwice = encodesPathTwice
        }

        /// Returns the style that a service expects, by its name.
        package static func of(service: String) -> Style {
            let isStore = AWSSignature.isObjectStore(service)
            return Style(normalizesPath: !isStore, encodesPathTwice: !isStore)
        }
    }

    /// Public id of the key.
    package let accessKey: SecretText
    /// The key itself; it signs and is never sent.
    package let secretKey: SecretText
    /// Token of temporary credentials, sent as `X-Amz-Security-Token`; `nil` for permanent ones.
    package let sessionToken: SecretText?
    /// Region in the signature's scope, such as `eu-central-1`.
    package let region: String
    /// Service in the signature's scope, such as `s3`.
    package let service: String
    /// What this service expects of the signature.
    package var style: Style

    package init(
        accessKey: SecretText, secretKey: SecretText, sessionToken: SecretText? = nil, region: String, service: String
    ) {
        self.accessKey = accessKey
        self.secretKey = secretKey
        self.sessionToken = sessionToken
        self.region = region
        self.service = service
        style = .of(service: service)
    }

    /// Whether a service stores objects under keys, as S3 does.
    package static func isObjectStore(_ service: String) -> Bool {
        ["s3", "s3express", "s3-object-lambda", "s3-outposts"].contains(service)
    }

    /// Whether a body may be sent whose digest is not known when the request is signed.
    package var maySignUnseen: Bool { Self.isObjectStore(service) }

    /// Whether the service's `ETag` may be the MD5 of an object. That of an object in a directory bucket never is, and
    /// an Object Lambda function may return any.
    package var tellsMD5: Bool {
        Self.isObjectStore(service) && service != "s3express" && service != "s3-object-lambda"
    }

    /// Returns the header fields to add to `headers` so that this request, sent at `time`, is signed.
    package func added(
        to headers: [HeaderField], method: String, url: ResourceURL, payload: Payload, at time: WallTime
    ) -> [HeaderField] {
        let stamp = Self.stamp(time)
        var added = [HeaderField(name: "X-Amz-Date", value: SecretText(stamp))]
        if style.announcesPayload {
            added.append(HeaderField(name: "X-Amz-Content-Sha256", value: SecretText(Self.text(payload))))
        }
        let token = sessionToken.map { HeaderField(name: "X-Amz-Security-Token", value: $0) }
        if let token, style.signsToken { added.append(token) }

        let signed = canonical(headers + added, url)
        let request = [
            method, path(url.path), Self.query(url.query ?? ""),
            signed.map { "\($0.name):\($0.value)\n" }.joined(), signed.map(\.name).joined(separator: ";"),
            Self.text(payload),
        ].joined(separator: "\n")
        let scope = "\(stamp.prefix(8))/\(region)/\(service)/aws4_request"
        let text = ["AWS4-HMAC-SHA256", stamp, scope, Self.hexadecimal(Self.sha256(Array(request.utf8)))]
            .joined(separator: "\n")
        let signature = Self.hexadecimal(KeyedDigest.sha256(Array(text.utf8), key: key(String(stamp.prefix(8)))))
        let names = signed.map(\.name).joined(separator: ";")
        if let token, !style.signsToken { added.append(token) }
        added.append(
            HeaderField(
                name: "Authorization",
                value: SecretText(
                    pieces: [.literal("AWS4-HMAC-SHA256 Credential=")] + accessKey.pieces + [
                        .literal("/\(scope), SignedHeaders=\(names), Signature=\(signature)")
                    ])))
        return added
    }

    /// Returns the URL in the one spelling that is signed: servers read other spellings, of `+` first of all, in
    /// different ways.
    package func spelled(_ url: ResourceURL) -> String {
        let origin = url.text.utf8.prefix(url.text.utf8.count - url.path.utf8.count - (url.query?.utf8.count ?? -1) - 1)
        let query = url.query.map { "?" + Self.spelled(query: $0) } ?? ""
        return (String(origin) ?? "") + spelled(path: url.path) + query
    }

    /// The path in the signed spelling. An object's key is one text, in which a slash has no second spelling: the
    /// stores read `%2F` as one. A dot segment in it would be removed on the way, so its dots are percent-encoded.
    private func spelled(path: String) -> String {
        guard style.takesKeys else { return "/" + Self.spelledSegments(path).joined(separator: "/") }
        return objectKey(path).split(separator: "/", omittingEmptySubsequences: false).map { segment in
            switch segment {
            case ".": "%2E"
            case "..": "%2E%2E"
            default: String(segment)
            }
        }.joined(separator: "/")
    }

    private func objectKey(_ path: String) -> String {
        path.isEmpty ? "/" : PercentEncoding.encode(bytes: PercentEncoding.decodeBytes(path), keepingSlash: true)
    }

    /// The segments without dot segments in whatever spelling: a server that removes them before it checks the
    /// signature then sees what was signed.
    private static func spelledSegments(_ path: String) -> [String] {
        let spelled = segments(path).map(spelled(segment:))
        var kept: [String] = []
        for (index, segment) in spelled.enumerated() {
            let isLast = index == spelled.count - 1
            switch segment {
            case ".": if isLast { kept.append("") }
            case "..":
                _ = kept.popLast()
                if isLast { kept.append("") }
            default: kept.append(segment)
            }
        }
        return kept
    }

    // MARK: What is signed

    /// The signing key of one day, region and service.
    private func key(_ day: String) -> [UInt8] {
        [day, region, service, "aws4_request"].reduce(Array(("AWS4" + secretKey.revealed).utf8)) {
            KeyedDigest.sha256(Array($1.utf8), key: $0)
        }
    }

    /// The signed headers, sorted by name; several lines of one name are joined.
    private func canonical(_ headers: [HeaderField], _ url: ResourceURL) -> [(name: String, value: String)] {
        var values: [String: [String]] = [:]
        for header in headers {
            let name = header.name.lowercased()
            if !Self.unsigned.contains(name) { values[name, default: []].append(Self.trimmed(header.value.revealed)) }
        }
        values["host"] = [Self.host(url)]
        return values.map { ($0.key, $0.value.joined(separator: ",")) }.sorted { $0.0 < $1.0 }
    }

    /// Headers that proxies change or the transport writes, in lower case.
    private static let unsigned: Set<String> = [
        "accept", "accept-encoding", "authorization", "connection", "cookie", "expect", "host", "te", "traceparent",
        "transfer-encoding", "upgrade", "user-agent", "via", "x-amzn-trace-id", "x-forwarded-for",
    ]

    private static func host(_ url: ResourceURL) -> String {
        let isStandard = url.port == (url.isSecure ? 443 : 80)
        return isStandard ? url.host : "\(url.host):\(url.port)"
    }

    /// The value without white space at its ends, and with one space for each white space inside.
    private static func trimmed(_ value: String) -> String {
        value.split { $0 == " " || $0.isNewline || $0 == "\t" }.joined(separator: " ")
    }

    private func path(_ path: String) -> String {
        if style.takesKeys { return objectKey(path) }
        var segments =
            style.normalizesPath ? Self.spelledSegments(path) : Self.segments(path).map(Self.spelled(segment:))
        if style.normalizesPath { segments = Self.normalized(segments) }
        let encoded = segments.map { style.encodesPathTwice ? PercentEncoding.encode($0) : $0 }
        return "/" + encoded.joined(separator: "/")
    }

    private static func segments(_ path: String) -> [String] {
        path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
    }

    private static func spelled(segment: some StringProtocol) -> String {
        PercentEncoding.encode(bytes: PercentEncoding.decodeBytes(segment))
    }

    private static func normalized(_ segments: [String]) -> [String] {
        var kept: [String] = []
        for segment in segments where !segment.isEmpty && segment != "." {
            if segment == ".." { _ = kept.popLast() } else { kept.append(segment) }
        }
        let isFolder = segments.last.map { $0.isEmpty || $0 == "." || $0 == ".." } ?? true
        return isFolder && !kept.isEmpty ? kept + [""] : kept
    }

    private static func spelled(query: String) -> String {
        query.split(separator: "&", omittingEmptySubsequences: false).map { pair in
            pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(spelled(segment:))
                .joined(separator: "=")
        }.joined(separator: "&")
    }

    private static func query(_ query: String) -> String {
        let pairs = query.split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (name: spelled(segment: parts[0]), value: parts.count > 1 ? spelled(segment: parts[1]) : "")
        }
        // Compared by bytes, because the texts are ASCII.
        return pairs.sorted { ($0.name, $0.value) < ($1.name, $1.value) }
            .map { "\($0.name)=\($0.value)" }.joined(separator: "&")
    }

    // MARK: Texts

    /// The time as `20150830T123600Z`.
    private static func stamp(_ time: WallTime) -> String {
        let seconds = time.nanoseconds / 1_000_000_000
        let days = Int(seconds / 86_400)
        let second = Int(seconds % 86_400)
        let date = CivilDate(daysSince1970: days)
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(date.year)\(two(date.month))\(two(date.day))"
            + "T\(two(second / 3600))\(two(second / 60 % 60))\(two(second % 60))Z"
    }

    private static func text(_ payload: Payload) -> String {
        switch payload {
        case .sha256(let bytes): hexadecimal(bytes)
        case .unsigned: "UNSIGNED-PAYLOAD"
        }
    }

    /// Returns the SHA-256 of bytes.
    package static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        // Every libcrypto has SHA-256, so the error cannot occur.
        (try? Checksum.of(bytes, .sha256).bytes) ?? []
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
