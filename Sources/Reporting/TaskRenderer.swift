internal import TextFormats
internal import TransferModel

/// One task of the report, from its specification and its fold.
struct TaskRenderer {
    let report: JSONReport
    let task: Int
    let finishedAt: WallTime?
    let record: TaskRecord

    func render(_ fold: TaskFold, to writer: inout JSONWriter) {
        writer.beginObject()
        identity(fold, to: &writer)
        request(fold, to: &writer)
        response(fold.response, to: &writer)
        result(fold, to: &writer)
        times(fold, to: &writer)
        attempts(fold.attempts, to: &writer)
        detours(fold, to: &writer)
        writer.endObject()
    }

    private func identity(_ fold: TaskFold, to writer: inout JSONWriter) {
        let redactor = report.redactor
        let options = report.job.tasks[task].options
        let group = report.job.tasks[task].group.map { report.job.groups[Int($0.raw)].name }
        writer.member("id", redactor.redacted(name: report.job.tasks[task].id))
        writer.member("session", report.job.sessionName(report.job.tasks[task].session))
        let line = report.job.tasks[task].line
        writer.member("line", line > 0 ? Int(line) : nil)
        if !report.job.members.isEmpty {
            writer.member("jobFile", report.redactor.redacted(report.job.file(of: TaskIndex(raw: UInt32(task)))))
        }
        writer.member("type", report.job.tasks[task].type.rawValue)
        writer.member("group", group)
        writer.member("description", redactor.redacted(options.values.description))
        writer.member("labels", variables: options.values.labels.map { $0.redacted(by: redactor) })
        writer.member("becameDownload", fold.becameDownload)
        writer.member("outcome", record.outcome.rawValue)
        writer.member("tolerated", record.tolerated)
        writer.member("changed", record.changed)
        writer.member("source", record.source?.rawValue)
        writer.key("cache")
        guard let cache = record.cache else { return writer.null() }
        writer.beginObject()
        writer.member("stored", cache.refusal == nil)
        writer.member("reason", cache.refusal)
        writer.endObject()
    }

    private func request(_ fold: TaskFold, to writer: inout JSONWriter) {
        let specification = report.job.tasks[task]
        let method = specification.effectiveMethod
        let url = fold.firstURLIfLate(specification) ?? report.redactor.redacted(specification.location.shown)
        writer.key("request")
        writer.beginObject()
        writer.key("original")
        request(method, url, to: &writer)
        writer.key("current")
        request(
            fold.response?.method ?? fold.hop?.method ?? method,
            fold.response?.url ?? fold.hop?.to ?? fold.start?.url ?? url, to: &writer)
        writer.endObject()
    }

    private func request(_ method: String, _ url: String, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("method", method)
        writer.member("url", url)
        writer.endObject()
    }

    private func response(_ response: ResponseRecord?, to writer: inout JSONWriter) {
        writer.key("response")
        guard let response else { return writer.null() }
        writer.beginObject()
        writer.members(of: response)
        writer.endObject()
    }

    private func result(_ fold: TaskFold, to writer: inout JSONWriter) {
        file(fold.file, to: &writer)
        writer.key("length")
        length(fold, to: &writer)
        writer.key("body")
        if let body = record.body { TaskBody.write(body, to: &writer) } else { writer.null() }
        parts(to: &writer)
        pages(fold, to: &writer)
        writer.member("captures", variables: record.captures)
    }

    private func pages(_ fold: TaskFold, to writer: inout JSONWriter) {
        writer.key("pages")
        writer.beginArray()
        for page in fold.pages {
            writer.beginObject()
            writer.member("number", page.number)
            writer.member("url", page.url)
            writer.member("status", page.status)
            file(page.file, to: &writer)
            writer.key("body")
            if let body = page.body { TaskBody.write(body, isCut: page.isCut, to: &writer) } else { writer.null() }
            writer.endObject()
        }
        writer.endArray()
    }

    private func file(_ file: FileRecord?, to writer: inout JSONWriter) {
        writer.key("file")
        guard let file else { return writer.null() }
        writer.beginObject()
        writePath(file.path, to: &writer)
        writer.member("bytes", file.bytes)
        writer.member("checksum", checksum: file.checksum)
        writer.endObject()
    }

    private func parts(to writer: inout JSONWriter) {
        writer.key("parts")
        writer.beginArray()
        for part in record.parts {
            writer.beginObject()
            writer.member("headers", headers: part.headers)
            writer.member("bytes", part.size)
            TaskBody.writeMembers(part.body, to: &writer)
            writer.endObject()
        }
        writer.endArray()
    }

    /// Whether anything proved where the body ended; unknown where no body was taken.
    private func length(_ fold: TaskFold, to writer: inout JSONWriter) {
        if record.lengthUnverified || fold.file?.lengthUnverified == true {
            writer.string("unverified")
        } else if record.outcome == .succeeded, record.source != .unchanged,
            fold.file != nil || record.body != nil || !record.parts.isEmpty
        {
            writer.string("verified")
        } else {
            writer.null()
        }
    }

    /// By bytes: a path is bytes, and walking characters costs more than rendering the file.
    private func writePath(_ path: String, to writer: inout JSONWriter) {
        writer.key("path")
        var path = path
        path.withUTF8 { path in
            let isInside = path.count > report.folder.count && path.starts(with: report.folder)
            writer.string(utf8: UnsafeBufferPointer(rebasing: path[(isInside ? report.folder.count : 0)...]))
        }
    }

    private func times(_ fold: TaskFold, to writer: inout JSONWriter) {
        writer.member("createdAt", fold.createdAt)
        writer.member("startedAt", fold.startedAt)
        writer.member("finishedAt", finishedAt)
        writer.member("duration", finishedAt == nil ? nil : record.duration)
        writer.member("waits", waits: record.waits)
    }

    private func attempts(_ attempts: [AttemptRecord], to writer: inout JSONWriter) {
        writer.key("attempts")
        writer.beginArray()
        for attempt in attempts {
            writer.beginObject()
            writer.members(of: attempt)
            writer.endObject()
        }
        writer.endArray()
    }

    /// Writes redirects, challenges, the error and the explanation.
    private func detours(_ fold: TaskFold, to writer: inout JSONWriter) {
        redirects(fold.redirects, to: &writer)
        challenges(fold.challenges, to: &writer)
        writer.member("error", error: record.error)
        writer.member("explanation", explanation(fold))
    }

    private func redirects(_ redirects: [RedirectRecord], to writer: inout JSONWriter) {
        writer.key("redirects")
        writer.beginArray()
        for redirect in redirects {
            writer.beginObject()
            writer.members(of: redirect)
            writer.endObject()
        }
        writer.endArray()
    }

    private func challenges(_ challenges: [ChallengeRecord], to writer: inout JSONWriter) {
        writer.key("challenges")
        writer.beginArray()
        for challenge in challenges {
            writer.beginObject()
            writer.members(of: challenge)
            writer.endObject()
        }
        writer.endArray()
    }

    /// The run's own explanation, or a sentence made from the outcome.
    private func explanation(_ fold: TaskFold) -> String? {
        record.explanation
            ?? Explanation.sentence(
                outcome: record.outcome, error: record.error, waits: record.waits, attempts: fold.attempts.count)
    }
}

extension TaskFold {
    /// The first URL tried, for a task whose URL needed captured values.
    fileprivate func firstURLIfLate(_ task: TaskSpecification) -> String? {
        task.location.url == nil ? firstURL : nil
    }
}

extension Job {
    func sessionName(_ index: SessionIndex) -> String? {
        Int(index.raw) < sessions.count ? sessions[Int(index.raw)].name : nil
    }
}
