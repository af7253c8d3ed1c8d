import AttemptLife
import HTTPRules
package import TransferModel

/// Fetches the pages of a task with `next`, one after the other within an attempt. Each page is an `Attempt` object of its
/// own, so that nothing of one page's answer is left to the next; to the scheduler they are one attempt, which asks for a
/// slot anew.
package final class PageTurning: Participant {
    let core: EngineCore

    init(_ core: EngineCore) { self.core = core }

    /// An attempt begins whose task had one before, maybe in another process.
    func attemptBegins(_ attempt: Attempt) {
        guard let lost = core.retryStates[attempt.task]?.lostPages, lost > 0 else { return }
        core.retryStates[attempt.task]?.lostPages = 0
        let pages = lost == 1 ? "page" : "\(lost) pages"
        attempt.life.noteStartedOver(
            "the process that fetched the first \(pages) ended: all are asked for from the first one on")
    }

    /// How far the task is with its pages; the first page where it has none.
    func present(of task: TaskIndex) -> PageProgress { core.retryStates[task]?.pages ?? PageProgress() }

    /// Notes that an earlier process fetched some pages of the task: what they brought is known no more.
    package func lostPages(of task: TaskIndex, _ count: Int) {
        core.retryStates[task, default: RetryState()].lostPages = count
    }

    /// A page of the task is whole: tells of it and, where it names another, begins that. Returns `false` if the attempt
    /// is to end with this page.
    func turnedPage(_ attempt: Attempt, _ verdict: Verdict, _ source: ResultSource) -> Bool {
        guard let next = attempt.specification.options.values.next, !attempt.isLookingUp else { return false }
        participants.announcements.tellHeld(attempt)
        let found = participants.answers.captures(ofPage: attempt)
        do throws(TransferError) {
            let page = page(attempt, verdict, source)
            try attempt.pages.pageFetched(page, found, first: home(attempt))
            try attempt.pages.keep(rows: participants.rows.rows(ofPage: attempt))
            core.emit(.pageFinished(page), attempt)
            core.reports.append(.turnedPage(attempt.task))
            guard let target = try target(attempt, next, found) else { return false }
            if next.stopsAtMaximum, attempt.pages.number >= next.maximum { return false }
            try attempt.pages.turn(
                to: target, most: next.maximum, isCounted: next.isCounted,
                isLedFromPublic: attempt.isLed(toPageAt: target, next))
        } catch {
            fail(attempt, error)
            return true
        }
        beginNextPage(after: attempt)
        return true
    }

    private func page(_ attempt: Attempt, _ verdict: Verdict, _ source: ResultSource) -> PageRecord {
        // Redacted first: of a secret that is cut in two no half would be found.
        let told = participants.answers.toldBody(attempt, verdict, source).map { core.events.hiding.redacted(body: $0) }
        let (body, isCut) = attempt.pages.shown(told)
        return PageRecord(
            number: attempt.pages.number, url: attempt.life.request.url.text, status: verdict.status,
            file: attempt.download.file, body: attempt.isDownload ? nil : body, isCut: isCut)
    }

    /// The URL of the task's first page: headers that the job types are meant for its origin.
    private func home(_ attempt: Attempt) -> ResourceURL {
        attempt.specification.location(mirror: attempt.mirror).url ?? attempt.life.request.url
    }

    /// Where the next page is; `nil` after the last one.
    private func target(
        _ attempt: Attempt, _ next: NextPage, _ found: [CapturedValue]
    ) throws(TransferError) -> ResourceURL? {
        guard let named = found.first(where: { $0.name == Capture.nextPage }), !named.text.isEmpty else { return nil }
        let secured = { (url: ResourceURL) in attempt.session.state.secured(url, at: self.core.now.wall) }
        let policy = attempt.rules.redirects
        let target =
            switch next.way {
            case .url:
                try NextPages.target(
                    Self.reference(named), from: attempt.life.request.url, policy: policy,
                    rewritten: { (url) throws(TransferError) in try attempt.session.rewritten(url) }, secured: secured,
                    isFromOutside: attempt.answerSource == .outside)
            case .cursor(_, let parameter):
                try NextPages.target(
                    home(attempt), setting: parameter, to: named.text, policy: policy, secured: secured)
            case .count(let count):
                try NextPages.target(
                    home(attempt), setting: count.parameter, to: "\(count.value(ofPage: attempt.pages.number + 1))",
                    policy: policy, secured: secured)
            }
        if let barred = core.secrets.bound.barred(from: target) {
            throw TransferError(
                .secretBarred,
                "the next page's URL holds the secret `\(barred.secret)`, which must not go to \(barred.place)")
        }
        return target
    }

    private static func reference(_ named: CapturedValue) throws(TransferError) -> String {
        guard case .number(let number) = named.value else { return named.text }
        throw TransferError(
            .nextPageUnusable,
            "the answer names \(number) as the next page, which is no URL; `query: NAME` sends it as a parameter")
    }

    private func beginNextPage(after last: Attempt) {
        core.releaseSlot(last)
        participants.partials.forgetLabel(of: last.download.staging)
        var retryState = RetryState()
        retryState.pages = last.pages
        retryState.rejectedCredentials = last.life.refusals
        // Partial files of earlier runs are of the first page.
        retryState.hasTriedPart = true
        retryState.isPartRecorded = core.retryStates[last.task]?.isPartRecorded ?? false
        core.retryStates[last.task] = retryState
        guard let specification = participants.filling.filled(last.task, last.number, last.mirror),
            let url = last.pages.url
        else { return }
        beginAnew(specification, url, after: last, partial: nil)
    }

    /// Goes on with an attempt as a new object: with its next page, or with the request once more (`isTriedAgain`).
    func beginAnew(
        _ specification: TaskSpecification, _ url: ResourceURL, after last: Attempt, partial: RetryState.PartialFile?,
        isTriedAgain: Bool = false
    ) {
        last.sending.takeUntouchedStream()?.leave()
        last.session.giveBack(last.transport.ownPool)
        last.transport.ownPool = nil
        // What libcurl still notes of it is of no use.
        last.result = placeholder(last)
        let attempt = engine.makeAttempt(
            last.task, last.number, last.mirror, specification, url, partial: partial, startedAt: last.startedAt)
        if let why = last.life.startedOver { attempt.life.noteStartedOver(why) }
        attempt.renewal.hasTriedAgain = isTriedAgain
        attempt.transactions = last.transactions
        attempt.bandwidth = last.bandwidth
        attempt.credentialWait = last.credentialWait
        core.attempts[Int(last.task.raw)] = attempt
        participants.credentials.learnPasswords(attempt, url)
        if let problem = participants.bodies.planBody(attempt) { return fail(attempt, problem) }
        engine.prepare(attempt)
    }

    /// Marks the object of a page that is over as ended; nobody takes it.
    func placeholder(_ attempt: Attempt) -> AttemptResult {
        AttemptResult(
            number: attempt.number, url: attempt.life.request.url.text, startedAt: attempt.startedAt,
            endedAt: core.now.instant, transactions: [], body: nil, file: nil, source: .network,
            lengthUnverified: false,
            error: nil, waits: [], resumedFrom: 0, startedOver: nil, cache: nil, captures: [], parts: [])
    }
}
