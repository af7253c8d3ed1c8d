import AttemptLife
import HTTPRules
import Stores
import SystemIO
import TransferModel

/// Continues an upload after a cut with what its server holds, from attempt to attempt and from run to run, as
/// `ResumableUpload` decides.
final class ResumableUploads: Participant {
    let core: EngineCore

    init(_ core: EngineCore) { self.core = core }

    // MARK: Beginning

    /// Where the attempt begins: with the whole body, or by asking how much of it the server has.
    func beginUpload(_ attempt: Attempt) {
        let task = attempt.specification
        guard task.type == .upload, attempt.life.request.url.isHTTP, let planned = attempt.sending.planned,
            let length = planned.length, length > 0, !planned.isStream
        else { return }
        let left = uploadLeft(attempt, length)
        // Whoever runs a job again wants it done again.
        let isAnothers = left != nil && core.retryStates[attempt.task]?.upload == nil
        let mayRepeat =
            isAnothers || HTTPMethod.isIdempotent(attempt.rules.method)
            || task.options.values.policies.retry.nonIdempotent
        attempt.life.begin(
            ResumableUpload(
                length: length, dialect: dialect(attempt), point: left, mayRepeat: mayRepeat))
    }

    /// What an earlier attempt or run left of this very body, unless the server has forgotten it by now.
    private func uploadLeft(_ attempt: Attempt, _ length: Int64) -> UploadPoint? {
        if let left = core.retryStates[attempt.task]?.upload {
            guard left.mirror == attempt.mirror, let point = left.point else { return nil }
            return point.isCurrent(at: core.now.wall) ? point : nil
        }
        guard let record = uploadRecord(attempt, nil),
            let kept = attempt.session.keptUploads[record.key],
            kept.identity == record.identity, kept.shape == record.shape, kept.point.length == length,
            kept.point.isCurrent(at: core.now.wall)
        else { return nil }
        return kept.point
    }

    /// The one that the server is known to speak; else another after each attempt that it did not understand.
    private func dialect(_ attempt: Attempt) -> UploadDialect {
        attempt.session.uploadDialects[attempt.life.request.url.origin]
            ?? UploadDialect.tries[(core.retryStates[attempt.task]?.upload?.unheard ?? 0) % UploadDialect.tries.count]
    }

    /// Reports, once for an attempt, that it resumes: the rest of the body is about to be sent.
    func tellResumed(_ request: OutgoingRequest, _ attempt: Attempt, _ planned: PlannedBody) {
        guard let start = request.bodyRange?.lowerBound, start > 0, start == attempt.life.uploadResumedFrom else {
            return
        }
        core.emit(.resumedAtOffset(Event.Progress(bytes: start, expected: planned.length)), attempt)
    }

    // MARK: What servers hold

    /// A 104 came: from now on a cut, or a kill, need not be the end.
    func keepUpload(_ attempt: Attempt) {
        attempt.unreported.hasUploadPlace = false
        if attempt.origin != nil { core.reports.append(.heard(attempt.task)) }
        if let dialect = attempt.life.uploadDialect {
            attempt.session.uploadDialects[attempt.life.request.url.origin] = dialect
        }
        guard var point = attempt.life.uploadPoint else { return }
        // Nobody will write down how far it is when the run is killed.
        point.sent = nil
        recordPoint(point, attempt)
    }

    /// The attempt is over: what the server holds is for the next one.
    func attemptEnded(_ attempt: Attempt, _ verdict: inout Verdict) {
        if attempt.life.knowsUploads { endUpload(attempt) }
        verdict.mayOnlyGoOn = mayOnlyGoOn(attempt)
    }

    private func endUpload(_ attempt: Attempt) {
        let point = attempt.life.uploadPoint
        var left = core.retryStates[attempt.task]?.upload ?? UploadLeft(mirror: attempt.mirror)
        if attempt.sending.sentSomething, point == nil { left.unheard += 1 }
        (left.point, left.mirror) = (point, attempt.mirror)
        core.retryStates[attempt.task, default: RetryState()].upload = left
        recordPoint(point, attempt)
        // Its place had the answer, the URL was written to all the same.
        if attempt.life.isAtUploadPlace, let url = attempt.specification.location(mirror: attempt.mirror).url {
            attempt.session.cache?.forget(url.text)
        }
    }

