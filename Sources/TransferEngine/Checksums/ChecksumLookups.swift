import AttemptLife
import FileDelivery
import HTTPRules
import TextFormats
package import TransferModel

/// Looks up the checksum of a download, where the job says only where it stands (`checksum: { from: … }`), before the
/// attempt sends anything.
package final class ChecksumLookups: Participant {
    let core: EngineCore
    /// Checksum files of tasks whose `checksum` is read from one.
    private var files: ChecksumFiles

    init(_ core: EngineCore) {
        self.core = core
        files = ChecksumFiles(core.job)
    }

    /// Adds tasks that came in mid-run.
    func add(_ tasks: [TaskSpecification]) { files.add(tasks) }

    /// Finds the checksum, or asks for the file that holds it. This step is begun again once that file is there.
    func resolveChecksum(_ attempt: Attempt) -> StepOutcome {
        guard let source = attempt.specification.options.values.checksum else { return .done }
        switch source {
        case .literal(let checksum):
            attempt.download.checksum = checksum
            return .done
        case .awaited: preconditionFailure("a task begins when its captured values are in it")
        case .task(let task, _): return lookUp(attempt, .task(task), source)
        case .url(let list, _): return lookUp(attempt, .url(list.text), source)
        }
    }

    private func lookUp(_ attempt: Attempt, _ place: ChecksumFiles.Key.Place, _ source: ChecksumSource) -> StepOutcome {
        let key = ChecksumFiles.Key(
            place, source.signature, attempt.specification.session, attempt.rules.redirects)
        switch files.ask(key, for: attempt.task) {
        case .list(let list):
            do throws(TransferError) {
                // Of several `urls` the first one's name is the task's.
                let url = attempt.specification.location.url ?? attempt.life.request.url
                attempt.download.checksum = try checksum(source, list, url)
                return .done
            } catch {
                fail(attempt, error)
                return .ended
            }
        case .failure(let error):
            fail(attempt, error)
            return .ended
        case .wait:
            attempt.phase = .awaitingChecksum
            // A slot that nobody uses might be the one that the list's own request needs.
            if let origin = attempt.origin {
                attempt.origin = nil
                core.reports.append(.unused(attempt.task, origin))
            }
        case .get:
            attempt.phase = .awaitingChecksum
            attempt.checksumLookup.key = key
            get(attempt, source)
        }
        return .pending
    }

    /// Compares the file in the final place with a checksum that was looked up.
    func inspectListedFile(_ attempt: Attempt) -> StepOutcome {
        let specification = attempt.specification
        switch specification.options.values.checksum {
        case .literal, .awaited, nil: return .done
        case .task, .url: break
        }
        guard mayKeep(specification) else { return .done }
        if participants.objects.isStored(attempt, attempt.download.checksum) { return .ended }
        attempt.phase = .inspecting
        core.outbox.add(
            .inspect(
                .init(
                    attempt.task, path: specification.destination ?? "", attempt.download.checksum,
                    member: participants.groupFiles.member(specification))))
        return .pending
    }

    /// Whether a file that is as the list says it shall be stays, as with a checksum that the job itself writes.
    private func mayKeep(_ task: TaskSpecification) -> Bool {
        let values = task.options.values
        return values.existing == .revalidate && !values.needsAnswer
            && task.destination?.hasSuffix("/") == false
    }

    private func checksum(
        _ source: ChecksumSource, _ list: ChecksumList, _ url: ResourceURL
    ) throws(TransferError) -> Checksum {
        let listed: ListedChecksum
        switch source {
        case .literal(let checksum): return checksum
        case .awaited: preconditionFailure("a task begins when its captured values are in it")
        case .task(_, let meant), .url(_, let meant): listed = meant
        }
        let algorithm = listed.algorithm
        let place = words(source)
        let isNamed = listed.entry != nil
        guard let entry = listed.entry ?? url.lastPathComponent else {
            throw TransferError(.checksumNotFound, "the URL \(url.text) names no file to look for in \(place)")
        }
        do throws(ChecksumList.Problem) {
            return try list.checksum(of: entry, fuller: isNamed ? [] : names(of: url, in: source), algorithm)
        } catch {
            let kind = algorithm.map { "\($0.rawValue) " } ?? ""
            switch error {
            case .noLine: throw TransferError(.checksumNotFound, "\(place) has no \(kind)checksum of `\(entry)`")
            case .severalLines(let count):
                throw TransferError(
                    .checksumNotFound, "\(place) has \(count) different \(kind)checksums of `\(entry)`")
            }
        }
    }

    /// Several files of a list may have this one's last component in common.
    private func names(of url: ResourceURL, in source: ChecksumSource) -> [String] {
        let list: ResourceURL? =
            switch source {
            case .literal, .awaited: nil
            case .task(let task, _): core.job.tasks[Int(task.raw)].location.url
            case .url(let url, _): url
            }
        let place = list.flatMap { $0.hasSameOrigin(as: url) ? PercentEncoding.decode($0.path) : nil }
        return PercentEncoding.decode(url.path).map { ChecksumList.fullerNames(of: $0, listAt: place) } ?? []
    }

    /// The file with the checksums, as errors name it.
    private func words(_ source: ChecksumSource) -> String {
        switch source {
        case .literal, .awaited: "the job"
        case .task(let task, _): "the file of `\(core.job.tasks[Int(task.raw)].id)`"
        case .url(let url, _): "the checksum file \(url.text)"
        }
    }

    /// Notes where the file of a task lies that succeeded in an earlier process; `path` is `nil` where that did not say.
    package func knowFile(of task: TaskIndex, at path: String?) {
        guard core.job.tasks[Int(task.raw)].options.values.object == nil else { return }
        if let path = path ?? core.job.tasks[Int(task.raw)].destination { files.succeeded(task, at: path) }
    }

    // MARK: Getting the file

    private func get(_ attempt: Attempt, _ source: ChecksumSource) {
        switch source {
        case .literal, .awaited: break
        case .task(let task, _):
            // One that failed and was tolerated left the file of another day.
            guard let path = files.paths[task] else {
                return fail(attempt, TransferError(.dependencyFailed, "\(words(source)) is not there: it failed"))
            }
            read(path, attempt, group: core.job.tasks[Int(task.raw)].group)
        case .url(let url, _): get(url, attempt, words(source))
        }
    }

    private func get(_ url: ResourceURL, _ attempt: Attempt, _ what: String) {
        if url.schemeIs("file") {
            guard let path = PercentEncoding.decode(url.path), !path.contains("\0") else {
                return fail(attempt, TransferError(.badURL, "the path of \(url.text) is not UTF-8"))
            }
            return read(path, attempt, group: nil)
        }
        guard attempt.session.takesSlot(url) else {
            return fail(attempt, TransferError(.unsupportedURL, "\(what) is at no URL that is supported"))
        }
        fetch(url, attempt)
    }

    private func read(_ path: String, _ attempt: Attempt, group: GroupIndex?) {
        core.outbox.add(
            .read(
                .init(
                    attempt.task, path: path, maximum: longest(attempt),
                    group: group.map { core.groups[Int($0.raw)].place })))
    }

    /// Largest file that the present step of a lookup takes, in bytes.
    private func longest(_ attempt: Attempt) -> Int64 {
        attempt.checksumLookup.unproven == nil ? ChecksumFiles.longest : Int64(MinisignSignature.longest)
    }

    /// A request of this attempt, with a life of its own.
    private func fetch(_ url: ResourceURL, _ attempt: Attempt) {
        let life = AttemptLife(url, checksumRules(url, attempt))
        life.secure(attempt.session.state, at: core.now.wall)
        attempt.beginLookup(life)
        if let refusal = life.refusalToBegin() { return fail(attempt, refusal) }
        let origin = core.origins.id(of: life.request.url)
        if attempt.origin == origin, attempt.transactions.isEmpty {
            attempt.phase = .transferring
            return engine.send(life.request, attempt)
        }
        // What needs no connection itself holds a place of no origin, and only who holds none is given one.
        if attempt.origin == nil { core.reports.append(.released(attempt.task, origin)) }
        engine.requestSlot(attempt, life.request)
    }

    /// What the task says of its requests, less what is the download's own.
    private func checksumRules(_ url: ResourceURL, _ attempt: Attempt) -> AttemptRules {
        let rules = attempt.rules
        let isNamed =
            attempt.specification.location.url?.hasSameOrigin(as: url) == true
            || rules.mirrors.contains { $0.hasSameOrigin(as: url) }
        let headers = rules.headers.filter { header in
            let name = header.name.lowercased()
            return !name.hasPrefix("content-") && name != "accept-encoding"
                && (isNamed
                    || Redirects.crossesOrigins(header, to: url.origin, withBody: false, rules.redirects))
        }
        return AttemptRules(
            type: .data, method: "GET",
            headers: headers + [HeaderField(name: "Accept-Encoding", value: "identity")], version: rules.version,
            redirects: rules.redirects, rewrites: rules.rewrites, maximumSize: longest(attempt),
            named: ([attempt.specification.location.url].compactMap(\.self) + rules.mirrors).map(\.origin),
            challenges: rules.challenges, clientNonce: rules.clientNonce)
    }

    // MARK: It came, or it did not

    /// Its redirects are no redirects of the task's own request: they show in the transactions.
    func endedLookup(_ attempt: Attempt, _ step: NextStep) {
        switch step {
        case .send(let request, let redirect):
            if redirect != nil, let refusal = AttemptLife.refusal(ofRedirectTo: request.url, core.secrets.bound) {
                return fail(attempt, explainedLookup(refusal, attempt))
            }
            engine.requestSlot(attempt, request)
        case .deliver: gotChecksums(attempt.exchange.body, attempt)
        // A checksum file is asked for without conditions; questions and rules are everybody's.
        case .keep, .isThere, .judged, .ask, .cancel: break
        case .fail(let error, _): fail(attempt, explainedLookup(error, attempt))
        }
    }

    /// Returns the error of a lookup's request, which is not the task's own, with the file that was asked for.
    private func explainedLookup(_ error: TransferError, _ attempt: Attempt) -> TransferError {
        guard let source = attempt.specification.options.values.checksum else { return error }
        var error = error
        guard attempt.checksumLookup.unproven != nil, let signature = source.signature else {
            error.message = "\(words(source)): \(error.message)"
            return error
        }
        if error.name == .dataLengthExceedsMaximum {
            return RequiredSignature.unusable(signature.url, "it is longer than \(MinisignSignature.longest >> 10) KiB")
        }
        error.message = "the signature \(signature.url.text) of \(words(source)): \(error.message)"
        return error
    }

    /// The file is there, or its signature. Once nothing is missing, this attempt goes on, and so do those that waited
    /// for it.
    func gotChecksums(_ bytes: [UInt8], _ attempt: Attempt) {
        guard let key = attempt.checksumLookup.key, let source = attempt.specification.options.values.checksum else {
            return
        }
        attempt.endLookupRequest()
        var list = bytes
        if let signature = key.signature {
            guard let unproven = attempt.checksumLookup.unproven else {
                attempt.checksumLookup.unproven = bytes
                attempt.phase = .awaitingChecksum
                return get(signature.url, attempt, "the signature of \(words(source))")
            }
            do throws(TransferError) {
                try signature.check(bytes, of: unproven, named: words(source))
            } catch {
                return fail(attempt, error)
            }
            list = unproven
            attempt.checksumLookup.unproven = nil
        }
        attempt.checksumLookup.key = nil
        // Each request asks anew for its slot; what was read from a disk left the slot alone.
        if !attempt.transactions.isEmpty { core.releaseSlot(attempt) }
        attempt.phase = .awaitingChecksum
        for task in [attempt.task] + files.got(ChecksumList(list), key) { askAgain(task) }
    }

    /// Returns the error of a local file that was read for a lookup.
    func explainedRead(_ error: TransferError, _ attempt: Attempt) -> TransferError {
        attempt.checksumLookup.unproven == nil ? error : explainedLookup(error, attempt)
    }

    /// An attempt ended before it had the file that others wait for too.
    private func lostChecksums(_ attempt: Attempt, _ verdict: Verdict) {
        guard let key = attempt.checksumLookup.key else { return }
        attempt.checksumLookup.key = nil
        let statuses = attempt.specification.options.values.policies.retry.statuses
        let mayHeal = verdict.error?.name.canHeal == true || verdict.status.map { statuses.contains($0) } == true
        var final: TransferError?
        // What one task may not send there, another may, and another may be somebody there.
        let asksWho = verdict.status == 401 || verdict.status == 407
        if case .failed(let error) = verdict.outcome, !mayHeal, !asksWho, error.name != .secretBarred { final = error }
        for task in files.lost(key, final: final) { askAgain(task) }
    }

    private func askAgain(_ task: TaskIndex) {
        guard let attempt = core.attempt(of: task), case .awaitingChecksum = attempt.phase else { return }
        engine.prepare(attempt)
    }

    /// The attempt is over: others may wait for the list that it fetched, or look into its file.
    func attemptEnded(_ attempt: Attempt, _ verdict: Verdict) {
        lostChecksums(attempt, verdict)
        if case .succeeded = verdict.outcome, let file = attempt.download.file, file.isLocal {
            files.succeeded(attempt.task, at: file.path)
        }
    }
}
