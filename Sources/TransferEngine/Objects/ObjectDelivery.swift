import AttemptLife
import CurlCore
import FileDelivery
import HTTPRules
import Stores
import TransferModel

/// Puts downloads into an object store (`to: s3://…`).
final class ObjectDelivery: Participant {
    let core: EngineCore
    /// What is known of the objects of this run.
    var transfers: ObjectTransfers

    init(_ core: EngineCore, _ transfers: ObjectTransfers) {
        self.core = core
        self.transfers = transfers
    }

    /// Begins the attempt of a task whose file becomes an object.
    func beginObject(_ place: ObjectPlace, _ attempt: Attempt) {
        let url: ResourceURL
        do throws(TransferError) {
            url = try place.url()
            _ = try transfers.path(of: attempt.specification)
        } catch {
            return fail(attempt, error)
        }
        if let barred = core.secrets.bound.barred(from: url) {
            return engine.fail(
                attempt,
                TransferError(
                    .secretBarred, "`to` holds the secret `\(barred.secret)`, which must not go to \(barred.place)"))
        }
        attempt.object = ObjectProgress(place: place, url: url)
        // What the job names is compared when it is loaded.
        if core.job.tasks[Int(attempt.task.raw)].options.values.awaitsCaptures,
            !participants.names.claim(object: url, attempt)
        {
            return
        }
        if let fetched = transfers.fetched.removeValue(forKey: attempt.task), (try? whole(fetched)) != nil {
            return store(fetched, instead: attempt)
        }
        switch place.existing {
        case .skip, .fail:
            if transfers.missing.contains(attempt.task) {
                engine.prepare(attempt)
            } else {
                ask(.isAnythingThere, attempt)
            }
        case .revalidate:
            guard keepsObjects(attempt), core.retryStates[attempt.task]?.leftUploadUnasked != true,
                let store = core.store,
                store.findSent(attempt.task, attempt.specification.session, url: url.text)
            else { return engine.prepare(attempt) }
            attempt.phase = .comparing(.recallingObject)
        case .replace: engine.prepare(attempt)
        }
    }

    /// Whether it is kept for the next run what the store took.
    func keepsObjects(_ attempt: Attempt) -> Bool {
        guard let object = attempt.object else { return false }
        return core.store?.keeps(uploadsOf: attempt.specification.session) == true
            && !core.secrets.areCaptured(in: object.url)
    }

    /// The store of what was sent knows, or does not, what an earlier run put there.
    func recalledObject(_ attempt: Attempt, _ sent: SentUpload?) {
        attempt.phase = .transferring
        if let sent { ask(.isStillStored(sent), attempt) } else { engine.prepare(attempt) }
    }

    /// Asks the store about the object, before the file is fetched.
    private func ask(_ question: UploadQuestion, _ attempt: Attempt) {
        giveBackUnusedSlot(attempt)
        let asking = atStore(attempt, attempt, .asking)
        asking.object?.question = question
        core.attempts[Int(attempt.task.raw)] = asking
        engine.prepare(asking)
    }

    /// Makes an attempt that speaks to the store.
    ///
    /// - Parameters:
    ///   - attempt: the present attempt, whose number and times it has.
    ///   - fetch: the one that fetches the file.
    private func atStore(_ attempt: Attempt, _ fetch: Attempt, _ leg: ObjectProgress.Leg) -> Attempt {
        guard let object = fetch.object else { preconditionFailure("the task's file becomes no object") }
        let specification = fetch.specification.storing(
            object.place, at: object.url, path: fetch.download.file?.path ?? "", fetch.saidHeaders)
        let made = engine.makeAttempt(
            attempt.task, attempt.number, attempt.mirror, specification, object.url, partial: nil,
            startedAt: attempt.startedAt)
        made.object = ObjectProgress(leg: leg, place: object.place, url: object.url, fetch: fetch)
        takeOver(from: attempt, made)
        return made
    }

    /// What an attempt's objects have in common goes along.
    private func takeOver(from attempt: Attempt, _ next: Attempt) {
        next.transactions = attempt.transactions
        next.bandwidth = attempt.bandwidth
        next.credentialWait = attempt.credentialWait
    }

