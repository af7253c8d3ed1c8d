package import TransferModel

/// Secrets that the job binds to hosts, found in whatever form a server writes them into a URL of its own.
package struct BoundSecrets: Sendable {
    private var all: [(secret: KnownSecret, redactor: Redactor)] = []
    /// A shorter one stands in many a URL by chance.
    private static let shortest = 6

    package init(_ secrets: [KnownSecret]) { add(secrets) }

    package mutating func add(_ secrets: [KnownSecret]) {
        for secret in secrets where secret.hosts != nil && secret.value.utf8.count >= Self.shortest {
            all.append((secret, Redactor([secret])))
        }
    }

    /// The first that must not go where the URL leads and stands in it.
    package func barred(from url: ResourceURL) -> String? {
        guard !all.isEmpty else { return nil }
        let origin = url.origin
        return all.first { bound in
            bound.secret.hosts?.contains { $0.matches(origin) } == false
                && bound.redactor.finds(in: Array(url.text.utf8))
        }?.secret.name
    }
}
