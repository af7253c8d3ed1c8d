import AttemptLife
import CurlCore
import FileDelivery
import HTTPRules
import Stores
import SystemIO
import TransferModel

// A file that stands there and was kept validators of: the server is asked whether it is still the same.

extension Engine {
    /// Asks what is kept of the last time, or begins when that is surely nothing.
    func recall(_ attempt: Attempt, _ url: ResourceURL) {
        guard let memory else { return begin(attempt, url) }
        // Under what a file is kept must be known when its task is loaded, and a URL with a secret is not written down.
        let keeps = memory.keeps(job.tasks[Int(attempt.task.raw)])
        let mayBeWritten = !secrets.areCaptured(in: url)
        attempt.isKept = keeps.file && mayBeWritten
        attempt.leavesPart = keeps.part && mayBeWritten && attempt.rules.onResponseIsEmpty
        guard keeps.isEligible, attempt.life.resume == nil else { return begin(attempt, url) }
        lookAhead(of: attempt.task, memory)
        switch foresight.take(attempt.task) {
        case nil:
            guard memory.find(attempt.task, attempt.specification) else { return askByDate(attempt, url) }
            attempt.phase = .recalling(url, nil)
        case .nothing: askByDate(attempt, url)
        case .asked: attempt.phase = .recalling(url, nil)
        case .found(let kept, let record): found(kept, record, attempt, url)
        case .looking(let kept):
            attempt.validators = kept
            attempt.phase = .recalling(url, kept)
        case .seen(let kept, let stamp):
            attempt.validators = kept
            looked(attempt, url, kept, stamp, sum: nil)
        }
    }

    func take(_ report: MemoryReport) {
        switch report {
        case .opened(let opened):
            outbox.add(.sweep(keeping: opened.parts))
            for path in opened.forgotten { outbox.add(.removePart(path)) }
            openCaches(opened.caches)
            for (session, records) in opened.uploads { sessions[Int(session.raw)].keep(records) }
            recalled(opened.lore)
        case .found(let task, let kept, let record):
            if foresaw(task, kept, record) { return }
            guard let attempt = attempt(of: task), case .recalling(let url, nil) = attempt.phase else { return }
            found(kept, record, attempt, url)
        case .known(let task, let isKnown):
            guard let attempt = attempt(of: task), case .dating(let url) = attempt.phase else { return }
            if isKnown { begin(attempt, url) } else { date(attempt, attempt.specification.destination ?? "") }
        case .foundSent(let task, let sent): foundSent(task, sent)
        case .cached, .cachedBody: takeCached(report)
        case .useless(let path): outbox.add(.removePart(path))
        }
    }

    private func found(_ kept: KeptValidators?, _ record: ResumeRecord?, _ attempt: Attempt, _ url: ResourceURL) {
        attempt.validators = kept
        if let record, attempt.leavesPart, isOfUse(record, attempt, url) {
            attempt.part = record
            begin(attempt, url)
        } else {
            if let record, !attempt.leavesPart { removePart(record, of: attempt.task) }
            askAgain(attempt, url)
        }
    }

    /// The file may be the one that was kept: what stands there tells.
    func askAgain(_ attempt: Attempt, _ url: ResourceURL) {
        guard let kept = attempt.validators, attempt.isKept else { return askByDate(attempt, url) }
        attempt.phase = .recalling(url, kept)
        let readsIt = Revalidation.mustRead(kept, boot: memory?.boot ?? 0)
        attempt.wasRead = readsIt
        look(attempt, kept, readingIt: readsIt)
    }

    private func look(_ attempt: Attempt, _ kept: KeptValidators?, readingIt: Bool = false) {
        let specification = attempt.specification
        outbox.add(
            .look(
                .init(
                    attempt.task, path: keptPath(specification, kept), readingIt: readingIt,
                    member: member(specification))))
    }

    /// Where the file stands that may be kept.
    func keptPath(_ specification: TaskSpecification, _ kept: KeptValidators?) -> String {
        (specification.destination ?? "") + (kept?.name ?? "")
    }

    private func looked(
        _ attempt: Attempt, _ url: ResourceURL, _ kept: KeptValidators, _ stamp: FileStamp?, sum: Int64?
    ) {
        let options = attempt.specification.options.values
        // Only now it is known that another file stands in its place.
        if attempt.isKept, !attempt.wasRead, sum == nil, kept.content?.sum != nil, let stamp,
            stamp.looksLike(kept.file), Revalidation.mustRead(kept, file: stamp, boot: memory?.boot ?? 0)
        {
            attempt.wasRead = true
            attempt.phase = .recalling(url, kept)
            return look(attempt, kept, readingIt: true)
        }
        if attempt.isKept,
            let condition = Revalidation.condition(kept, file: stamp, sum: sum, boot: memory?.boot ?? 0, options)
        {
            attempt.asked = stamp
            attempt.life.ask(under: condition)
        } else if let stamp, !kept.file.looksLike(stamp), kept.url == url.text {
            return dated(attempt, url, stamp)
        }
        begin(attempt, url)
    }

    // MARK: Nothing is known of the file but its time

