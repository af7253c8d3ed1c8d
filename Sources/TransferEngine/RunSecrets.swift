import AttemptLife
import HTTPRules
import TransferModel

/// The secrets that a run knows: those of the job, and those that came up while it ran.
///
/// Three questions are asked of them: whether a text may be written down, whether a URL may be asked for, and whether a captured
/// value is bound to hosts. What is told is redacted elsewhere, by the log.
struct RunSecrets {
    /// Secrets that must not reach the cache or the store.
    private var unwritten: Redactor
    /// Secrets that tasks captured. A URL that contains one is not written down.
    private var captured = Redactor.none
    /// Secrets that may go to some hosts only.
    private(set) var bound: BoundSecrets
    /// Secrets that the log was told of in the run.
    private var learned: Set<ExactText> = []
    /// The secrets of the job, and after them those that the log was told of.
    private var known: [KnownSecret]
    /// What redacts `known`; `nil` until it is asked for, and after each new secret.
    private var logRedactor: Redactor?
    /// The rules whose secrets were looked at last: tasks that say nothing of their own share them.
    private var lastRules: AttemptRules?

    init(_ job: [KnownSecret], unwritten: Redactor?) {
        self.unwritten = unwritten ?? Redactor([])
        bound = BoundSecrets(job)
        known = job
    }

    // MARK: What comes up in the run

    /// Adds secrets that were found in an answer, however short: the job says that they are secret. Returns those that are new.
    mutating func learnCaptured(_ found: [KnownSecret]) -> [KnownSecret] {
        let news = found.filter { !$0.value.isEmpty && learned.insert(ExactText($0.value)).inserted }
        guard !news.isEmpty else { return [] }
        unwritten = unwritten.adding(news)
        bound.add(news)
        captured = captured.adding(news)
        addKnown(news)
        return news
    }

    /// Adds a password that is shown to a server. Returns it where it is new and long enough: a short word would be masked
    /// wherever it stands by chance.
    mutating func learnPassword(_ text: String) -> KnownSecret? {
        guard text.utf8.count >= 8, learned.insert(ExactText(text)).inserted else { return nil }
        let secret = KnownSecret(name: "password", value: text)
        addKnown([secret])
        return secret
    }

    private mutating func addKnown(_ news: [KnownSecret]) {
        known += news
        logRedactor = nil
    }

    /// Returns a redactor of every secret that the log redacts: text that it leaves as it is can be compared with text
    /// that an earlier run wrote down.
    mutating func ofTheLog() -> Redactor {
        if let logRedactor { return logRedactor }
        let redactor = Redactor(known)
        logRedactor = redactor
        return redactor
    }

    /// Whether the secrets in these rules have to be looked at: they are not those of the call before.
    mutating func isFirst(of rules: AttemptRules) -> Bool {
        defer { lastRules = rules }
        return lastRules !== rules
    }

    /// Whether a secret came up in the run.
    var hasLearned: Bool { !learned.isEmpty }

    // MARK: Questions

    /// Whether a captured secret is part of the URL: nothing is kept under it then.
    func areCaptured(in url: ResourceURL) -> Bool { areCaptured(in: url.text) }

    func areCaptured(in text: String) -> Bool { !captured.isEmpty && captured.finds(in: Array(text.utf8)) }

    /// Whether a secret of the job, or one that came up in the run, is part of the URL.
    mutating func areKnown(in url: ResourceURL) -> Bool { !known.isEmpty && ofTheLog().finds(in: Array(url.text.utf8)) }

    /// Whether a secret is part of the URL.
    func are(in url: ResourceURL) -> Bool { !unwritten.isEmpty && unwritten.finds(in: Array(url.text.utf8)) }

    /// Whether a secret is part of a response. Cookies are not looked at: they are masked where a response is written.
    func are(in stored: StoredResponse, body: [UInt8]) -> Bool {
        guard !unwritten.isEmpty else { return false }
        return unwritten.finds(in: stored.withoutCookies.headers.bytes) || are(in: body, stored.headers)
    }

    /// Whether a secret is part of a body, as it is written or as the text that it stands for.
    func are(in body: [UInt8], _ headers: HeaderBlock) -> Bool {
        if unwritten.isEmpty || body.isEmpty { return false }
        if unwritten.finds(in: body) { return true }
        guard let text = try? BodyText(body, charset: AnswerExamination.charset(headers)), text.wasConverted else {
            return false
        }
        return unwritten.finds(in: text.bytes)
    }
}
