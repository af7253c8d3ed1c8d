import HTTPRules
package import TransferModel

/// Describes what a run would do for one task, as far as job file and disk say.
package struct TaskOutlook: Hashable, Sendable {
    /// What the task begins with.
    package enum Action: String, CaseIterable, Sendable {
        /// A whole request.
        case fetch
        /// The rest of a partial file, from its end on.
        case resume
        /// A conditional request for a file that is there: unchanged, it costs one response without a body.
        case revalidate
        /// The file is there; its bytes are compared with the job's checksum, and it is fetched only if they differ.
        case verify
        /// Nothing is sent: the file that is there is the right one, or `existing: skip` keeps it.
        case keep
        /// A response from the cache, without a request.
        case cache
        /// A conditional request for a cached response.
        case validateCache
        /// A request with a body.
        case send
        /// A HEAD that asks whether the body is there already, and the body only if it is not.
        case sendIfMissing
        /// The rest of an unfinished upload.
        case resumeUpload
        /// A file of this machine or a `data:` URL: no server is asked.
        case local
        /// The tasks that take the template's place are not known before the run.
        case expand
        /// The task fails: `existing: fail`, and something is there; or what is there is no file.
        case refuse
    }

    /// Where a size is known from.
    package enum SizeSource: String, CaseIterable, Sendable {
        case expect, sizeHint, partial, file, cache, body, server
    }

    /// What the task begins with.
    package var action: Action
    /// Length of the whole body in bytes; `nil` if it is unknown.
    package var size: Int64?
    /// Where `size` is known from.
    package var sizeSource: SizeSource?
    /// Bytes of the file that is there; `nil` where there is none.
    package var bytesThere: Int64?
    /// Bytes of a partial file or unfinished upload that need not move again.
    package var bytesKept: Int64?
    /// Reason for the action in one short phrase, where the action alone does not say it.
    package var why: String?

    package init(_ action: Action, size: Int64? = nil, from source: SizeSource? = nil, why: String? = nil) {
        self.action = action
        self.size = size
        sizeSource = size == nil ? nil : source
        self.why = why
    }

    /// Bytes that the run would move if nothing changed at the servers; `nil` if that is unknown.
    package var bytesToMove: Int64? {
        switch action {
        case .revalidate, .keep, .cache, .validateCache, .local, .refuse: 0
        case .verify, .sendIfMissing, .expand: nil
        case .fetch, .send: size
        case .resume, .resumeUpload: size.map { max(0, $0 - (bytesKept ?? 0)) }
        }
    }

    /// Whether a file from a server is in its place once the task succeeded.
    var bringsFile: Bool {
        switch action {
        case .fetch, .resume, .revalidate, .verify, .keep: true
        case .cache, .validateCache, .send, .sendIfMissing, .resumeUpload, .local, .expand, .refuse: false
        }
    }

    /// Whether a server would be asked.
    package var asksServer: Bool {
        switch action {
        case .keep, .cache, .local, .expand, .refuse: false
        case .fetch, .resume, .revalidate, .verify, .validateCache, .send, .sendIfMissing, .resumeUpload: true
        }
    }
}

extension TaskOutlook {
    /// Decides what a run at `now` would do for a task.
    package static func of(_ task: TaskSpecification, _ facts: DiskFacts, now: WallTime) -> TaskOutlook {
        if task.isTemplate { return TaskOutlook(.expand) }
        let isLocal = task.location.url.map { $0.schemeIs("file") || $0.schemeIs("data") } ?? false
        var outlook =
            if isLocal {
                TaskOutlook(.local)
            } else {
                switch task.type {
                case .download: download(task, facts, now)
                case .data: data(task, facts, now)
                case .upload: upload(task, facts)
                }
            }
        if case .file(let stamp) = facts.standing { outlook.bytesThere = stamp.size }
        return outlook
    }

    /// Returns the size that the job itself states.
    private static func stated(_ values: TaskOptions.Values) -> (size: Int64?, source: SizeSource) {
        values.expect.size.map { ($0, .expect) } ?? (values.sizeHint, .sizeHint)
    }

    // MARK: Downloads

    private static func download(_ task: TaskSpecification, _ facts: DiskFacts, _ now: WallTime) -> TaskOutlook {
        let values = task.options.values
        let stated = stated(values)
        var whole = TaskOutlook(.fetch, size: stated.size, from: stated.source)
        if let partial = facts.partial {
            whole.action = .resume
            whole.bytesKept = partial
            if let total = facts.partialTotal { (whole.size, whole.sizeSource) = (total, .partial) }
        }
        switch facts.standing {
        case .nothing: return whole
        case .unknown:
            if let object = values.object { return put(object, whole, facts) }
            if task.destination == nil, !task.toStandardOutput { whole.why = "where it goes is known in the run" }
            return whole
        case .noFile:
            return TaskOutlook(.refuse, why: "what stands at its destination is no file")
        case .belowFile:
            return TaskOutlook(.refuse, why: "a file stands where its destination needs a folder")
        case .file(let stamp): return standing(stamp, whole, facts, values, now)
        }
    }