    /// The state was lost: a file that has the server's time may be the server's all the same. A session that keeps nothing
    /// cannot tell that from a file that another task put there.
    private func askByDate(_ attempt: Attempt, _ url: ResourceURL) {
        let specification = attempt.specification
        guard attempt.isKept, let memory, url.isHTTP, attempt.life.resume == nil, attempt.part == nil,
            carryovers[attempt.task]?.leftForeignFileUnanswered != true,
            Revalidation.applies(to: specification.options.values),
            let path = specification.destination, path.utf8.last != UInt8(ascii: "/"), LinkCheck.stands(path)
        else { return begin(attempt, url) }
        attempt.phase = .dating(url)
        // One that another session put there may have the size and time of this task's.
        if !memory.asksWhetherKnown(attempt.task, path) { date(attempt, path) }
    }

    private func date(_ attempt: Attempt, _ path: String) {
        outbox.add(.look(.init(attempt.task, path: path, member: member(attempt.specification))))
    }

    private func dated(_ attempt: Attempt, _ url: ResourceURL, _ stamp: FileStamp?) {
        let options = attempt.specification.options.values
        if let stamp, let condition = Revalidation.condition(unknown: stamp, at: now.wall, options) {
            attempt.asked = stamp
            attempt.validators = nil
            attempt.life.ask(under: condition)
        }
        begin(attempt, url)
    }

    /// From the next run on the file is known by what the server said of it now.
    private func noteDated(_ attempt: Attempt, _ file: FileStamp) {
        guard let memory, attempt.isKept, let headers = attempt.saidHeaders else { return }
        let answer = FiledAnswer(
            url: attempt.life.request.url.text, status: 200, headers: headers,
            shape: memory.shape(of: attempt.specification), file: file,
            content: ContentMark(boot: memory.boot, sum: nil),
            asked: attempt.life.asked(headers, key: .random(in: 0 ... .max)), askedAt: attempt.requestStartedAt,
            path: attempt.specification.destination)
        memory.file(answer, attempt.specification, at: now.instant)
    }

    /// What stands at the destination now.
    func looked(_ task: TaskIndex, _ stamp: FileStamp?, sum: Int64?) {
        if foresaw(task, stamp) { return }
        guard let attempt = attempt(of: task) else { return }
        switch attempt.phase {
        case .recalling(let url, let kept?): looked(attempt, url, kept, stamp, sum: sum)
        case .dating(let url): dated(attempt, url, stamp)
        case .lookingForPart(let url): foundForeignPart(attempt, url, stamp)
        case .measuring(let url, let path): measured(attempt, url, path: path, size: stamp?.size)
        case .confirming(nil): keepOwn(attempt, stamp)
        case .confirming(let asked?):
            if stamp == asked {
                let path = keptPath(attempt.specification, attempt.validators)
                if attempt.validators?.name != nil, !claim(path, attempt) { return }
                if attempt.validators == nil { noteDated(attempt, asked) } else { noteSurvival(attempt, asked) }
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
        guard let memory, let known = attempt.validators,
            let kept = Revalidation.confirmed(known, file: file, boot: memory.boot)
        else { return }
        memory.confirm(kept, attempt.specification, at: now.instant)
    }

    /// A member of a group that is unchanged and was staged as a copy: what was known of the file holds for that.
    func noteCopy(_ attempt: Attempt, isFlushed: Bool) {
        guard let memory, var kept = attempt.validators, let record = attempt.file, let file = record.stamp else {
            return
        }
        kept.file = file
        kept.content = isFlushed ? nil : ContentMark(boot: memory.boot, sum: record.sum)
        memory.confirm(kept, attempt.specification, at: now.instant)
    }

    /// The server says that the file is still the same: if it is still there, it stays.
    func confirm(_ attempt: Attempt) {
        guard let asked = attempt.asked else { return confirmOwn(attempt) }
        attempt.phase = .confirming(asked)
        look(attempt, attempt.validators)
    }

    /// The same to a condition of the job's own, which knows what file it speaks of.
    private func confirmOwn(_ attempt: Attempt) {
        guard let destination = named(attempt) else { return }
        attempt.destination = destination
        attempt.phase = .confirming(nil)
        outbox.add(.look(.init(attempt.task, path: destination.path, member: destination.member)))
    }

    private func keepOwn(_ attempt: Attempt, _ stamp: FileStamp?) {
        guard let stamp, let path = attempt.destination?.path else {
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
        guard let memory, attempt.isKept, let record = attempt.file, let file = record.stamp, let head = attempt.head,
            let headers = attempt.saidHeaders
        else { return }
        let isInFolder = attempt.specification.destination?.hasSuffix("/") == true
        if secrets.areCaptured(in: attempt.life.request.url) { return }
        var answer = FiledAnswer(
            // A part that completed what was there stands for the whole.
            url: attempt.life.request.url.text, status: attempt.life.offset > 0 ? 200 : head.status,
            headers: headers,
            shape: memory.shape(of: attempt.specification), file: file,
            name: isInFolder ? Folders.split(record.path).name : nil,
            content: isFlushed ? nil : ContentMark(boot: memory.boot, sum: record.sum),
            asked: attempt.life.asked(headers, key: .random(in: 0 ... .max)),
            askedAt: attempt.requestStartedAt, path: record.path)
        answer.isProven = !attempt.lengthUnverified
        memory.file(answer, attempt.specification, at: now.instant)
        if carryovers[attempt.task]?.isPartRecorded == true { memory.writeAtOnce() }
    }
}
