import AttemptLife
import CurlCore
import FileDelivery
import HTTPRules
import Stores
import SystemIO
import TransferModel

/// Asks servers whether a file that an earlier run fetched, and kept validators of, is still the same.
final class KeptFiles: Participant {
    let core: EngineCore
    /// What is kept of tasks that are soon to begin.
    var foresight: Foresight

    init(_ core: EngineCore) {
        self.core = core
        foresight = Foresight(core.job.tasks.count)
    }

    /// Forgets what was looked up of a task that has not begun.
    func forget(_ task: TaskIndex) { _ = foresight.take(task) }

    /// Makes room for tasks that came in mid-run.
    func grow(by count: Int) { foresight.grow(by: count) }

    /// Asks the store what earlier runs kept of the task's file.
    func recallFile(_ attempt: Attempt) -> StepOutcome {
        guard let store = core.store, attempt.object?.isAtStore != true else { return .done }
        let written = core.job.tasks[Int(attempt.task.raw)]
        // A captured value may be part of the destination: what breaks off there is not found again, but the file is.
        let isWritten = written.destination != nil
        let keeps = store.keeps(isWritten ? written : attempt.specification)
        // A URL or path with a captured secret is not written down.
        let mayBeWritten =
            !core.secrets.areCaptured(in: attempt.life.request.url)
            && (isWritten || !core.secrets.areCaptured(in: attempt.specification.destination ?? ""))
        attempt.known.isKept = keeps.file && mayBeWritten
        attempt.known.leavesPart = isWritten && keeps.part && mayBeWritten && attempt.rules.onResponseIsEmpty
        guard keeps.isEligible, attempt.life.resume == nil else { return .done }
        attempt.known.isEligible = true
        lookAhead(of: attempt.task, store)
        switch foresight.take(attempt.task) {
        case nil:
            guard store.find(attempt.task, attempt.specification) else { return .done }
            attempt.phase = .recalling(nil)
            return .pending
        case .nothing: return .done
        case .asked:
            attempt.phase = .recalling(nil)
            return .pending
        case .found(let kept, let record):
            learnKept(kept, record, attempt)
            return .done
        case .looking(let kept):
            attempt.known.validators = kept
            attempt.phase = .recalling(kept)
            return .pending
        case .seen(let kept, let stamp):
            (attempt.known.validators, attempt.known.seen) = (kept, .some(stamp))
            return .done
        }
    }

    private func learnKept(_ kept: KeptValidators?, _ record: ResumeRecord?, _ attempt: Attempt) {
        attempt.known.validators = kept
        guard let record else { return }
        if !attempt.known.leavesPart {
            participants.partials.removePart(record, of: attempt.task)
        } else if participants.partials.isOfUse(record, attempt) {
            attempt.known.part = record
        }
    }

    /// The file in the final place may be the one that was kept. A partial file that was adopted comes first.
    func examineKeptFile(_ attempt: Attempt) -> StepOutcome {
        guard attempt.known.isEligible, attempt.life.resume == nil else { return .done }
        guard let kept = attempt.known.validators else { return askByDate(attempt) }
        if case .some(let stamp) = attempt.known.seen { return compare(attempt, kept, stamp, found: nil) }
        guard attempt.known.isKept, Revalidation.applies(to: attempt.specification.options.values) else {
            return askByDate(attempt)
        }
        let readsIt = Revalidation.mustRead(kept, boot: core.store?.boot ?? 0)
        attempt.known.wasRead = readsIt
        return lookUpFile(attempt, kept, digest: readsIt ? kept.checksum?.algorithm : nil)
    }

    private func lookUpFile(_ attempt: Attempt, _ kept: KeptValidators, digest: DigestAlgorithm?) -> StepOutcome {
        attempt.phase = .recalling(kept)
        lookUpFile(attempt, at: kept, digest: digest)
        return .pending
    }

    private func lookUpFile(_ attempt: Attempt, at kept: KeptValidators?, digest: DigestAlgorithm? = nil) {
        let specification = attempt.specification
        core.outbox.add(
            .readStamp(
                .init(
                    attempt.task, path: keptPath(specification, kept), digest: digest,
                    member: participants.groupFiles.member(specification))))
    }

    /// Where the file stands that may be kept.
    func keptPath(_ specification: TaskSpecification, _ kept: KeptValidators?) -> String {
        (specification.destination ?? "") + (kept?.name ?? "")
    }

