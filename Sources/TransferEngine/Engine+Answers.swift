import AttemptLife
import Codecs
import CurlCore
import FileDelivery
import HTTPRules
package import TransferModel

// What tasks take from answers and expect of bodies, and where what one took goes into another.

extension Attempt {
    /// What comes is written to a file.
    var isDownload: Bool { specification.type == .download || life.target != nil }

    /// Whether it must be known where a file would go.
    var mayBecomeFile: Bool {
        specification.type == .download || specification.savesAnswer || rules.mayBecomeDownload
    }
}

// MARK: - Captured values in their places

extension Engine {
    /// The task with all that others captured in it; `nil` when it cannot begin, which is told.
    func filled(_ task: TaskIndex, _ number: Int, _ mirror: Int) -> TaskSpecification? {
        let specification = job.tasks[Int(task.raw)]
        guard specification.options.values.awaitsCaptures else { return specification }
        do throws(TransferError) {
            captured.page = pages(of: task).number
            var filled = try specification.filled(from: captured)
            if filled.options.values.object != nil { filled.destination = try objects.path(of: filled) }
            try checkFolders(filled, specification.options.values.awaitedDestination)
            return filled
        } catch {
            tellUnfilled(task, number, specification, mirror, error)
            let session = sessions[Int(specification.session.raw)].configuration
            if let url = specification.location(mirror: mirror).url, session.takesSlot(url) {
                reports.append(.released(task, origins.id(of: url)))
            }
            reports.append(.ended(task, Verdict(.failed(error))))
            return nil
        }
    }

    /// It counts as an attempt, however short: its time is part of the task's.
    private func tellUnfilled(
        _ task: TaskIndex, _ number: Int, _ specification: TaskSpecification, _ mirror: Int, _ error: TransferError
    ) {
        let url = specification.location(mirror: mirror).shown
        events.append(
            .attemptStarted(AttemptStart(number: number, url: url)), task: task, session: specification.session)
        unfilled[task] = AttemptResult(
            number: number, url: url, startedAt: now, endedAt: now.instant, transactions: [], body: nil, file: nil,
            source: .network, lengthUnverified: false, error: error, waits: [],
            resumedFrom: 0, startedOver: nil, cache: nil, captures: [], parts: [])
    }

    /// Where the scheduler gave a slot with the start. It could not where the URL's host was not known yet: then what holds the
    /// place of a task without an origin gives that back, and asks like any further request.
    func slotOrigin(of url: ResourceURL, _ attempt: Attempt) -> OriginID? {
        guard attempt.session.takesSlot(url) else { return nil }
        let origin = origins.id(of: url)
        let index = Int(attempt.task.raw)
        let planned = job.tasks[index].location(mirror: attempt.mirror).originURL
        guard planned.map({ !$0.hasSameOrigin(as: url) }) ?? job.tasks[index].options.values.awaitsCaptures else {
            return origin
        }
        reports.append(.released(attempt.task, origin))
        return nil
    }

    /// A name that came from the network leads through no symlink: that could end outside the folder which `to` names.
    private func checkFolders(_ task: TaskSpecification, _ awaited: SecretText?) throws(TransferError) {
        guard let path = task.destination, case .literal(let start)? = awaited?.pieces.first else { return }
        var end = path.utf8.index(path.startIndex, offsetBy: start.utf8.count)
        while let slash = path.utf8[end...].firstIndex(of: UInt8(ascii: "/")) {
            let folder = String(path[..<slash])
            if LinkCheck.isLink(folder) {
                throw TransferError(
                    .captureUnusable, "\(folder) is a symlink: a captured value must not lead through it")
            }
            end = path.utf8.index(after: slash)
        }
    }
}

// MARK: - Looking into answers

extension Engine {
    /// By what an answer's text is written, as it says itself.
    func charset(_ attempt: Attempt) -> String? {
        (attempt.exchange.mixed?.lastHeaders ?? attempt.saidHeaders).flatMap { Self.charset($0) }
    }

    static func charset(_ headers: HeaderBlock) -> String? {
        headers.first("content-type").flatMap { MediaType($0)?.charset }
    }

    /// All of an answer is there: if it is as expected, it is the result.
    func examine(_ attempt: Attempt, charset: @autoclosure () -> String?, source: ResultSource) {
        guard let rules = attempt.rules.answer else { return succeed(attempt, from: source) }
        look(attempt, prepare(attempt, rules, charset(), source), rules)
    }

    /// An answer whose headers are not as the job wants them: its body may not be either, and all is told in one. `false`:
    /// there is nothing more to tell.
    func examineDeclined(_ attempt: Attempt, _ miss: TransferError) -> Bool {
        guard attempt.life.missesWhatIsNamed, !attempt.isDownload, !attempt.isLookingUp, attempt.exchange.mixed == nil,
            let rules = attempt.rules.answer, rules.expectsOfBody
        else { return false }
        tellChallenges(attempt)
        attempt.inspection.missedHead = miss
        look(attempt, prepare(attempt, rules, charset(attempt), .network), rules)
        return true
    }

    private func look(_ attempt: Attempt, _ answer: ExaminedAnswer, _ rules: AnswerRules) {
        let body = attempt.lastBody
        let earlier = rules.hidesSomethingInBody ? attempt.earlierParts : []
        guard rules.isHeavy(earlier.reduce(body.count) { $0 + $1.body.count }) else {
            answer.look(body, after: earlier)
            return examined(attempt)
        }
        // Another page may follow.
        if attempt.specification.options.values.next == nil { reports.append(.transferred(attempt.task)) }
        attempt.phase = .delivering
        outbox.add(.examine(attempt.task, look: { answer.look(body, after: earlier) }))
    }

