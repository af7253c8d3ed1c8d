package import TransferModel

/// Secrets that the job binds to hosts, found in whatever form a server writes them into a URL of its own.
package struct BoundSecrets: Sendable {
    private var all: [(secret: KnownSecret, redactor: Redactor)] = []
    /// A shorter one stands in many a URL by chance.
    private static let shortest = 6

    package init(_ secrets: [KnownSecret]) { add(secrets) }

    package mutating func add(_ secrets: [KnownSecret]) {
        for secret in secrets where secret.hosts != nil && secret.value.utf8.count >= Self.shortest {
            all.append((secret, Redactor([secret], findsParts: false)))
        }
    }

    /// Whether one that must not go there stands in a text that is about to.
    package func bars(_ text: SecretText, from origin: Origin) -> Bool {
        !all.isEmpty && barred(Array(text.revealed.utf8), from: origin) != nil
    }

    /// The first that must not go where the URL leads and stands in it, and how that place is named.
    package func barred(from url: ResourceURL) -> (secret: String, place: String)? {
        all.isEmpty ? nil : barred(Array(url.text.utf8), from: url.origin)
    }

    private func barred(_ text: [UInt8], from origin: Origin) -> (secret: String, place: String)? {
        for (secret, redactor) in all {
            guard let hosts = secret.hosts, !hosts.contains(where: { $0.matches(origin) }), redactor.finds(in: text)
            else { continue }
            return (secret.name, origin.place(outside: hosts))
        }
        return nil
    }

    /// What was captured, each value bound to where all those that stand in it may go. `own`: what the job itself calls
    /// secrets of this answer, and binds as it likes.
    package func binding(_ captures: [CapturedValue], but own: [KnownSecret]) -> [CapturedValue] {
        let foreign = all.filter { !own.contains($0.secret) }
        guard !foreign.isEmpty else { return captures }
        return captures.map { capture in
            let text = Array(capture.text.utf8)
            let found = foreign.filter { $0.redactor.finds(in: text) }.compactMap(\.secret.hosts)
            guard !found.isEmpty else { return capture }
            let lists = found + [capture.hosts].compactMap(\.self)
            let hosts = lists.dropFirst().reduce(lists[0]) { common, more in common.filter { more.contains($0) } }
            return CapturedValue(
                name: capture.name, text: capture.text, value: capture.value, isSecret: true, hosts: hosts)
        }
    }
}
