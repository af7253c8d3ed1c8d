package import Reporting
internal import TextFormats
internal import TransferModel

/// Merges the reports of several runs, such as those of a job's shards, into one. The tasks are copied as they stand.
package struct ReportMerge {
    private let files: [ReportFile]

    package init(_ files: [ReportFile]) { self.files = files }

    /// Writes the merged report. Throws a `ReportProblem` if a report cannot be read or two reports have a task of one
    /// id, and an `OutputProblem` if the result cannot be written.
    package func write(to sink: any ByteSink) throws {
        let readers = try files.map { try ReportReader($0, reading: []) }
        let output = ExportOutput(sink)
        var json = JSONWriter()
        output.append(&json) { MergedHead(readers).write(to: &$0) }
        output.write("\n")
        var homes: [ExactText: Int] = [:]
        var isFirst = true
        for (place, reader) in readers.enumerated() {
            while let (task, text) = try reader.nextWithText() {
                if let other = homes.updateValue(place, forKey: ExactText(task.id)) {
                    let who = place == other ? files[place].name : "\(files[other].name) and \(files[place].name)"
                    let verb = place == other ? "has" : "both have"
                    throw ReportProblem("\(who) \(verb) a task `\(SafeText.line(task.id))`")
                }
                if !isFirst { output.write(",\n") }
                isFirst = false
                output.bytes += text
                output.drain()
            }
        }
        output.write("\n]}\n")
        output.drain(isLast: true)
        if let problem = output.problem { throw problem }
    }
}

/// The merged report's members before `tasks`.
private struct MergedHead {
    private let readers: [ReportReader]
    private var heads: [ReportHead] { readers.map(\.head) }

    init(_ readers: [ReportReader]) { self.readers = readers }

    func write(to json: inout JSONWriter) {
        json.beginObject()
        json.member("format", ReportHead.format)
        json.member("version", 1)
        // The first report's `runner` and `job` stand for all.
        for member in [ReportHead.Member.runner, .job] {
            guard let text = readers.first?.text(of: member) else { continue }
            json.bytes.append(UInt8(ascii: ","))
            json.bytes += text
        }
        let (start, end) = (heads.compactMap(\.startedAt).min(), heads.compactMap(\.finishedAt).max())
        json.member("startedAt", start)
        json.member("finishedAt", end)
        json.member("duration", start.flatMap { start in end.map { $0 - start } })
        json.member("outcome", outcome?.rawValue)
        json.member("exitStatus", exitStatus)
        json.member("stopped", heads.lazy.compactMap(\.stopped).first)
        writeTotals(to: &json)
        writeSessions(to: &json)
        for member in [ReportHead.Member.groups, .hooks] { writeLists(member, to: &json) }
        json.key("tasks")
        json.beginArray()
    }

    /// The worst outcome of the runs; `nil` if one of them did not end.
    private var outcome: RunOutcome? {
        let outcomes = heads.map(\.outcome)
        if outcomes.contains(nil) { return nil }
        return [RunOutcome.cancelled, .failed, .deferred].first { outcomes.contains($0) } ?? .succeeded
    }

    /// The exit status that would win if several applied to one run; `nil` if one of the runs did not end.
    private var exitStatus: Int? {
        let statuses = heads.map(\.exitStatus)
        if statuses.contains(nil) { return nil }
        let known = statuses.compactMap { $0 }
        let order = [2, 4, 5, 130, 143, 129, 1, 75]
        // Status 9 (nothing changed) loses against any other: something changed in one of the runs.
        return order.first { known.contains($0) } ?? known.first { !order.contains($0) && $0 != 9 }
            ?? known.first
    }

