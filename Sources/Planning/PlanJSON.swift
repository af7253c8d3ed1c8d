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
        json.key("runner")
        json.beginObject()
        json.member("version", version)
        json.endObject()
        json.key("job")
        json.beginObject()
        json.member("name", redactor.redacted(name: job.name))
        json.member("file", job.file)
        json.endObject()
        json.member("online", !words.isEmpty)
        writeTotals(to: &json)
        writeHosts(to: &json)
        writeSessions(to: &json)
        writeLimits(to: &json)
        writeDisks(redactor, to: &json)
        json.key("estimate")
        if let duration {
            json.beginObject()
            json.member("duration", duration.span)
            json.member("basis", duration.basis)
            json.endObject()
        } else {
            json.null()
        }
        json.key("notes")
        json.beginArray()
        for note in notes { json.string(note) }
        json.endArray()
        json.key("tasks")
        json.beginArray()
        for index in outlooks.indices { writeTask(index, redactor, to: &json) }
        json.endArray()
        json.endObject()
        return json.bytes + [0x0A]
    }

    private func writeTotals(to json: inout JSONWriter) {
        json.key("totals")
        json.beginObject()
        json.member("tasks", job.tasks.count)
        json.member("steps", steps.max() ?? 0)
        json.member("bytesToMove", totals.bytes)
        json.member("unknownSizes", totals.unknownSizes)
        json.member("bytesThere", totals.bytesThere)
        json.member("bytesKept", totals.bytesKept)
        json.key("actions")
        json.beginObject()
        for action in TaskOutlook.Action.allCases {
            json.key(action.rawValue)
            json.integer(Int64(totals.count[action] ?? 0))
        }
        json.endObject()
        json.endObject()
    }

    private func writeHosts(to json: inout JSONWriter) {
        json.key("hosts")
        json.beginArray()
        for host in hosts {
            json.beginObject()
            json.member("host", host.origin.description)
            json.member("tasks", host.tasks)
            json.member("bytesToMove", host.bytes)
            json.member("unknownSizes", host.unknownSizes)
            json.member("maximumConnections", host.connections)
            json.endObject()
        }
        json.endArray()
    }

    private func writeSessions(to json: inout JSONWriter) {
        var counts = [Int](repeating: 0, count: job.sessions.count)
        for index in job.tasks.indices { counts[Int(job.tasks[index].session.raw)] += 1 }
        json.key("sessions")
        json.beginArray()
        for (session, count) in zip(job.sessions, counts) {
            json.beginObject()
            json.member("name", session.name)
            json.member("configuration", session.kind.rawValue)
            json.member("identifier", session.identifier)
            json.member("tasks", count)
            json.member("maximumConnectionsPerHost", session.maximumConnectionsPerHost)
            json.member("maximumConcurrentTasks", session.maximumConcurrentTasks)
            json.member("requestsPerSecond", session.requestsPerSecond?.perSecond)
            json.member("bandwidth", session.bandwidth?.steadyRate)
            json.endObject()
        }
        json.endArray()
    }

    private func writeLimits(to json: inout JSONWriter) {
        json.key("limits")
        json.beginObject()
        json.member("maximumConcurrentTasks", job.limits.maximumConcurrentTasks)
        json.member("bandwidth", job.limits.bandwidth?.steadyRate)
        json.member("maximumBytes", job.limits.maximumBytes)
        json.member("timeout", job.limits.timeout)
        json.member("minimumFreeDisk", job.limits.minimumFreeDisk)
        json.key("hosts")
        json.beginArray()
        for host in job.limits.hosts {
            json.beginObject()
            json.member("pattern", host.pattern.description)
            json.member("maximumConnections", host.maximumConnections)
            json.member("requestsPerSecond", host.requestsPerSecond?.perSecond)
            json.endObject()
        }
        json.endArray()
        json.endObject()
    }

    private func writeDisks(_ redactor: Redactor, to json: inout JSONWriter) {
        json.key("disk")
        json.beginArray()
        for disk in disks {
            json.beginObject()
            json.member("folder", redactor.redacted(disk.folder) as String)
            json.member("needed", disk.needed)
            json.member("free", disk.free)
            json.endObject()
        }
        json.endArray()
        json.key("removals")
        json.beginArray()
        for removal in removals {
            json.beginObject()
            json.member("group", redactor.redacted(name: removal.group))
            json.member("files", removal.count)
            json.endObject()
        }
        json.endArray()
    }

    // MARK: Tasks

    private func writeTask(_ index: Int, _ redactor: Redactor, to json: inout JSONWriter) {
        let outlook = outlooks[index]
        let options = job.tasks[index].options
        json.beginObject()
        json.member("id", redactor.redacted(name: job.tasks[index].id))
        json.member("type", job.tasks[index].type.rawValue)
        json.member("session", job.sessions[Int(job.tasks[index].session.raw)].name)
        json.member("group", job.tasks[index].group.map { job.groups[Int($0.raw)].name })
        json.member("step", steps[index])
        json.key("needs")
        json.beginArray()
        for need in job.tasks[index].needs { json.string(redactor.redacted(name: job.tasks[Int(need.raw)].id)) }
        for group in options.values.neededGroups { json.string("group.\(group)") }
        json.endArray()
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
        json.key("server")
        if words.isEmpty { json.null() } else { write(words[index], redactor, to: &json) }
        json.endObject()
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
        json.beginObject()
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
        json.endObject()
    }
}

extension Bandwidth {
    /// The rate in bytes a second where it is the same all day.
    fileprivate var steadyRate: Int64? { if case .steady(let rate) = self { rate } else { nil } }
}
