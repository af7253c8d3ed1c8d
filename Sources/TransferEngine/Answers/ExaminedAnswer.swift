import HTTPRules
import Synchronization
import TransferModel

/// An answer that is looked into, by the loop or by a delivery thread, and what was found.
final class ExaminedAnswer: Sendable {
    private let rules: AnswerRules
    private let charset: String?
    private let headers: HeaderBlock
    /// Where the answer came from: what it links to may be relative to that.
    private let url: ResourceURL?
    private let redactor: Redactor
    /// Where the body came from, for the task's end.
    let source: ResultSource
    private let found = Mutex<AnswerFindings?>(nil)

    init(
        _ rules: AnswerRules, charset: String?, headers: HeaderBlock, at url: ResourceURL?, hiding redactor: Redactor,
        source: ResultSource
    ) {
        self.url = url
        self.rules = rules
        self.charset = charset
        self.headers = headers
        self.redactor = redactor
        self.source = source
    }

    /// Gives back why it is not the one wanted, if so. `earlier`: the parts in whose place it stands, which may hold secrets.
    @discardableResult
    func examine(_ body: [UInt8], after earlier: [AnswerPart] = []) -> TransferError? {
        var findings = rules.examine(body, charset: charset, headers, at: url, hiding: redactor)
        for part in earlier {
            findings.secrets += rules.secrets(ofPart: part.body, charset: AnswerExamination.charset(part.headers))
        }
        found.withLock { $0 = findings }
        return findings.error
    }

    /// Whether anybody looked.
    var isDone: Bool { found.withLock { $0 != nil } }

    var findings: AnswerFindings { found.withLock { $0 } ?? AnswerFindings() }
}