    /// Whether another attempt may only go on with what the server holds.
    private func mayOnlyGoOn(_ attempt: Attempt) -> Bool {
        core.retryStates[attempt.task]?.upload?.point != nil && !HTTPMethod.isIdempotent(attempt.rules.method)
    }

    /// Forgets an ended task's partial uploads where it was given up for good or has succeeded at another of its `urls`; any
    /// other stays for the next run.
    func uploadEnded(_ task: TaskIndex, _ outcome: TaskOutcome, _ left: UploadLeft) {
        let written = core.job.tasks[Int(task.raw)]
        // Captured values are part of the key that an upload is kept under.
        let specification = (try? written.filled(from: core.captured)) ?? written
        let places = max(1, specification.options.values.mirrors.count)
        let isGivenUp = outcome == .succeeded ? places > 1 : left.point != nil && core.unwanted.contains(task)
        guard isGivenUp, case .file(let path)? = specification.options.values.body else { return }
        for mirror in 0..<places {
            guard let url = specification.location(mirror: mirror).url else { continue }
            let key = UploadKey(task: specification.id, url: url.text, file: path.revealed)
            core.store?.upload(UploadChange(key: key, record: nil), specification.session, at: core.now.instant)
        }
    }

    // MARK: From run to run

    private func recordPoint(_ point: UploadPoint?, _ attempt: Attempt) {
        guard let store = core.store, store.keeps(uploadsOf: attempt.specification.session),
            let record = uploadRecord(attempt, point)
        else { return }
        // What is a secret now may have been none when it was written down.
        let isKept = point != nil && !participants.answers.holdsCapturedSecret(attempt)
        store.upload(
            UploadChange(key: record.key, record: isKept ? record : nil), attempt.specification.session,
            at: core.now.instant)
    }

    /// Only of a file: anything else is made anew by the next run. Without a point only to be compared.
    private func uploadRecord(_ attempt: Attempt, _ point: UploadPoint?) -> UploadRecord? {
        guard let file = attempt.sending.planned?.file,
            let url = attempt.specification.location(mirror: attempt.mirror).url
        else { return nil }
        return UploadRecord(
            key: UploadKey(task: attempt.specification.id, url: url.text, file: file.path), identity: file.identity,
            shape: Self.shape(attempt.rules),
            point: point ?? UploadPoint(place: "", dialect: .standard, length: 0, sent: nil))
    }

    /// A fingerprint of what the upload was begun with: another type or method is another upload.
    private static func shape(_ rules: AttemptRules) -> Int64 {
        var print = Fingerprint()
        print.add(rules.method)
        for header in rules.headers where !header.value.isSecret && header.name.lowercased() != "user-agent" {
            print.add(header.name.lowercased())
            print.add(header.value.revealed)
        }
        return print.value
    }
}

/// What an attempt that did not come to its end leaves of a task's upload.
struct UploadLeft {
    /// What the server holds, if anything.
    var point: UploadPoint?
    /// How many attempts heard of no place to go on at.
    var unheard = 0
    /// The place among the task's `urls` that it was sent to.
    var mirror: Int
}

extension UploadPoint {
    fileprivate func isCurrent(at now: WallTime) -> Bool { expires.map { now < $0 } ?? true }
}

extension BodyFile {
    /// Which file it is and as it is, for comparing: nobody sets the time of a file's last change of any kind.
    var identity: [UInt8] {
        var bytes: [UInt8] = []
        for number in [
            Int64(bitPattern: facts.device), Int64(bitPattern: facts.inode), facts.size, facts.modifiedNanoseconds,
            facts.changedNanoseconds,
        ] {
            withUnsafeBytes(of: number.littleEndian) { bytes += $0 }
        }
        return bytes
    }
}