    private func writeTotals(to json: inout JSONWriter) {
        func sum(_ member: (ReportHead.Totals) -> Int) -> Int { heads.reduce(0) { $0 + member($1.totals) } }
        func sum(_ member: (ReportHead.Totals) -> Int64) -> Int64 { heads.reduce(0) { $0 + member($1.totals) } }
        json.object("totals") { json in
            json.member("tasks", sum { $0.tasks })
            json.member("succeeded", sum { $0.succeeded })
            json.member("failed", sum { $0.failed })
            json.member("cancelled", sum { $0.cancelled })
            json.member("skipped", sum { $0.skipped })
            json.member("deferred", sum { $0.deferred })
            json.member("tolerated", sum { $0.tolerated })
            json.member("attempts", sum { $0.attempts })
            json.member("retries", sum { $0.retries })
            json.member("redirects", sum { $0.redirects })
            json.member("cacheHits", sum { $0.cacheHits })
            json.member("unchanged", sum { $0.unchanged })
            json.member("bytesReceived", sum { $0.bytesReceived })
            json.member("bytesSent", sum { $0.bytesSent })
            json.member("bytesSaved", sum { $0.bytesSaved })
        }
    }

    private func writeSessions(to json: inout JSONWriter) {
        json.objects("sessions", Self.joined(heads.flatMap(\.sessions))) { json, session in
            json.member("name", session.name)
            json.member("configuration", session.configuration)
            json.member("identifier", session.identifier)
            json.member("reassociated", session.reassociated)
            json.member("insecure", session.insecure)
            json.member("connectionsOpened", session.connectionsOpened)
            json.member("connectionsReused", session.connectionsReused)
            json.objects("hosts", session.hosts) { json, host in
                json.member("host", host.host)
                json.member("peakConnections", host.peakConnections)
                json.member("tasks", host.tasks)
                json.object("connectionLimit", host.connectionLimit) { json, limit in
                    json.member("minimum", limit.minimum)
                    json.member("maximum", limit.maximum)
                    json.member("first", limit.first)
                    json.member("last", limit.last)
                    json.objects("steps", limit.steps) { json, step in
                        json.member("time", step.time)
                        json.member("from", step.from)
                        json.member("to", step.to)
                        json.member("reason", step.reason)
                    }
                }
            }
        }
    }

    /// Joins sessions of one name. Merged runs may have run at the same time, so peaks add up.
    private static func joined(_ sessions: [ReportHead.Session]) -> [ReportHead.Session] {
        var joined: [ReportHead.Session] = []
        for session in sessions {
            guard let place = joined.firstIndex(where: { $0.name.isExactly(session.name) }) else {
                joined.append(session)
                continue
            }
            joined[place].reassociated = joined[place].reassociated || session.reassociated
            joined[place].insecure = joined[place].insecure || session.insecure
            joined[place].connectionsOpened = sum(joined[place].connectionsOpened, session.connectionsOpened)
            joined[place].connectionsReused = sum(joined[place].connectionsReused, session.connectionsReused)
            for host in session.hosts {
                if let other = joined[place].hosts.firstIndex(where: { $0.host.isExactly(host.host) }) {
                    joined[place].hosts[other].peakConnections += host.peakConnections
                    joined[place].hosts[other].tasks += host.tasks
                    // Of runs at the same time each found its own: the first stands for them.
                    joined[place].hosts[other].connectionLimit =
                        joined[place].hosts[other].connectionLimit ?? host.connectionLimit
                } else {
                    joined[place].hosts.append(host)
                }
            }
        }
        return joined
    }

    private static func sum(_ left: Int?, _ right: Int?) -> Int? {
        guard let left, let right else { return left ?? right }
        return left + right
    }

    /// Writes the list `member` with the elements of every report's list, one report after the other.
    private func writeLists(_ member: ReportHead.Member, to json: inout JSONWriter) {
        json.key(member == .groups ? "groups" : "hooks")
        json.beginArray()
        for reader in readers {
            guard let text = reader.text(of: member), let open = text.firstIndex(of: UInt8(ascii: "[")),
                let close = text.lastIndex(of: UInt8(ascii: "]"))
            else { continue }
            let elements = text[text.index(after: open)..<close]
            if elements.allSatisfy({ $0 <= 0x20 }) { continue }
            json.raw(Array(elements))
        }
        json.endArray()
    }
}