    /// The same of a file before it gets its name. `false`: the headers alone tell that it is not the one wanted.
    func examine(_ destination: inout Destination, _ attempt: Attempt, charset: @autoclosure () -> String?) -> Bool {
        guard let rules = attempt.rules.answer else { return true }
        let answer = prepare(attempt, rules, charset(), .network)
        if rules.readsBody {
            let codings = packing(attempt)
            destination.examine = Destination.Examination(most: AnswerRules.longest) { bytes in
                do throws(TransferError) {
                    return answer.look(try Self.unpacked(bytes, codings))
                } catch {
                    return error
                }
            }
            return true
        }
        guard let miss = answer.look([]) else { return true }
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

    private func prepare(
        _ attempt: Attempt, _ rules: AnswerRules, _ charset: String?, _ source: ResultSource
    ) -> ExaminedAnswer {
        var headers = attempt.saidHeaders ?? .empty
        if let part = attempt.exchange.mixed?.lastHeaders { headers = Self.merged(headers, part) }
        let answer = ExaminedAnswer(
            rules, charset: charset, headers: headers, at: attempt.life.request.url, hiding: events.hiding,
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
        succeed(attempt, from: answer.source)
    }

    /// Only what is as expected answers later requests.
    private func succeed(_ attempt: Attempt, from source: ResultSource) {
        keepAnswer(attempt)
        if readsSentFile(attempt, source) { return }
        finish(attempt, Verdict(.succeeded, status: attempt.life.lastStatus), source: source)
    }

    // MARK: Secrets

    /// Before anything is told of what was found.
    func takeFindings(_ attempt: Attempt) {
        guard let answer = attempt.inspection.answer else { return }
        learn(answer.findings.secrets)
        if answer.isDone { tellHeld(attempt) }
    }

    /// Before the headers of an answer are told, whatever becomes of it.
    func learnSecrets(_ attempt: Attempt, _ headers: HeaderBlock) {
        if let rules = attempt.rules.answer { learn(rules.secrets(in: headers)) }
    }

    /// What the job calls a secret is one, however short.
    func learn(_ found: [KnownSecret]) {
        let news = secrets.learnCaptured(found)
        guard !news.isEmpty else { return }
        events.learn(news)
        for session in sessions { session.state.bound = secrets.bound }
        memory?.captured(news)
    }

    /// Whether the task's own URL holds one: then it is not written down.
    func holdsCapturedSecret(_ attempt: Attempt) -> Bool {
        attempt.specification.location(mirror: attempt.mirror).url.map { secrets.areCaptured(in: $0) } ?? false
    }

    /// The body that the report tells. One in which a secret must be, and was not found, is not told: it may be cut, or
    /// written in another way than was thought.
    func toldBody(_ attempt: Attempt, _ verdict: Verdict, _ source: ResultSource) -> [UInt8]? {
        reportedBody(attempt, source).map { readable($0, charset(attempt)) }
    }

    /// Secrets are taken out of what is UTF-8. A body in another encoding that holds one is told as its text.
    func readable(_ body: [UInt8], _ charset: @autoclosure () -> String?) -> [UInt8] {
        guard !job.secrets.isEmpty || secrets.hasLearned, let text = try? BodyText(body, charset: charset()),
            text.wasConverted
        else { return body }
        let told = text.told
        let converted = String(decoding: told, as: UTF8.self)
        return events.hiding.redacted(converted) == converted ? body : told
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
        prepare(attempt, rules, charset(attempt), source).look(attempt.exchange.body)
        takeFindings(attempt)
        return true
    }

    /// What a task captured that ended in another process, or is carried by one.
    package func keep(_ captures: [CapturedValue], of task: String) {
        learn(
            captures.filter(\.isSecret).flatMap { capture in
                capture.secretTexts.map { KnownSecret(name: capture.name, value: $0, hosts: capture.hosts) }
            })
        captured.keep(captures, of: task)
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
        guard captured.ends.isUsed else { return }
        captured.ends.count(
            task, outcome, tolerated: tolerated, isPassedOver: isPassedOver,
            message: error.map { events.hiding.redacted(told($0.message)) }, error: error?.name)
    }

    /// Counts the failure of a command that followed a task.
    package func countFailedHook() { captured.ends.countFailedHook() }

    /// What a task captured counts once it has succeeded.
    func keepCaptures(_ attempt: Attempt, _ verdict: Verdict) {
        tellHeld(attempt)
        guard attempt.inspection.answer != nil || attempt.pages.number > 1, case .succeeded = verdict.outcome else {
            return
        }
        captured.keep(captures(attempt), of: attempt.specification.id)
    }

    /// A server that repeats what it was shown is no way for a bound secret to leave its hosts.
    func captures(_ attempt: Attempt) -> [CapturedValue] {
        attempt.specification.options.values.next == nil ? captures(ofPage: attempt) : attempt.pages.captured
    }

    /// What is captured from the answer to one page.
    func captures(ofPage attempt: Attempt) -> [CapturedValue] {
        guard let findings = attempt.inspection.answer?.findings else { return [] }
        return secrets.bound.binding(findings.captures, but: findings.secrets)
    }
}
