/// Where a download goes that an object store is to hold: `to: s3://bucket/key`. Its file is fetched and verified on
/// this machine first, and then put there.
package struct ObjectPlace: Hashable, Sendable {
    /// `s3://bucket/key`; captured values may stand in the key.
    package var name: SecretText
    /// The store that holds the bucket.
    package let store: ObjectStore
    /// What is done when the object is there already.
    package let existing: ExistingPolicy
    /// The keys that sign requests to the store, in the order of the job.
    package let credentials: [Credential]
    /// The task's `x-amz-…` headers, which are for the store and not for the server that the file comes from.
    package let headers: [HeaderField]

    package init(
        name: SecretText, store: ObjectStore, existing: ExistingPolicy, credentials: [Credential],
        headers: [HeaderField] = []
    ) {
        self.name = name
        self.store = store
        self.existing = existing
        self.credentials = credentials
        self.headers = headers
    }

    /// The URL as text, by which two objects are told apart; `nil` while captured values are missing.
    package var address: String? { name.awaitsCapture ? nil : (try? url())?.text }

    /// Decides whether a `to` names an object.
    package static func isMeant(by to: String) -> Bool { to.hasPrefix("s3://") }

    /// Returns the URL of the object; call once captured values are filled in.
    package func url() throws(TransferError) -> ResourceURL {
        do throws(ObjectName.Problem) {
            return try store.url(of: try ObjectName(name.revealed))
        } catch {
            throw TransferError(.badURL, "`\(name.redacted)` \(error.message)")
        }
    }
}

/// A bucket and a key in it, as `s3://bucket/key` names them.
package struct ObjectName: Hashable, Sendable {
    /// The name of the bucket.
    package let bucket: String
    /// The key of the object, not encoded.
    package let key: String

    /// Why a text names no object.
    package struct Problem: Error, Hashable {
        /// What is wrong, as the end of a sentence that begins with the text.
        package let message: String
        /// What would be right.
        package let hint: String
    }

    /// Longest key in bytes that the stores take.
    private static let longestKey = 1024

    package init(_ text: String) throws(Problem) {
        let rest = text.dropFirst("s3://".count)
        let bucket = rest.prefix { $0 != "/" }
        let isBucket =
            (3...63).contains(bucket.utf8.count)
            && bucket.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte) || "-._".utf8.contains(byte)
            }
        guard isBucket, !bucket.hasPrefix("."), !bucket.contains("..") else {
            throw Problem(
                message: "names no bucket",
                hint: "write `s3://bucket/key`; a bucket has 3 to 63 letters, digits and `-.`")
        }
        let key = rest.dropFirst(bucket.count + 1)
        if key.isEmpty || key.hasSuffix("/") {
            throw Problem(
                message: "names no object: the key is missing or ends in `/`",
                hint: "write all of the key: an object has no name but that")
        }
        let segments = key.split(separator: "/", omittingEmptySubsequences: false)
        if let dots = segments.first(where: { $0 == "." || $0 == ".." }) {
            throw Problem(
                message: "has a `\(dots)` as a part of the key",
                hint: "leave it out: it is removed on the way to a store")
        }
        if key.utf8.count > Self.longestKey || key.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            throw Problem(
                message: "has a key that no store takes",
                hint: "a key has up to \(Self.longestKey) bytes and no control characters")
        }
        (self.bucket, self.key) = (String(bucket), String(key))
    }
}

/// A store of objects that speaks the protocol of S3.
package enum ObjectStore: Hashable, Sendable {
    /// Amazon's own, in a region.
    case amazon(region: String)
    /// Any, at the URL below which its buckets are. A host that begins with the bucket's name is that bucket alone.
    case at(ResourceURL)

    /// Returns the URL of an object.
    package func url(of object: ObjectName) throws(ObjectName.Problem) -> ResourceURL {
        let base = base(of: object.bucket)
        let text = base + "/" + PercentEncoding.encode(object.key, keepingSlash: true)
        do throws(URLProblem) {
            return try ResourceURL.parse(text)
        } catch {
            throw ObjectName.Problem(message: "gives no URL: \(error.message)", hint: "another key")
        }
    }

    private func base(of bucket: String) -> String {
        switch self {
        case .amazon(let region):
            let host = "s3.\(region).amazonaws.com" + (region.hasPrefix("cn-") ? ".cn" : "")
            // The certificate is for one label below the host.
            return bucket.contains(".") ? "https://\(host)/\(bucket)" : "https://\(bucket).\(host)"
        case .at(let url):
            let text = url.text.hasSuffix("/") ? String(url.text.dropLast()) : url.text
            return url.host.hasPrefix(bucket.lowercased() + ".") ? text : text + "/" + bucket
        }
    }
}

extension Credential {
    /// The object store that the key signs for; `nil` for any other credential. Without an `endpoint`, a `host` that
    /// names one server is that server, and any other is Amazon's in the key's region.
    package var objectStore: ObjectStore? {
        guard case .aws(_, _, _, let region, let service) = source, service == "s3", !isForProxy else { return nil }
        if let endpoint { return .at(endpoint) }
        guard let host, let server = host.server else { return .amazon(region: region) }
        let isHere = server.hasPrefix("127.") || server.hasPrefix("localhost") || server.hasPrefix("[::1]")
        return (try? ResourceURL.parse("\(isHere ? "http" : "https")://\(server)")).map { .at($0) }
    }
}