    private func compare(
        _ attempt: Attempt, _ kept: KeptValidators, _ stamp: FileStamp?, found: Checksum?
    ) -> StepOutcome {
        let options = attempt.specification.options.values
        // Only now it is known that another file stands in its place.
        if attempt.known.isKept, !attempt.known.wasRead, found == nil, let checksum = kept.checksum, let stamp,
            stamp.looksLike(kept.file), Revalidation.mustRead(kept, file: stamp, boot: core.store?.boot ?? 0)
        {
            attempt.known.wasRead = true
            return lookUpFile(attempt, kept, digest: checksum.algorithm)
        }
        if stamp == nil, participants.objects.asksAboutStored(attempt, kept) { return .done }
        if attempt.known.isKept,
            let condition = Revalidation.condition(
                kept, file: stamp, found: found, boot: core.store?.boot ?? 0, options)
        {
            attempt.known.asked = stamp
            attempt.life.ask(under: condition)
        } else if let stamp, !kept.file.looksLike(stamp), kept.url == attempt.life.request.url.text {
            askByDate(attempt, stamp)
        }
        return .done
    }

    // MARK: Nothing is known of the file but its time

    /// The state was lost: a file that has the server's time may be the server's all the same. A session that keeps nothing
    /// cannot tell that from a file that another task put there.
    private func askByDate(_ attempt: Attempt) -> StepOutcome {
        let specification = attempt.specification
        guard attempt.known.isKept, let store = core.store, attempt.life.request.url.isHTTP, attempt.life.resume == nil,
            attempt.known.part == nil,
            core.retryStates[attempt.task]?.leftForeignFileUnanswered != true,
            Revalidation.applies(to: specification.options.values),
            let path = specification.destination, path.utf8.last != UInt8(ascii: "/"), !attempt.known.isFree,
            LinkCheck.stands(path)
        else { return .done }
        attempt.phase = .dating
        // One that another session put there may have the size and time of this task's.
        if !store.asksWhetherKnown(attempt.task, path) { date(attempt, path) }
        return .pending
    }

    private func date(_ attempt: Attempt, _ path: String) {
        core.outbox.add(
            .readStamp(.init(attempt.task, path: path, member: participants.groupFiles.member(attempt.specification))))
    }

    private func askByDate(_ attempt: Attempt, _ stamp: FileStamp?) {
        let options = attempt.specification.options.values
        if let stamp, let condition = Revalidation.condition(unknown: stamp, at: core.now.wall, options) {
            attempt.known.asked = stamp
            attempt.known.validators = nil
            attempt.life.ask(under: condition)
        }
    }

    /// From the next run on the file is known by what the server said of it now.
    private func noteDated(_ attempt: Attempt, _ file: FileStamp) {
        guard let store = core.store, attempt.known.isKept, let headers = attempt.saidHeaders else { return }
        let answer = FiledAnswer(
            url: attempt.life.request.url.text, status: 200, headers: headers,
            shape: store.shape(of: attempt.specification), file: file,
            boot: store.boot, asked: attempt.life.asked(headers, key: .random(in: 0 ... .max)),
            askedAt: attempt.exchange.startedAt,
            path: attempt.specification.destination)
        store.file(answer, attempt.specification, at: core.now.instant)
    }

    /// What stands at the destination now.
    func stampRead(_ task: TaskIndex, _ stamp: FileStamp?, _ found: Checksum?) {
        if foresaw(task, stamp) { return }
        guard let attempt = core.attempt(of: task) else { return }
        switch attempt.phase {
        case .recalling(.some) where attempt.preparation.next == .recallFile:
            attempt.known.seen = .some(stamp)
            engine.stepDone(.recallFile, attempt)
        case .recalling(let kept?):
            if case .done = compare(attempt, kept, stamp, found: found) { engine.stepDone(.examineKeptFile, attempt) }
        case .dating:
            askByDate(attempt, stamp)
            engine.stepDone(.examineKeptFile, attempt)
        case .lookingForPart: participants.foreign.foundForeignPart(attempt, stamp)
        case .measuring(let path):
            participants.local.measured(attempt, attempt.life.request.url, path: path, size: stamp?.size)
        case .confirming(nil): keepOwn(attempt, stamp)
        case .confirming(let asked?):
            if stamp == asked {
                let path = keptPath(attempt.specification, attempt.known.validators)
                if attempt.known.validators?.name != nil, !participants.names.claim(path, attempt, .nameTaken) {
                    return
                }
                if attempt.known.validators == nil { noteDated(attempt, asked) } else { noteSurvival(attempt, asked) }
                return participants.existing.keepExisting(attempt, path, asked.size)
            }
            // Somebody took or changed the file while the server was asked about it.
            attempt.phase = .transferring
            engine.requestSlot(attempt, attempt.life.askForAll())
        default: break
        }
    }