    /// The request would go on with the upload: the store does not have what was asked about. Returns `false` for any other
    /// request.
    func objectIsWanted(_ attempt: Attempt) -> Bool {
        guard let object = attempt.object, object.leg == .asking, !attempt.life.asksWhetherNeeded,
            let fetch = object.fetch
        else { return false }
        if case .isAnythingThere? = object.question { transfers.missing.insert(attempt.task) }
        takeUp(with: fetch, after: attempt)
        engine.prepare(fetch)
        return true
    }

    /// The store has the object.
    func objectIsThere(_ attempt: Attempt) {
        guard let object = attempt.object, let fetch = object.fetch else { return }
        let headers = attempt.exchange.head?.headers ?? .empty
        switch object.question {
        case .isStillStored(let sent)?:
            let kept = sent.confirmed(headers)
            core.store?.sent(kept, to: object.url.text, attempt.specification.session, at: core.now.instant)
            fetch.object?.stored = kept
            takeUp(with: fetch, after: attempt)
            engine.prepare(fetch)
        case .isAnythingThere? where object.place.existing == .fail:
            fail(attempt, TransferError(.destinationExists, "\(object.name) is there already"))
        case .isAnythingThere?, nil:
            takeUp(with: fetch, after: attempt)
            let length = headers.first("content-length").flatMap { Int64($0) } ?? 0
            stays(fetch, length, nil)
        }
    }

    private func takeUp(with fetch: Attempt, after attempt: Attempt) {
        leave(attempt)
        takeOver(from: attempt, fetch)
        core.attempts[Int(fetch.task.raw)] = fetch
    }

    /// The object is over that the attempt was: what it holds is given back.
    private func leave(_ attempt: Attempt) {
        core.releaseSlot(attempt)
        attempt.session.giveBack(attempt.transport.ownPool)
        attempt.transport.ownPool = nil
    }

    /// Ends the attempt with the object as it is, where that is known to have the checksum. Returns whether it does.
    func isStored(_ attempt: Attempt, _ checksum: Checksum?) -> Bool {
        guard let stored = attempt.object?.stored, let checksum, checksum.algorithm == .sha256,
            checksum.bytes == stored.digest, !attempt.specification.options.values.needsAnswer
        else { return false }
        stays(attempt, stored.file.size, checksum)
        return true
    }

    /// Asks the file's server whether what the store has is still the server's file; `false` where nothing is known of
    /// that, or a file of this machine is what was kept.
    func asksAboutStored(_ attempt: Attempt, _ kept: KeptValidators) -> Bool {
        guard let stored = attempt.object?.stored, attempt.known.isKept, stored.file.size == kept.file.size,
            stored.file.modifiedNanoseconds == kept.file.modifiedNanoseconds
        else { return false }
        // The store's word counts for the bytes: they need not be read.
        var kept = kept
        kept.boot = nil
        guard let condition = Revalidation.condition(kept, file: kept.file, attempt.specification.options.values) else {
            return false
        }
        attempt.object?.isAskedAbout = true
        attempt.life.ask(under: condition)
        return true
    }

    /// The file's server says that what the store has is still its file.
    func objectIsUnchanged(_ attempt: Attempt) {
        guard let stored = attempt.object?.stored else { return }
        stays(attempt, stored.file.size, nil)
    }

    /// Ends the attempt with the object as it is.
    private func stays(_ attempt: Attempt, _ size: Int64, _ checksum: Checksum?) {
        guard let name = attempt.object?.name else { return }
        attempt.object?.leg = .done
        let record = FileRecord(path: name, bytes: size, checksum: checksum, changed: false, lengthUnverified: false)
        attempt.download.file = record
        core.emit(.fileFinished(record), attempt)
        engine.finishUnchanged(attempt)
    }

    /// A part of the way to an object ended well: returns whether the attempt goes on.
    func wentOn(_ attempt: Attempt, _ verdict: Verdict, _ source: ResultSource) -> Bool {
        guard let object = attempt.object else { return false }
        switch object.leg {
        case .fetching:
            attempt.object?.end = (verdict, source)
            if attempt.download.wasCalledOff {
                transfers.fetched[attempt.task] = attempt
                engine.cancelled(attempt)
                // It is no file of the task yet.
                attempt.result?.file = nil
            } else {
                participants.partials.forgetLabel(of: attempt.download.staging)
                store(attempt, instead: attempt)
            }
        case .storing: isStored(attempt)
        case .asking, .done: return false
        }
        return true
    }

