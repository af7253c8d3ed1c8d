import AttemptLife
import Codecs
import CurlCore
import FileDelivery
import HTTPRules
package import TransferModel

/// Examines answers: what the task expects of them (`expect`) and what it captures.
package final class AnswerExamination: Participant {
    let core: EngineCore

    init(_ core: EngineCore) { self.core = core }

    /// The charset of the answer's text, as the answer names it.
    func charset(_ attempt: Attempt) -> String? {
        (attempt.exchange.mixed?.lastHeaders ?? attempt.saidHeaders).flatMap { Self.charset($0) }
    }

    /// The charset that the headers name.
    static func charset(_ headers: HeaderBlock) -> String? {
        headers.first("content-type").flatMap { MediaType($0)?.charset }
    }

    /// All of an answer is there: if it is as expected, it is the result.
    func examine(_ attempt: Attempt, charset: @autoclosure () -> String?, source: ResultSource) {
        guard let rules = attempt.rules.answer else { return accept(attempt, from: source) }
        examineBody(attempt, prepareExamination(attempt, rules, charset(), source), rules)
    }

    /// An answer whose headers are not as the job wants them: its body may not be either, and all is told in one. `false`:
    /// there is nothing more to tell.
    func examineDeclined(_ attempt: Attempt, _ miss: TransferError) -> Bool {
        guard attempt.life.missesWhatIsNamed, !attempt.isDownload, !attempt.isLookingUp, attempt.exchange.mixed == nil,
            let rules = attempt.rules.answer, rules.expectsOfBody
        else { return false }
        participants.credentials.tellChallenges(attempt)
        attempt.inspection.missedHead = miss
        examineBody(attempt, prepareExamination(attempt, rules, charset(attempt), .network), rules)
        return true
    }

    private func examineBody(_ attempt: Attempt, _ answer: ExaminedAnswer, _ rules: AnswerRules) {
        let body = attempt.lastBody
        let earlier = rules.hidesSomethingInBody ? attempt.earlierParts : []
        guard rules.isHeavy(earlier.reduce(body.count) { $0 + $1.body.count }) else {
            answer.examine(body, after: earlier)
            return examined(attempt)
        }
        // Another page may follow.
        if attempt.specification.options.values.next == nil { core.reports.append(.transferred(attempt.task)) }
        attempt.phase = .delivering
        core.outbox.add(.examine(attempt.task, look: { answer.examine(body, after: earlier) }))
    }

    /// Has a file examined before it gets its name. Returns `false` where its headers alone fail the attempt.
    func examine(_ destination: inout Destination, _ attempt: Attempt, charset: @autoclosure () -> String?) -> Bool {
        guard let rules = attempt.rules.answer else { return true }
        let answer = prepareExamination(attempt, rules, charset(), .network)
        if rules.readsBody {
            let codings = packing(attempt)
            destination.examine = Destination.Examination(most: AnswerRules.longest) { bytes in
                do throws(TransferError) {
                    return answer.examine(try Self.unpacked(bytes, codings))
                } catch {
                    return error
                }
            }
            return true
        }
        guard let miss = answer.examine([]) else { return true }
        fail(attempt, miss)
        return false
    }

    /// How the bytes of a download's file are packed that stay as they were sent.
    private func packing(_ attempt: Attempt) -> [ContentCoding] {
        guard attempt.life.codings.isEmpty, let head = attempt.exchange.head else { return [] }
        return (try? ContentEncoding.codings(head.headers)) ?? []
    }

    /// What is looked into is what the file says, however it is packed. One that is not packed as its server says is
    /// taken as it is.
    private static func unpacked(_ bytes: [UInt8], _ codings: [ContentCoding]) throws(TransferError) -> [UInt8] {
        guard !codings.isEmpty else { return bytes }
        var text: [UInt8] = []
        do throws(TransferError) {
            let decoder = try Decoder(codings, bounds: SizeBounds(maximum: AnswerRules.longest))
            try bytes.withUnsafeBytes { packed in
                Result { () throws(TransferError) in try decoder.decode(packed) { text.append(contentsOf: $0) } }
            }.get()
            try decoder.finish { text.append(contentsOf: $0) }
            return text
        } catch {
            guard error.name == .dataLengthExceedsMaximum else { return bytes }
            throw TransferError(
                .unexpectedResponse,
                "the file unpacks to more than \(AnswerRules.longest) bytes, and `expect.body` and `capture` look into no more"
            )
        }
    }

    private func prepareExamination(
        _ attempt: Attempt, _ rules: AnswerRules, _ charset: String?, _ source: ResultSource
    ) -> ExaminedAnswer {
        var headers = attempt.saidHeaders ?? .empty
        if let part = attempt.exchange.mixed?.lastHeaders { headers = Announcements.merged(headers, part) }
        let answer = ExaminedAnswer(
            rules, charset: charset, headers: headers, at: attempt.life.request.url, hiding: core.events.hiding,
            source: source)
        attempt.inspection.answer = answer
        return answer
    }

    /// Somebody has looked.
    func examined(_ attempt: Attempt) {
        guard let answer = attempt.inspection.answer else { return }
        takeFindings(attempt)
        if var miss = attempt.inspection.missedHead {
            attempt.inspection.missedHead = nil
            if let more = answer.findings.missedBody { miss.message += "; \(more)" }
            return fail(attempt, miss)
        }
        if let miss = answer.findings.error { return fail(attempt, miss) }
        accept(attempt, from: answer.source)
    }

    /// Only what is as expected answers later requests.
    private func accept(_ attempt: Attempt, from source: ResultSource) {
        participants.cache.keepAnswer(attempt)
        if participants.sentUploads.readsSentFile(attempt, source) { return }
        engine.endAttempt(attempt, Verdict(.succeeded, status: attempt.life.lastStatus), source: source)
    }

    // MARK: Secrets

    /// Before anything is told of what was found.
    func takeFindings(_ attempt: Attempt) {
        guard let answer = attempt.inspection.answer else { return }
        core.learnSecrets(answer.findings.secrets)
        if answer.isDone { participants.announcements.tellHeld(attempt) }
    }

    /// Before the headers of an answer are told, whatever becomes of it.
    func learnSecretsOfHead(_ attempt: Attempt, _ headers: HeaderBlock) {
        if let rules = attempt.rules.answer { core.learnSecrets(rules.secrets(in: headers)) }
    }

    /// Whether the task's own URL holds one: then it is not written down.
    func holdsCapturedSecret(_ attempt: Attempt) -> Bool {
        attempt.specification.location(mirror: attempt.mirror).url.map { core.secrets.areCaptured(in: $0) } ?? false
    }

    /// The body that the report tells. One in which a secret must be, and was not found, is not told: it may be cut, or
    /// written in another way than was thought.
    func toldBody(_ attempt: Attempt, _ verdict: Verdict, _ source: ResultSource) -> [UInt8]? {
        reportedBody(attempt, source).map { readable($0, charset(attempt)) }
    }

    /// Secrets are taken out of what is UTF-8. A body in another encoding that holds one is told as its text.
    func readable(_ body: [UInt8], _ charset: @autoclosure () -> String?) -> [UInt8] {
        guard !core.job.secrets.isEmpty || core.secrets.hasLearned, let text = try? BodyText(body, charset: charset()),
            text.wasConverted
        else { return body }
        let told = text.told
        let converted = String(decoding: told, as: UTF8.self)
        return core.events.hiding.redacted(converted) == converted ? body : told
    }

    private func reportedBody(_ attempt: Attempt, _ source: ResultSource) -> [UInt8]? {
        if attempt.isDownload, !attempt.life.isDeclined || attempt.exchange.body.isEmpty { return nil }
        if attempt.exchange.head == nil, source == .network { return nil }
        // Its parts are told.
        if attempt.exchange.mixed != nil { return nil }
        guard let rules = attempt.rules.answer, rules.hidesSomethingInBody, !attempt.exchange.body.isEmpty else {
            return attempt.exchange.body
        }
        // An error's page need not hold what the answer would have held, and tells what went wrong.
        if attempt.life.isDeclined {
            guard knowsSecretsInErrorPage(attempt, source) else { return nil }
            return attempt.inspection.answer?.findings.toldBody ?? attempt.exchange.body
        }
        guard attempt.inspection.answer?.isDone == true else { return nil }
        let findings = attempt.inspection.answer?.findings ?? AnswerFindings()
        return findings.withholdsBody ? nil : findings.toldBody ?? attempt.exchange.body
    }

    /// Looks for the secrets that the task captures in an answer that is not the one wanted, so that they are masked where
    /// that is shown. Returns `false` if that takes too long here: then it must not be shown.
    func knowsSecretsInErrorPage(_ attempt: Attempt, _ source: ResultSource) -> Bool {
        guard let rules = attempt.rules.answer, rules.hidesSomethingInBody, !attempt.exchange.body.isEmpty,
            attempt.inspection.answer?.isDone != true
        else { return true }
        guard !rules.isHeavy(attempt.exchange.body.count) else { return false }
        prepareExamination(attempt, rules, charset(attempt), source).examine(attempt.exchange.body)
        takeFindings(attempt)
        return true
    }

    /// What a task captured that ended in another process, or is carried by one.
    package func keep(_ captures: [CapturedValue], of task: String) {
        core.learnSecrets(
            captures.filter(\.isSecret).flatMap { capture in
                capture.secretTexts.map { KnownSecret(name: capture.name, value: $0, hosts: capture.hosts) }
            })
        core.captured.keep(captures, of: task)
    }

    /// Counts the end of a task, for tasks with a `when` that name it.
    package func count(_ record: TaskRecord, of task: String) {
        count(record.outcome, record.tolerated, record.isPassedOver, record.error, of: task)
    }

    /// Counts the end of a task in an earlier process.
    package func count(_ ending: TaskPast.Ending, of task: String) {
        count(ending.outcome, ending.isTolerated, ending.isPassedOver, ending.error, of: task)
    }

    private func count(
        _ outcome: TaskOutcome, _ tolerated: Bool, _ isPassedOver: Bool, _ error: TransferError?, of task: String
    ) {
        guard core.captured.ends.isUsed else { return }
        core.captured.ends.count(
            task, outcome, tolerated: tolerated, isPassedOver: isPassedOver,
            message: error.map { core.events.hiding.redacted(core.redacted($0.message)) }, error: error?.name)
    }

    /// Counts the failure of a command that followed a task.
    package func countFailedHook() { core.captured.ends.countFailedHook() }

    /// What a task captured counts once it has succeeded.
    func keepCaptures(_ attempt: Attempt, _ verdict: Verdict) {
        participants.announcements.tellHeld(attempt)
        guard attempt.inspection.answer != nil || attempt.pages.number > 1, case .succeeded = verdict.outcome else {
            return
        }
        core.captured.keep(captures(attempt), of: attempt.specification.id)
    }

    /// A server that repeats what it was shown is no way for a bound secret to leave its hosts.
    func captures(_ attempt: Attempt) -> [CapturedValue] {
        attempt.specification.options.values.next == nil ? captures(ofPage: attempt) : attempt.pages.captured
    }

    /// What is captured from the answer to one page.
    func captures(ofPage attempt: Attempt) -> [CapturedValue] {
        guard let findings = attempt.inspection.answer?.findings else { return [] }
        return core.secrets.bound.binding(findings.captures, but: findings.secrets)
    }
}

extension Attempt {
    /// What comes is written to a file.
    var isDownload: Bool { specification.type == .download || life.target != nil }

    /// Whether it must be known where a file would go.
    var mayBecomeFile: Bool {
        specification.type == .download || specification.savesAnswer || rules.mayBecomeDownload
    }
}
