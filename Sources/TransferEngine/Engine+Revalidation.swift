import AttemptLife
import CurlCore
import FileDelivery
import HTTPRules
import Stores
import SystemIO
import TransferModel

// A file that stands there and was kept validators of: the server is asked whether it is still the same.

extension Engine {
    /// Asks the store what earlier runs kept of the task's file.
    func recallFile(_ attempt: Attempt) -> StepOutcome {
        guard let memory, attempt.object?.isAtStore != true else { return .done }
        let written = job.tasks[Int(attempt.task.raw)]
        // A captured value may be part of the destination: what breaks off there is not found again, but the file is.
        let isWritten = written.destination != nil
        let keeps = memory.keeps(isWritten ? written : attempt.specification)
        // A URL or path with a captured secret is not written down.
        let mayBeWritten =
            !secrets.areCaptured(in: attempt.life.request.url)
            && (isWritten || !secrets.areCaptured(in: attempt.specification.destination ?? ""))
        attempt.known.isKept = keeps.file && mayBeWritten
        attempt.known.leavesPart = isWritten && keeps.part && mayBeWritten && attempt.rules.onResponseIsEmpty
        guard keeps.isEligible, attempt.life.resume == nil else { return .done }
        attempt.known.isEligible = true
        lookAhead(of: attempt.task, memory)
        switch foresight.take(attempt.task) {
        case nil:
            guard memory.find(attempt.task, attempt.specification) else { return .done }
            attempt.phase = .recalling(nil)
            return .pending
        case .nothing: return .done
        case .asked:
            attempt.phase = .recalling(nil)
            return .pending
        case .found(let kept, let record):
            take(kept, record, attempt)
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

    func take(_ report: MemoryReport) {
        switch report {
        case .opened(let opened):
            outbox.add(.sweep(keeping: opened.parts))
            for path in opened.forgotten { outbox.add(.removePart(path)) }
            openCaches(opened.caches)
            for (session, records) in opened.uploads { sessions[Int(session.raw)].keep(records) }
            recalled(opened.sessionStates)
        case .found(let task, let kept, let record):
            if foresaw(task, kept, record) { return }
            guard let attempt = attempt(of: task), case .recalling(nil) = attempt.phase else { return }
            take(kept, record, attempt)
            stepDone(.recallFile, attempt)
        case .known(let task, let isKnown):
            guard let attempt = attempt(of: task), case .dating = attempt.phase else { return }
            guard isKnown else { return date(attempt, attempt.specification.destination ?? "") }
            stepDone(.examineKeptFile, attempt)
        case .foundSent(let task, let sent): foundSent(task, sent)
        case .cached, .cachedBody: takeCached(report)
        case .useless(let path): outbox.add(.removePart(path))
        }
    }

    private func take(_ kept: KeptValidators?, _ record: ResumeRecord?, _ attempt: Attempt) {
        attempt.known.validators = kept
        guard let record else { return }
        if !attempt.known.leavesPart {
            removePart(record, of: attempt.task)
        } else if isOfUse(record, attempt) {
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
        let readsIt = Revalidation.mustRead(kept, boot: memory?.boot ?? 0)
        attempt.known.wasRead = readsIt
        return look(attempt, kept, digest: readsIt ? kept.checksum?.algorithm : nil)
    }

    private func look(_ attempt: Attempt, _ kept: KeptValidators, digest: DigestAlgorithm?) -> StepOutcome {
        attempt.phase = .recalling(kept)
        look(attempt, at: kept, digest: digest)
        return .pending
    }

    private func look(_ attempt: Attempt, at kept: KeptValidators?, digest: DigestAlgorithm? = nil) {
        let specification = attempt.specification
        outbox.add(
            .look(
                .init(
                    attempt.task, path: keptPath(specification, kept), digest: digest,
                    member: member(specification))))
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
            stamp.looksLike(kept.file), Revalidation.mustRead(kept, file: stamp, boot: memory?.boot ?? 0)
        {
            attempt.known.wasRead = true
            return look(attempt, kept, digest: checksum.algorithm)
        }
        if stamp == nil, asksAboutStored(attempt, kept) { return .done }
        if attempt.known.isKept,
            let condition = Revalidation.condition(kept, file: stamp, found: found, boot: memory?.boot ?? 0, options)
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
        guard attempt.known.isKept, let memory, attempt.life.request.url.isHTTP, attempt.life.resume == nil,
            attempt.known.part == nil,
            carryovers[attempt.task]?.leftForeignFileUnanswered != true,
            Revalidation.applies(to: specification.options.values),
            let path = specification.destination, path.utf8.last != UInt8(ascii: "/"), LinkCheck.stands(path)
        else { return .done }
        attempt.phase = .dating
        // One that another session put there may have the size and time of this task's.
        if !memory.asksWhetherKnown(attempt.task, path) { date(attempt, path) }
        return .pending
    }

    private func date(_ attempt: Attempt, _ path: String) {
        outbox.add(.look(.init(attempt.task, path: path, member: member(attempt.specification))))
    }

    private func askByDate(_ attempt: Attempt, _ stamp: FileStamp?) {
        let options = attempt.specification.options.values
        if let stamp, let condition = Revalidation.condition(unknown: stamp, at: now.wall, options) {
            attempt.known.asked = stamp
            attempt.known.validators = nil
            attempt.life.ask(under: condition)
        }
    }

    /// From the next run on the file is known by what the server said of it now.
    private func noteDated(_ attempt: Attempt, _ file: FileStamp) {
        guard let memory, attempt.known.isKept, let headers = attempt.saidHeaders else { return }
        let answer = FiledAnswer(
            url: attempt.life.request.url.text, status: 200, headers: headers,
            shape: memory.shape(of: attempt.specification), file: file,
            boot: memory.boot, asked: attempt.life.asked(headers, key: .random(in: 0 ... .max)),
            askedAt: attempt.exchange.startedAt,
            path: attempt.specification.destination)
        memory.file(answer, attempt.specification, at: now.instant)
    }

    /// What stands at the destination now.
    func looked(_ task: TaskIndex, _ stamp: FileStamp?, _ found: Checksum?) {
        if foresaw(task, stamp) { return }
        guard let attempt = attempt(of: task) else { return }
        switch attempt.phase {
        case .recalling(.some) where attempt.preparation.next == .recallFile:
            attempt.known.seen = .some(stamp)
            stepDone(.recallFile, attempt)
        case .recalling(let kept?):
            if case .done = compare(attempt, kept, stamp, found: found) { stepDone(.examineKeptFile, attempt) }
        case .dating:
            askByDate(attempt, stamp)
            stepDone(.examineKeptFile, attempt)
        case .lookingForPart: foundForeignPart(attempt, stamp)
        case .measuring(let path): measured(attempt, attempt.life.request.url, path: path, size: stamp?.size)
        case .confirming(nil): keepOwn(attempt, stamp)
        case .confirming(let asked?):
            if stamp == asked {
                let path = keptPath(attempt.specification, attempt.known.validators)
                if attempt.known.validators?.name != nil, !claim(path, attempt, .nameTaken) { return }
                if attempt.known.validators == nil { noteDated(attempt, asked) } else { noteSurvival(attempt, asked) }
                return keepExisting(attempt, path, asked.size)
            }
            // Somebody took or changed the file while the server was asked about it.
            attempt.phase = .transferring
            goOn(attempt, attempt.life.askForAll())
        default: break
        }
    }

    /// It was read, and need not be read again.
    private func noteSurvival(_ attempt: Attempt, _ file: FileStamp) {
        guard let memory, let known = attempt.known.validators,
            let kept = Revalidation.confirmed(known, file: file, boot: memory.boot)
        else { return }
        memory.confirm(kept, attempt.specification, at: now.instant)
    }

    /// A member of a group that is unchanged and was staged as a copy: what was known of the file holds for that.
    func noteCopy(_ attempt: Attempt, isFlushed: Bool) {
        guard let memory, var kept = attempt.known.validators, let record = attempt.download.file,
            let file = record.stamp
        else {
            return
        }
        kept.file = file
        kept.boot = isFlushed ? nil : memory.boot
        memory.confirm(kept, attempt.specification, at: now.instant)
    }

    /// The server says that the file is still the same: if it is still there, it stays.
    func confirm(_ attempt: Attempt) {
        if attempt.object?.isAskedAbout == true { return objectIsUnchanged(attempt) }
        guard let asked = attempt.known.asked else { return confirmOwn(attempt) }
        attempt.phase = .confirming(asked)
        look(attempt, at: attempt.known.validators)
    }

    /// The same to a condition of the job's own, which knows what file it speaks of.
    private func confirmOwn(_ attempt: Attempt) {
        guard let destination = named(attempt) else { return }
        attempt.download.destination = destination
        attempt.phase = .confirming(nil)
        outbox.add(.look(.init(attempt.task, path: destination.path, member: destination.member)))
    }

    private func keepOwn(_ attempt: Attempt, _ stamp: FileStamp?) {
        guard let stamp, let path = attempt.download.destination?.path else {
            return fail(
                attempt,
                TransferError(
                    .unexpectedResponse, "the server answered 304 (not modified), and no file stands there to be kept"))
        }
        if let miss = attempt.rules.sizes.misfit(stamp.size, verb: "the file that stands there has") {
            return fail(attempt, miss)
        }
        keepExisting(attempt, path, stamp.size)
    }

    /// The file stands under its name: what its answer was known by goes to the store. What was a while under way has
    /// lost its temporary name by that: nobody would know it if the run were killed before this is written.
    func keepValidators(_ attempt: Attempt, isFlushed: Bool) {
        guard let memory, attempt.known.isKept, let record = attempt.download.file, let file = record.stamp,
            let head = attempt.exchange.head,
            let headers = attempt.saidHeaders
        else { return }
        let isInFolder = attempt.specification.destination?.hasSuffix("/") == true
        if secrets.areCaptured(in: attempt.life.request.url) { return }
        var answer = FiledAnswer(
            // A part that completed what was there stands for the whole.
            url: attempt.life.request.url.text,
            status: attempt.life.offset > 0 ? 200 : head.status, headers: headers,
            shape: memory.shape(of: attempt.specification), file: file,
            name: isInFolder ? Folders.split(record.path).name : nil,
            checksum: record.checksum, boot: isFlushed ? nil : memory.boot,
            asked: attempt.life.asked(headers, key: .random(in: 0 ... .max)),
            askedAt: attempt.exchange.startedAt, path: record.path)
        answer.isProven = !attempt.download.lengthUnverified
        memory.file(answer, attempt.specification, at: now.instant)
        if carryovers[attempt.task]?.isPartRecorded == true { memory.writeAtOnce() }
    }
}