    /// Gives back a slot under which nothing was sent: the next request may need it at another origin.
    private func giveBackUnusedSlot(_ attempt: Attempt) {
        guard let origin = attempt.origin else { return }
        attempt.origin = nil
        core.reports.append(.unused(attempt.task, origin))
    }

    /// Puts the file that was fetched, now or by an earlier attempt, into the store.
    private func store(_ fetch: Attempt, instead attempt: Attempt) {
        if attempt !== fetch { giveBackUnusedSlot(attempt) }
        leave(attempt)
        let put = atStore(attempt, fetch, .storing)
        core.attempts[Int(attempt.task.raw)] = put
        do throws(TransferError) {
            put.sending.planned = try whole(fetch)
        } catch {
            return engine.fail(put, error)
        }
        engine.prepare(put)
    }

    /// Returns the body: the file as it was verified. Of one that an earlier run left only the size may be known, which was
    /// compared with its checksum just now.
    private func whole(_ fetch: Attempt) throws(TransferError) -> PlannedBody {
        guard let file = fetch.download.file else { preconditionFailure("nothing was fetched") }
        let planned = try PlannedBody(.file(SecretText(file.path))) { "" }
        let stamp = file.stamp ?? fetch.known.asked
        guard let mark = planned.file?.mark, mark.size == stamp?.size ?? file.bytes,
            mark.modifiedNanoseconds == stamp?.modifiedNanoseconds ?? mark.modifiedNanoseconds
        else {
            throw TransferError(.bodyFileChanged, "\(file.path) is not as it was when it was verified")
        }
        return planned
    }

    /// The store has the object: the attempt ends as its fetch did.
    private func isStored(_ put: Attempt) {
        guard let object = put.object, let fetch = object.fetch, let file = fetch.download.file,
            let end = fetch.object?.end
        else { return }
        takeUp(with: fetch, after: put)
        fetch.object?.leg = .done
        core.outbox.add(.removePart(file.path))
        let record = file.put(at: object.name)
        fetch.download.file = record
        // The result is that of the attempt that puts: it tells what an earlier one fetched.
        if put.number != fetch.number, let head = fetch.exchange.head {
            core.emit(participants.announcements.response(fetch, head, head.headers, fetch.life.announcedLength), fetch)
        }
        core.emit(.fileFinished(record), fetch)
        engine.endAttempt(fetch, end.verdict, source: end.source == .unchanged ? .network : end.source)
        // An earlier attempt may have fetched it.
        fetch.result?.number = put.number
        fetch.result?.startedAt = put.startedAt
    }

    /// Keeps what was fetched for the next attempt, unless that is what was wrong.
    func keepFetched(_ attempt: Attempt, _ verdict: Verdict) {
        guard let object = attempt.object, let fetch = object.fetch else { return }
        if object.leg == .asking, let point = fetch.life.resume {
            let part = RetryState.PartialFile(staging: fetch.download.staging, point: point, mirror: fetch.mirror)
            core.retryStates[attempt.task, default: RetryState()].partialFiles.append(part)
        }
        guard object.leg == .storing else { return }
        switch verdict.outcome {
        case .succeeded: break
        case .failed(let error) where error.name == .bodyFileChanged || error.name == .fileDoesNotExist: break
        case .failed, .cancelled: transfers.fetched[attempt.task] = fetch
        }
    }

    /// The task is over: what the store did not take stays for the next run, where that can know it again.
    func endedObject(_ task: TaskIndex) {
        if !transfers.missing.isEmpty { transfers.missing.remove(task) }
        guard !transfers.fetched.isEmpty, let fetch = transfers.fetched.removeValue(forKey: task),
            let file = fetch.download.file
        else { return }
        let isKnownAgain = keepsObjects(fetch) && (fetch.known.isKept || fetch.download.checksum != nil)
        if !isKnownAgain || core.unwanted.contains(task) { core.outbox.add(.removePart(file.path)) }
    }

    /// The attempt is over.
    func attemptEnded(_ attempt: Attempt, _ verdict: inout Verdict) {
        verdict.isOfStore = attempt.object?.isAtStore == true
    }

    /// Removes the folder in which files wait for their store, unless files are left in it.
    func close() { transfers.folder.close() }
}

extension Attempt {
    /// Whether its file, and the name of that, must survive a power cut. One that waits for a store need not.
    var isFlushed: Bool { session.configuration.durability == .flush && object == nil }
}
