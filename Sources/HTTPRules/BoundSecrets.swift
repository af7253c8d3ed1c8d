package import TransferModel

/// Finds secrets that the job binds to hosts, in whatever form a server writes them into a URL of its own.
package struct BoundSecrets: Sendable {
    private var all: [(secret: KnownSecret, redactor: Redactor)] = []
    /// Length in bytes below which a secret is not searched for: a shorter one stands in many a URL by chance.
    private static let shortest = 6

    package init(_ secrets: [KnownSecret]) { add(secrets) }

    /// Adds the secrets that are bound to hosts and long enough to be searched for.
    package mutating func add(_ secrets: [KnownSecret]) {
        for secret in secrets where secret.hosts != nil && secret.value.utf8.count >= Self.shortest {
            all.append((secret, Redactor([secret], findsParts: false)))
        }
    }

    /// Whether `text`, about to be sent to `origin`, contains a secret that must not go there.
    package func bars(_ text: SecretText, from origin: Origin) -> Bool {
        !all.isEmpty && barred(Array(text.revealed.utf8), from: origin) != nil
    }

    /// Returns the name of the first secret in `url` that must not go where the URL leads, and a description of that
    /// place; `nil` without one.
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

    /// Whether it is a list in which nothing is secret by itself.
    private static func isOpenList(_ capture: CapturedValue) -> Bool {
        if case .list = capture.value { !capture.isSecret } else { false }
    }

    /// Returns the captures, each that contains a bound secret made secret itself and bound to the hosts that all
    /// secrets in it may go to. `own`: the secrets that the job declares in this answer, which it binds as it likes.
    package func binding(_ captures: [CapturedValue], but own: [KnownSecret]) -> [CapturedValue] {
        let foreign = all.filter { !own.contains($0.secret) }
        guard !foreign.isEmpty else { return captures }
        return captures.map { capture in
            var parts: Set<String> = []
            let found = foreign.filter { secret in
                let texts = ([capture.text] + capture.value.leaves).filter { secret.redactor.finds(in: Array($0.utf8)) }
                parts.formUnion(texts)
                return !texts.isEmpty
            }
            .compactMap(\.secret.hosts)
            guard !found.isEmpty else { return capture }
            let lists = found + [capture.hosts].compactMap(\.self)
            let hosts = lists.dropFirst().reduce(lists[0]) { common, more in common.filter { more.contains($0) } }
            var bound = CapturedValue(
                name: capture.name, text: capture.text, value: capture.value, isSecret: true, hosts: hosts,
                secretParts: Self.isOpenList(capture) ? parts : nil)
            bound.answers = capture.answers
            return bound
        }
    }
}
