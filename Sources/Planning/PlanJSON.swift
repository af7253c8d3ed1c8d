import Reporting
import TextFormats
import TransferModel

extension JobPlan {
    /// Returns the plan as JSON, as schemas/plan.schema.json describes it.
    package func json(runner version: String) -> [UInt8] {
        var json = JSONWriter(reserving: 4096 + 400 * outlooks.count)
        let redactor = job.redactor
        json.beginObject()
        json.member("format", "transfer-run/plan")
        json.member("version", 1)
        json.object("runner") { $0.member("version", version) }
        json.object("job") { json in
            json.member("name", redactor.redacted(name: job.name))
            json.member("file", job.file)
        }
        json.member("online", !words.isEmpty)
        writeTotals(to: &json)
        writeHosts(to: &json)
        writeSessions(to: &json)
        writeLimits(to: &json)
        writePolicy(to: &json)
        writeDisks(redactor, to: &json)
        json.object("estimate", duration) { json, duration in
            json.member("duration", duration.span)
            json.member("basis", duration.basis)
        }
        json.member("notes", texts: notes)
        json.objects("tasks", outlooks.indices) { writeTask($1, redactor, to: &$0) }
        json.endObject()
        return json.bytes + [0x0A]
    }

    private func writeTotals(to json: inout JSONWriter) {
        json.object("totals") { json in
            json.member("tasks", job.tasks.count)
            json.member("steps", steps.max() ?? 0)
            json.member("bytesToMove", totals.bytes)
            json.member("unknownSizes", totals.unknownSizes)
            json.member("bytesThere", totals.bytesThere)
            json.member("bytesKept", totals.bytesKept)
            json.object("actions") { json in
                for action in TaskOutlook.Action.allCases {
                    json.key(action.rawValue)
                    json.integer(Int64(totals.count[action] ?? 0))
                }
            }
        }
    }

    private func writeHosts(to json: inout JSONWriter) {
        json.objects("hosts", hosts) { json, host in
            json.member("host", host.origin.description)
            json.member("tasks", host.tasks)
            json.member("bytesToMove", host.bytes)
            json.member("unknownSizes", host.unknownSizes)
            json.member("maximumConnections", host.connections)
        }
    }

    private func writeSessions(to json: inout JSONWriter) {
        var counts = [Int](repeating: 0, count: job.sessions.count)
        for index in job.tasks.indices { counts[Int(job.tasks[index].session.raw)] += 1 }
        json.objects("sessions", job.sessions.indices) { json, index in
            let session = job.sessions[index]
            json.member("name", session.name)
            json.member("configuration", session.kind.rawValue)
            json.member("identifier", session.identifier)
            json.member("tasks", counts[index])
            json.member("maximumConnectionsPerHost", session.maximumConnectionsPerHost)
            json.member("maximumConcurrentTasks", session.maximumConcurrentTasks)
            json.member("requestsPerSecond", session.requestsPerSecond?.perSecond)
            json.member("bandwidth", session.bandwidth?.steadyRate)
        }
    }

    private func writeLimits(to json: inout JSONWriter) {
        json.object("limits") { json in
            json.member("maximumConcurrentTasks", job.limits.maximumConcurrentTasks)
            json.member("bandwidth", job.limits.bandwidth?.steadyRate)
            json.member("maximumBytes", job.limits.maximumBytes)
            json.member("timeout", job.limits.timeout)
            json.member("minimumFreeDisk", job.limits.minimumFreeDisk)
            json.objects("hosts", job.limits.hosts) { json, host in
                json.member("pattern", host.pattern.description)
                json.member("maximumConnections", host.maximumConnections)
                json.member("requestsPerSecond", host.requestsPerSecond?.perSecond)
            }
        }
    }

    private func writePolicy(to json: inout JSONWriter) {
        guard !policyNotes.isEmpty else { return }
        json.objects("policy", policyNotes) { json, note in
            json.member("what", note.what)
            json.member("rule", note.place)
        }
    }

    private func writeDisks(_ redactor: Redactor, to json: inout JSONWriter) {
        json.objects("disk", disks) { json, disk in
            json.member("folder", redactor.redacted(disk.folder) as String)
            json.member("needed", disk.needed)
            json.member("free", disk.free)
        }
        json.objects("removals", removals) { json, removal in
            json.member("group", redactor.redacted(name: removal.group))
            json.member("files", removal.count)
        }
    }

    // MARK: Tasks

    private func writeTask(_ index: Int, _ redactor: Redactor, to json: inout JSONWriter) {
        let outlook = outlooks[index]
        let options = job.tasks[index].options
        json.member("id", redactor.redacted(name: job.tasks[index].id))
        json.member("type", job.tasks[index].type.rawValue)
        json.member("session", job.sessions[Int(job.tasks[index].session.raw)].name)
        json.member("group", job.tasks[index].group.map { job.groups[Int($0.raw)].name })
        json.member("step", steps[index])
        let needs = job.tasks[index].needs.map { redactor.redacted(name: job.tasks[Int($0.raw)].id) }
        json.member("needs", texts: needs + options.values.neededGroups.map { "group.\($0)" })
        json.member("method", job.tasks[index].effectiveMethod)
        json.member("url", redactor.redacted(job.tasks[index].location.shown) as String)
        json.member("places", max(1, options.values.mirrors.count))
        json.member("host", origin(of: index)?.description)
        let to = options.values.object?.name.redacted ?? path(job.tasks[index].destination, redactor)
        json.member("to", job.tasks[index].toStandardOutput ? "-" : to)
        json.member("action", outlook.action.rawValue)
        json.member("why", outlook.why)
        json.member("signedBy", options.values.checksum?.signature.map { "\($0.key)" })
        json.member("size", outlook.size)
        json.member("sizeFrom", outlook.sizeSource?.rawValue)
        json.member("bytesThere", outlook.bytesThere)
        json.member("bytesKept", outlook.bytesKept)
        json.member("bytesToMove", outlook.bytesToMove)
        json.object("server", words.isEmpty ? nil : words[index]) { write($1, redactor, to: &$0) }
    }

    /// Returns the path relative to the job's folder where it lies there, as in the report.
    private func path(_ path: String?, _ redactor: Redactor) -> String? {
        guard let path else { return nil }
        let folder = job.baseDirectory.hasSuffix("/") ? job.baseDirectory : job.baseDirectory + "/"
        guard path.utf8.starts(with: folder.utf8), path.utf8.count > folder.utf8.count else {
            return redactor.redacted(path) as String
        }
        let relative = String(decoding: path.utf8.dropFirst(folder.utf8.count), as: UTF8.self)
        return redactor.redacted(relative) as String
    }

    private func write(_ word: ServerAnswer, _ redactor: Redactor, to json: inout JSONWriter) {
        switch word.result {
        case .answered:
            json.member("asked", true)
            json.member("error", nil as String?)
        case .failed(let why):
            json.member("asked", true)
            json.member("error", redactor.redacted(why) as String)
        case .notAsked(let why):
            json.member("asked", false)
            json.member("error", why)
        }
        json.member("status", word.status)
        json.member("url", redactor.redacted(word.url))
        json.member("length", word.length)
        json.member("etag", redactor.redacted(word.etag))
        json.member("lastModified", word.lastModified)
        json.member("changed", word.isChanged)
        json.member("latency", word.latency)
    }
}

extension Bandwidth {
    /// The rate in bytes a second where it is the same all day.
    fileprivate var steadyRate: Int64? { if case .steady(let rate) = self { rate } else { nil } }
}
