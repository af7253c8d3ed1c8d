import AttemptLife
import HTTPRules
import TransferModel

/// Secrets that the job binds to hosts, found in whatever form a server writes them into a URL of its own.
struct BoundSecrets {
    private var all: [(secret: KnownSecret, redactor: Redactor)] = []
    /// A shorter one stands in many a URL by chance.
    private static let shortest = 6

    init(_ secrets: [KnownSecret]) { add(secrets) }

    mutating func add(_ secrets: [KnownSecret]) {
        for secret in secrets where secret.hosts != nil && secret.value.utf8.count >= Self.shortest {
            all.append((secret, Redactor([secret])))
        }
    }

    /// The first that must not go where the URL leads and stands in it.
    func barred(from url: ResourceURL) -> String? {
        guard !all.isEmpty else { return nil }
        let origin = url.origin
        return all.first { bound in
            bound.secret.hosts?.contains { $0.matches(origin) } == false
                && bound.redactor.finds(in: Array(url.text.utf8))
        }?.secret.name
    }
}

extension Engine {
    /// Tells the redirect that leads there, if one does. A server that was shown a secret may write it into the address
    /// that it sends us to: nobody else is to learn it from us.
    func mayFollow(_ record: RedirectRecord?, to url: ResourceURL, _ attempt: Attempt) -> Bool {
        guard let record else { return true }
        guard let barred = boundSecrets.barred(from: url) else {
            emit(.redirect(record), attempt)
            return true
        }
        emit(.redirect(record.refused), attempt)
        let reason = "the server's redirect holds the secret `\(barred)`, which must not go to \(url.host)"
        fail(attempt, TransferError(.secretBarred, reason))
        return false
    }
}