    /// Returns what a run would do for a file that becomes an object of a store, as far as that is known without the
    /// store.
    private static func put(_ object: ObjectPlace, _ whole: TaskOutlook, _ facts: DiskFacts) -> TaskOutlook {
        let name = object.name.redacted
        switch object.existing {
        case .skip: return whole.because("unless \(name) is there")
        case .fail: return whole.because("fails if \(name) is there")
        case .replace: return whole.because("put to \(name)")
        case .revalidate:
            guard facts.wasSent else { return whole.because("put to \(name)") }
            var outlook = whole
            outlook.action = .revalidate
            return outlook.because("an earlier run put \(name)")
        }
    }

    private static func standing(
        _ stamp: FileStamp, _ whole: TaskOutlook, _ facts: DiskFacts, _ values: TaskOptions.Values, _ now: WallTime
    ) -> TaskOutlook {
        switch values.existing {
        case .skip: return TaskOutlook(.keep, size: stamp.size, from: .file, why: "`existing: skip`")
        case .fail: return TaskOutlook(.refuse, why: "`existing: fail`, and the file is there")
        case .replace: return whole.because("`existing: replace`")
        case .revalidate: break
        }
        if values.checksum != nil { return checked(stamp, whole, facts, values) }
        // The file's checksum is taken as right: the run reads the file where it has to.
        if let kept = facts.kept {
            let condition = Revalidation.condition(
                kept, file: stamp, found: kept.checksum, boot: kept.boot ?? 0, values)
            if condition != nil {
                return TaskOutlook(.revalidate, size: stamp.size, from: .file, why: kept.etag == nil ? "by date" : nil)
            }
            if !kept.file.looksLike(stamp) {
                return byDate(stamp, values, now) ?? whole.because("the file was changed here since it was fetched")
            }
            return whole.because("the job asks for it in another way than when it was fetched")
        }
        return byDate(stamp, values, now) ?? whole.because("nothing is known of the file that is there")
    }

    private static func byDate(_ stamp: FileStamp, _ values: TaskOptions.Values, _ now: WallTime) -> TaskOutlook? {
        guard Revalidation.condition(unknown: stamp, at: now, values) != nil else { return nil }
        return TaskOutlook(.revalidate, size: stamp.size, from: .file, why: "by the file's own date")
    }

    private static func checked(
        _ stamp: FileStamp, _ whole: TaskOutlook, _ facts: DiskFacts, _ values: TaskOptions.Values
    ) -> TaskOutlook {
        if let size = values.expect.size, size != stamp.size {
            return whole.because("the file that is there has \(stamp.size) bytes")
        }
        switch facts.proof {
        case .met: return TaskOutlook(.keep, size: stamp.size, from: .file, why: "it has the checksum")
        case .missed: return whole.because("the file that is there has another checksum")
        case .notComputed: break
        }
        guard case .literal? = values.checksum else {
            var outlook = whole
            outlook.action = facts.partial == nil ? .verify : .resume
            return outlook.because("its checksum is known in the run")
        }
        return TaskOutlook(
            .verify, size: whole.size ?? stamp.size, from: whole.size == nil ? .file : whole.sizeSource,
            why: "its checksum was not computed")
    }

    private func because(_ why: String) -> TaskOutlook {
        var outlook = self
        outlook.why = why
        return outlook
    }

    // MARK: Data tasks and uploads

    private static func data(_ task: TaskSpecification, _ facts: DiskFacts, _ now: WallTime) -> TaskOutlook {
        let values = task.options.values
        guard values.body == nil else { return TaskOutlook(.send, size: facts.bodyLength, from: .body) }
        let stated = stated(values)
        let whole = TaskOutlook(.fetch, size: stated.size, from: stated.source)
        guard (values.method ?? "GET") == "GET", values.policies.cachePolicy != .reloadIgnoringCacheData,
            let newest = facts.cached.max(by: { $0.date < $1.date })
        else { return whole }
        let isUsed =
            values.policies.cachePolicy != .useProtocolCachePolicy
            || !newest.needsValidation && Freshness(of: newest, guesses: facts.guessesLifetime, now: now).isFresh
        if isUsed { return TaskOutlook(.cache, size: newest.bodyLength, from: .cache) }
        guard newest.condition != nil else { return whole.because("the cached response is stale") }
        return TaskOutlook(.validateCache, size: newest.bodyLength, from: .cache)
    }

    private static func upload(_ task: TaskSpecification, _ facts: DiskFacts) -> TaskOutlook {
        let whole = TaskOutlook(.send, size: facts.bodyLength, from: .body)
        guard let existing = task.options.values.ownExisting, task.effectiveMethod == "PUT" else {
            return unfinished(whole, facts)
        }
        if existing == .skip || existing == .revalidate && facts.wasSent {
            return TaskOutlook(.sendIfMissing, size: facts.bodyLength, from: .body)
        }
        return unfinished(whole, facts)
    }

    private static func unfinished(_ whole: TaskOutlook, _ facts: DiskFacts) -> TaskOutlook {
        guard let uploaded = facts.uploaded, uploaded > 0 else { return whole }
        var outlook = whole
        outlook.action = .resumeUpload
        outlook.bytesKept = uploaded
        return outlook
    }
}