    /// Stores that the file is as it was kept: it was read, and need not be read again.
    private func noteSurvival(_ attempt: Attempt, _ file: FileStamp) {
        guard let store = core.store, let known = attempt.known.validators,
            let kept = Revalidation.confirmed(known, file: file, boot: store.boot)
        else { return }
        store.confirm(kept, attempt.specification, at: core.now.instant)
    }

    /// A member of a group that is unchanged and was staged as a copy: what was known of the file holds for that.
    func noteCopy(_ attempt: Attempt, isFlushed: Bool) {
        guard let store = core.store, var kept = attempt.known.validators, let record = attempt.download.file,
            let file = record.stamp
        else {
            return
        }
        kept.file = file
        kept.boot = isFlushed ? nil : store.boot
        store.confirm(kept, attempt.specification, at: core.now.instant)
    }

    /// The server says that the file is still the same: if it is still there, it stays.
    func confirm(_ attempt: Attempt) {
        if attempt.object?.isAskedAbout == true { return participants.objects.objectIsUnchanged(attempt) }
        guard let asked = attempt.known.asked else { return confirmOwn(attempt) }
        attempt.phase = .confirming(asked)
        lookUpFile(attempt, at: attempt.known.validators)
    }

    /// Looks whether a file stands there that a 304 to a condition of the job's own leaves as it is.
    private func confirmOwn(_ attempt: Attempt) {
        guard let destination = participants.publication.named(attempt) else { return }
        attempt.download.destination = destination
        attempt.phase = .confirming(nil)
        core.outbox.add(.readStamp(.init(attempt.task, path: destination.path, member: destination.member)))
    }

    private func keepOwn(_ attempt: Attempt, _ stamp: FileStamp?) {
        guard let stamp, let path = attempt.download.destination?.path else {
            return engine.fail(
                attempt,
                TransferError(
                    .unexpectedResponse, "the server answered 304 (not modified), and no file stands there to be kept"))
        }
        if let miss = attempt.rules.sizes.misfit(stamp.size, verb: "the file that stands there has") {
            return fail(attempt, miss)
        }
        participants.existing.keepExisting(attempt, path, stamp.size)
    }

    /// The file stands under its name: what its answer was known by goes to the store. What was a while under way has
    /// lost its temporary name by that: nobody would know it if the run were killed before this is written.
    func keepValidators(_ attempt: Attempt, isFlushed: Bool) {
        guard let store = core.store, attempt.known.isKept, let record = attempt.download.file, let file = record.stamp,
            let head = attempt.exchange.head,
            let headers = attempt.saidHeaders
        else { return }
        let isInFolder = attempt.specification.destination?.hasSuffix("/") == true
        if core.secrets.areCaptured(in: attempt.life.request.url) { return }
        var answer = FiledAnswer(
            // A part that completed what was there stands for the whole.
            url: attempt.life.request.url.text,
            status: attempt.life.offset > 0 ? 200 : head.status, headers: headers,
            shape: store.shape(of: attempt.specification), file: file,
            name: isInFolder ? Folders.split(record.path).name : nil,
            checksum: record.checksum, boot: isFlushed ? nil : store.boot,
            asked: attempt.life.asked(headers, key: .random(in: 0 ... .max)),
            askedAt: attempt.exchange.startedAt, path: record.path)
        answer.isProven = !attempt.download.lengthUnverified
        store.file(answer, attempt.specification, at: core.now.instant)
        if core.retryStates[attempt.task]?.isPartRecorded == true { store.writeAtOnce() }
    }

    // MARK: What the store says

    /// What the store has of a task's file.
    func found(_ task: TaskIndex, _ kept: KeptValidators?, _ record: ResumeRecord?) {
        if foresaw(task, kept, record) { return }
        guard let attempt = core.attempt(of: task), case .recalling(nil) = attempt.phase else { return }
        learnKept(kept, record, attempt)
        engine.stepDone(.recallFile, attempt)
    }

    /// Whether the store knows a file under the final name.
    func found(_ task: TaskIndex, isKnown: Bool) {
        guard let attempt = core.attempt(of: task), case .dating = attempt.phase else { return }
        guard isKnown else { return date(attempt, attempt.specification.destination ?? "") }
        engine.stepDone(.examineKeptFile, attempt)
    }
}
