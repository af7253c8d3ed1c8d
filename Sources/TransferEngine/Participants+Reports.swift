import FileDelivery
import HTTPRules
import Stores
import TransferModel

// Whose are the answers of the delivery threads and of the store.

extension Participants {
    /// Handles an answer of a delivery thread.
    func handle(_ report: DeliveryReport) {
        switch report {
        case .published(let task, let record, let isKept): publication.published(task, record, isKept: isKept)
        case .flushed(let task): publication.flushed(task)
        case .staged(let task, let record): groupFiles.staged(task, record)
        case .groupPublished(let group, let error, let removed): groupFiles.published(group, error, removed)
        case .readyForOutput(let task, let record, let body): output.readyForOutput(task, record, body)
        case .written(let task, let error): output.written(task, error)
        case .failed(let task, let error): if let attempt = core.attempt(of: task) { failed(attempt, error) }
        case .inspected(let task, let path, let size, let matches):
            guard let attempt = core.attempt(of: task) else { return }
            if case .inspecting = attempt.phase {
                existing.inspected(attempt, size: size, matches: matches)
            } else {
                existing.inspectedName(attempt, path, size, matches)
            }
        case .digested(let task, let digest): digests.digested(task, digest)
        case .fetched(let task): bodies.fetched(task)
        case .stampRead(let task, let stamp, let found): keptFiles.stampRead(task, stamp, found)
        case .adopted(let task, let part): partials.adopted(task, part)
        case .part(let staging, let task, let part): partials.noted(staging, task, part)
        case .contents(let task, let bytes): if let attempt = core.attempt(of: task) { read(bytes, attempt) }
        case .examined(let task):
            guard let attempt = core.attempt(of: task), case .delivering = attempt.phase else { return }
            answers.examined(attempt)
        }
    }

    /// A delivery thread could not do what it was ordered to.
    private func failed(_ attempt: Attempt, _ error: TransferError) {
        if sentUploads.couldNotCompare(attempt) { return }
        if attempt.tokenFetch != nil { return tokens.lackToken(attempt, error) }
        answers.takeFindings(attempt)
        if foreign.fetchesWholeInstead(attempt, error) { return }
        // No room for it, or no right to write: what is still on its way is of no use.
        core.engine.stopTransfer(attempt)
        core.engine.lose(attempt, checksums.explainedRead(error, attempt))
    }

    /// A local file was read: for a look-up, or as the task's own answer.
    private func read(_ bytes: [UInt8], _ attempt: Attempt) {
        if attempt.tokenFetch != nil { return tokens.readAssertion(bytes, attempt) }
        // A download reads nothing else but checksums.
        if attempt.specification.type == .download { return checksums.gotChecksums(bytes, attempt) }
        local.read(bytes, attempt)
    }

    /// Handles an answer that comes while the run is being left.
    func handleAfterEnd(_ report: DeliveryReport) {
        if case .part(let staging, let task, let part) = report { partials.noted(staging, task, part) }
        publication.tellPlaced(report)
    }

    /// Handles an answer of the store.
    func handle(_ report: MemoryReport) {
        switch report {
        case .opened(let opened):
            core.outbox.add(.sweep(keeping: opened.parts))
            for path in opened.forgotten { core.outbox.add(.removePart(path)) }
            cache.openCaches(opened.caches)
            for (session, records) in opened.uploads { core.sessions[Int(session.raw)].keep(records) }
            sessionStates.recalled(opened.sessionStates)
        case .found(let task, let kept, let record): keptFiles.found(task, kept, record)
        case .known(let task, let isKnown): keptFiles.found(task, isKnown: isKnown)
        case .foundSent(let task, let sent): sentUploads.foundSent(task, sent)
        case .cached, .cachedBody: cache.takeCached(report)
        case .useless(let path): core.outbox.add(.removePart(path))
        }
    }
}
