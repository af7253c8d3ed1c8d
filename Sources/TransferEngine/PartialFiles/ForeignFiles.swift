import AttemptLife
import FileDelivery
import HTTPRules
import Stores
import TransferModel

/// Continues a file that another program left under the final name (`resume: adopt`), if a digest can prove the whole.
final class ForeignFiles: Participant {
    let core: EngineCore

    init(_ core: EngineCore) { self.core = core }

    /// Looks for a file of another program under the final name.
    func findForeignFile(_ attempt: Attempt) -> StepOutcome {
        guard mayAdopt(attempt) else { return .done }
        attempt.phase = .lookingForPart
        core.outbox.add(
            .readStamp(
                .init(
                    attempt.task, path: attempt.specification.destination ?? "",
                    member: participants.groupFiles.member(attempt.specification)))
        )
        return .pending
    }

    /// What an earlier attempt or run of the task left comes first, and a file whose validators were kept is a whole one. In
    /// the folder of a destination that ends in `/` nobody knows yet which file would be the one.
    private func mayAdopt(_ attempt: Attempt) -> Bool {
        let options = attempt.specification.options
        guard options.values.resume == .adopt else { return false }
        let url = attempt.life.request.url
        return options.values.decompress == .no && attempt.specification.type == .download
            && attempt.life.resume == nil && (attempt.known.asked == nil || attempt.life.asksByTime) && url.isHTTP
            && attempt.session.takesSlot(url)
            && attempt.life.request.isPlainGet && !attempt.life.asksForPart
            && (options.values.existing == .revalidate || options.values.existing == .replace)
            && options.values.policies.cachePolicy != .returnCacheDataDontLoad
            && attempt.specification.destination?.hasSuffix("/") == false
            && core.retryStates[attempt.task]?.refutedForeignFile != true && !attempt.specification.toStandardOutput
    }

    /// What stands under the final name, if anything does.
    func foundForeignPart(_ attempt: Attempt, _ stamp: FileStamp?) {
        guard let stamp, stamp.size > 0 else { return engine.stepDone(.findForeignFile, attempt) }
        if core.retryStates[attempt.task]?.leftForeignFileUnanswered == true {
            attempt.life.startOver("the server did not answer the question how long the file is")
        } else {
            attempt.known.foreign = .file(stamp)
        }
        engine.stepDone(.findForeignFile, attempt)
    }

    /// Before the first request: makes it a HEAD where a file may be adopted.
    func askAbout(_ stamp: FileStamp, _ attempt: Attempt) {
        attempt.life.ask(about: ForeignPart(size: stamp.size, hasChecksum: attempt.download.checksum != nil))
    }

    /// The HEAD was answered.
    func judgedForeignPart(_ attempt: Attempt, _ verdict: ForeignPart.Verdict) {
        guard case .adopt(let point) = verdict, case .file(let stamp) = attempt.known.foreign,
            var destination = attempt.download.destination
        else {
            if case .leave(let why?) = verdict { attempt.life.startOver(why) }
            return engine.requestSlot(attempt, attempt.life.request)
        }
        // It is shorter than the server's: whatever its time, it is not the whole.
        _ = attempt.life.askForAll()
        attempt.known.asked = nil
        // The copy may take a while, and needs no connection.
        core.releaseSlot(attempt)
        attempt.phase = .copyingPart(point)
        destination.sent = point.sent
        if destination.mode != nil { core.outbox.add(.conceal(attempt.download.staging)) }
        let expect = attempt.rules.expect
        core.outbox.add(
            .adoptForeign(
                attempt.download.staging, attempt.task,
                ForeignFile(path: destination.path, stamp: stamp, destination: destination) {
                    ForeignPart.objection(to: $0, expect)
                }))
    }

    /// The copy is the beginning of the body now, or of no use for the reason given.
    func copiedForeignPart(_ attempt: Attempt, _ point: ResumePoint, _ part: AdoptedPart) {
        if case .useless(let problem) = part {
            attempt.life.startOver(problem)
            participants.partials.discardBody(attempt)
        } else {
            attempt.life.resume(from: point)
        }
        engine.requestSlot(attempt, attempt.life.request)
    }

    /// The file of another program, completed, has another digest: once more, all of it, in the same attempt, for what was
    /// there is no failure of the server's.
    func fetchesWholeInstead(_ attempt: Attempt, _ error: TransferError) -> Bool {
        guard error.name == .checksumMismatch, attempt.life.offset > 0, attempt.life.resume?.isForeign == true else {
            return false
        }
        core.retryStates[attempt.task, default: RetryState()].refutedForeignFile = true
        attempt.life.startOver("what was there is no part of this file: \(error.message)")
        participants.partials.discardBody(attempt)
        engine.requestSlot(attempt, attempt.life.request)
        return true
    }

    // MARK: For the next run

    /// The shape under which a half-done file is kept. One of which nothing but the job's checksum proves the whole has a
    /// shape of its own, so that no run without a checksum goes on with it; `nil` for one that nothing proves.
    func shape(of point: ResumePoint, _ task: TaskSpecification, _ memory: StoreClient) -> Int64? {
        let shape = memory.shape(of: task)
        guard point.isForeign, point.sent == nil else { return shape }
        return task.options.values.checksum == nil ? nil : ForeignPart.shape(shape)
    }

    /// Whether the record is of a file that is asked for as the task asks today.
    func isShaped(_ record: ResumeRecord, as task: TaskSpecification) -> Bool {
        record.shape == core.store?.shape(of: task) || isForeign(record, task)
    }

    /// Whether the record is of another program's file, of which the checksum alone proves the whole.
    func isForeign(_ record: ResumeRecord, _ task: TaskSpecification) -> Bool {
        task.options.values.checksum != nil
            && record.shape == (core.store?.shape(of: task)).map { ForeignPart.shape($0) }
    }

    /// The attempt is over: a server that ended the connection at the question is not asked again.
    func attemptEnded(_ attempt: Attempt) {
        if attempt.life.brokeAtQuestion {
            core.retryStates[attempt.task, default: RetryState()].leftForeignFileUnanswered = true
        }
    }
}

/// What an attempt knows of the file that another program left under the final name.
enum ForeignFileCandidate {
    /// There is none, or it was not looked for.
    case none
    /// As it was when it was looked at.
    case file(FileStamp)
}
