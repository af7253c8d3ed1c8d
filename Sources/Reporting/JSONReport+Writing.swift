internal import TextFormats
internal import TransferModel

extension JSONReport {
    /// Proves that a report can be put at `path`, before any work is done: nothing of it is written yet.
    package static func preflight(_ path: String) throws(OutputProblem) {
        try AtomicFile.preflight(path)
    }

    /// Puts the whole report at `path` in one step, or changes nothing. Can be called again when hooks have run. With
    /// `isDurable` a power cut that comes after it does not take it away.
    package func write(to path: String, isDurable: Bool = false) throws(OutputProblem) {
        isWritten = false
        try put(at: path, isDurable: isDurable)
        isWritten = true
    }

    private func put(at path: String, isDurable: Bool) throws(OutputProblem) {
        if let draft = complete(path, head(), Self.end), (try? draft.publish(isDurable: isDurable)) != nil { return }
        let file = try AtomicFile(path)
        try write(to: file)
        try file.commit(isDurable: isDurable)
    }

    private static let end = Array("\n]}\n".utf8)

    /// Upper bound in bytes for the part before the tasks; only unforeseen content, such as a long error, exceeds it.
    var roomForHead: Int { head().count + 512 + 256 * job.sessions.count + 96 * job.groups.count }

    /// Writes the whole report piece by piece, straight from the rendered tasks.
    package func write(to sink: some ByteSink) throws(OutputProblem) {
        var buffer = head()
        renderUnfinished()
        try rendered.forEachPiece { (piece) throws(OutputProblem) in
            buffer += piece
            if buffer.count >= 256 << 10 {
                try sink.write(buffer)
                buffer.removeAll(keepingCapacity: true)
            }
        }
        buffer += Self.end
        try sink.write(buffer)
    }

    /// Returns the part of the report before the tasks.
    private func head() -> [UInt8] {
        var writer = JSONWriter(reserving: 4096)
        writer.beginObject()
        writer.member("format", "transfer-run/report")
        writer.member("version", 1)
        if isSimulated { writer.member("simulated", true) }
        writeRunnerAndJob(to: &writer)
        writer.member("startedAt", startedAt)
        writer.member("finishedAt", finishedAt)
        writer.member("duration", run?.duration)
        writer.member("outcome", (correction?.outcome ?? run?.outcome)?.rawValue)
        writer.member("exitStatus", correction?.exitStatus ?? run?.exitStatus)
        writer.member("stopped", stopped)
        writeTotals(to: &writer)
        writeSessions(to: &writer)
        writeGroups(to: &writer)
        writeHooks(to: &writer)
        writer.key("tasks")
        writer.beginArray()
        writer.bytes.append(UInt8(ascii: "\n"))
        return writer.bytes
    }

    private func writeRunnerAndJob(to writer: inout JSONWriter) {
        writer.object("runner") { writer in
            writer.member("version", runner.version)
            writer.member("libcurl", runner.libcurl.text)
            writer.member("pid", Int(runner.pid))
            writer.member("host", runner.host)
            guard let confined = runner.confined else { return }
            writer.object("confined") { writer in
                writer.member("folder", confined.folder)
                writer.member("missing", texts: confined.missing)
            }
        }
        writer.object("job") { writer in
            writer.member("name", redactor.redacted(name: job.name))
            writer.member("file", redactor.redacted(name: job.file))
            writer.member("sha256", job.sha256?.text)
            writer.member("variables", variables: JobProofs.hidden(in: job).map { $0.redacted(by: redactor) })
        }
    }

    private func writeTotals(to writer: inout JSONWriter) {
        writer.object("totals") { writer in
            writer.member("tasks", taskCount)
            for outcome in [TaskOutcome.succeeded, .failed, .cancelled, .skipped] {
                writer.key(outcome.rawValue)
                writer.integer(Int64(totals.outcomes[outcome] ?? 0))
            }
            writer.member("deferred", (totals.outcomes[.deferred] ?? 0) + unfinishedCount)
            writer.member("tolerated", totals.tolerated)
            writer.member("attempts", totals.attempts)
            writer.member("retries", totals.retries)
            writer.member("redirects", totals.redirects)
            writer.member("cacheHits", totals.cacheHits)
            writer.member("unchanged", totals.unchanged)
            writer.member("bytesReceived", totals.bytesReceived)
            writer.member("bytesSent", totals.bytesSent)
            writer.member("bytesSaved", totals.bytesSaved)
        }
    }

    private func writeSessions(to writer: inout JSONWriter) {
        writer.objects("sessions", job.sessions.indices) { writer, index in
            let (session, record) = (job.sessions[index], sessions[index])
            let place = SessionIndex(raw: UInt16(index))
            writer.member("name", session.name)
            writer.member("configuration", session.kind.rawValue)
            writer.member("identifier", session.identifier)
            writer.member("reassociated", reassociated.contains(place))
            writer.member("insecure", session.tls.policy == .insecure)
            writer.member("connectionsOpened", record?.connectionsOpened)
            writer.member("connectionsReused", record?.connectionsReused)
            writer.objects("hosts", record?.hosts ?? []) { writer, host in
                writer.members(of: host)
                writer.object("connectionLimit", session.connectionRange) { writer, range in
                    let steps = (steps[place] ?? []).filter { $0.step.origin == host.origin }
                    writer.member("minimum", range.minimum)
                    writer.member("maximum", range.maximum)
                    writer.member("first", steps.first?.step.from ?? range.first)
                    writer.member("last", steps.last?.step.to ?? range.first)
                    writer.objects("steps", steps) { writer, step in
                        writer.member("time", step.time)
                        writer.member("from", step.step.from)
                        writer.member("to", step.step.to)
                        writer.member("reason", step.step.reason.rawValue)
                    }
                }
            }
        }
    }

    private func writeGroups(to writer: inout JSONWriter) {
        writer.objects("groups", job.groups) { writer, group in
            let result = run?.groups.first { $0.name == group.name }
            writer.member("name", group.name)
            writer.member("published", result?.published ?? false)
            writer.member("removed", removed: result?.published == true ? removed[group.name] : nil)
            writer.member("error", error: result?.error?.redacted(by: redactor))
        }
    }

    private func writeHooks(to writer: inout JSONWriter) {
        writer.objects("hooks", taskHooks + hooks) { writer, hook in
            writer.member("command", texts: hook.command.map { redactor.redacted($0) })
            writer.member("exitStatus", hook.exitStatus)
            writer.member("duration", hook.duration)
            if let task = hook.task { writer.member("task", redactor.redacted(name: task)) }
        }
    }
}
