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
        writer.object("response", fold.response) { $0.members(of: $1) }
        result(fold, to: &writer)
        times(fold, to: &writer)
        writer.objects("attempts", fold.attempts) { $0.members(of: $1) }
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
        writer.object("cache", record.cache) { writer, cache in
            writer.member("stored", cache.refusal == nil)
            writer.member("reason", cache.refusal)
        }
    }

    private func request(_ fold: TaskFold, to writer: inout JSONWriter) {
        let specification = report.job.tasks[task]
        let method = specification.effectiveMethod
        let url = fold.firstURLIfLate(specification) ?? report.redactor.redacted(specification.location.shown)
        writer.object("request") { writer in
            writer.object("original") { writer in
                writer.member("method", method)
                writer.member("url", url)
            }
            writer.object("current") { writer in
                writer.member("method", fold.response?.method ?? fold.hop?.method ?? method)
                writer.member("url", fold.response?.url ?? fold.hop?.to ?? fold.start?.url ?? url)
            }
        }
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
        writer.objects("pages", fold.pages) { writer, page in
            writer.member("number", page.number)
            writer.member("url", page.url)
            writer.member("status", page.status)
            file(page.file, to: &writer)
            writer.key("body")
            if let body = page.body { TaskBody.write(body, isCut: page.isCut, to: &writer) } else { writer.null() }
        }
    }

    private func file(_ file: FileRecord?, to writer: inout JSONWriter) {
        writer.object("file", file) { writer, file in
            writePath(file.path, to: &writer)
            writer.member("bytes", file.bytes)
            writer.member("checksum", checksum: file.checksum)
        }
    }

    private func parts(to writer: inout JSONWriter) {
        writer.objects("parts", record.parts) { writer, part in
            writer.member("headers", headers: part.headers)
            writer.member("bytes", part.size)
            TaskBody.writeMembers(part.body, to: &writer)
        }
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

    /// Compares bytes: a path is bytes, and walking characters costs more than rendering the file.
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

    /// Writes redirects, challenges, the error and the explanation.
    private func detours(_ fold: TaskFold, to writer: inout JSONWriter) {
        writer.objects("redirects", fold.redirects) { $0.members(of: $1) }
        writer.objects("challenges", fold.challenges) { $0.members(of: $1) }
        writer.member("error", error: record.error)
        writer.member("explanation", explanation(fold))
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
