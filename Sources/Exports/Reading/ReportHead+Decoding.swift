internal import TransferModel

extension ReportHead {
    /// A member that every report has before or after its tasks.
    enum Member: String, CaseIterable {
        case format, version, runner, job, startedAt, finishedAt, duration, outcome, exitStatus, totals, sessions,
            groups,
            hooks
    }

    /// Decodes one member other than `tasks` and returns which it was; an unknown one is skipped.
    mutating func decode(_ name: JSONCursor.Name, _ cursor: inout JSONCursor) throws(CursorStop) -> Member? {
        let member = Member(rawValue: try name.text())
        switch member {
        case .format: try Self.checkFormat(&cursor)
        case .version: try Self.checkVersion(&cursor)
        case .runner: try cursor.read(&runner)
        case .job: try cursor.read(&job)
        case .startedAt: try cursor.read(&startedAt)
        case .finishedAt: try cursor.read(&finishedAt)
        case .duration: try cursor.read(&duration)
        case .outcome: try cursor.read(&outcome)
        case .exitStatus: try cursor.read(&exitStatus)
        case .totals: try cursor.read(&totals)
        case .sessions: try cursor.read(&sessions)
        case .groups: try cursor.read(&groups)
        case .hooks: try cursor.read(&hooks)
        case nil: if case "stopped" = name { try cursor.read(&stopped) } else { try cursor.skip() }
        }
        return member
    }

    static let format = "transfer-run/report"

    private static func checkFormat(_ cursor: inout JSONCursor) throws(CursorStop) {
        _ = try cursor.peek()
        let start = cursor.offset
        guard try cursor.string() == format else {
            throw .broken("this is no report: `format` must be `\(format)`", at: start)
        }
    }

    private static func checkVersion(_ cursor: inout JSONCursor) throws(CursorStop) {
        _ = try cursor.peek()
        let start = cursor.offset
        let version = try Int64(&cursor)
        guard version == 1 else {
            throw .broken("version \(version) of the report is not known, only 1 is", at: start)
        }
    }
}

extension ReportHead.Runner: ReportRecord {
    mutating func decode(_ name: JSONCursor.Name, _ cursor: inout JSONCursor) throws(CursorStop) {
        switch name {
        case "version": try cursor.read(&version)
        case "libcurl": try cursor.read(&libcurl)
        case "pid": try cursor.read(&pid)
        case "host": try cursor.read(&host)
        default: try cursor.skip()
        }
    }
}

extension ReportHead.Job: ReportRecord {
    mutating func decode(_ name: JSONCursor.Name, _ cursor: inout JSONCursor) throws(CursorStop) {
        switch name {
        case "name": try cursor.read(&self.name)
        case "file": try cursor.read(&file)
        case "sha256": try cursor.read(&sha256)
        case "variables": variables = try NamedValue.list(&cursor)
        default: try cursor.skip()
        }
    }
}

extension NamedValue {
    static func list(_ cursor: inout JSONCursor) throws(CursorStop) -> [NamedValue] {
        var values: [NamedValue] = []
        try cursor.object { (name, cursor) throws(CursorStop) in
            let text =
                try cursor.peek() == UInt8(ascii: "\"")
                ? try cursor.string() : String(decoding: try cursor.raw(), as: UTF8.self)
            values.append(NamedValue(try name.text(), text))
        }
        return values
    }
}

extension ReportHead.Totals: ReportRecord {
    mutating func decode(_ name: JSONCursor.Name, _ cursor: inout JSONCursor) throws(CursorStop) {
        switch name {
        case "tasks": try cursor.read(&tasks)
        case "succeeded": try cursor.read(&succeeded)
        case "failed": try cursor.read(&failed)
        case "cancelled": try cursor.read(&cancelled)
        case "skipped": try cursor.read(&skipped)
        case "deferred": try cursor.read(&deferred)
        case "tolerated": try cursor.read(&tolerated)
        case "attempts": try cursor.read(&attempts)
        case "retries": try cursor.read(&retries)
        case "redirects": try cursor.read(&redirects)
        case "cacheHits": try cursor.read(&cacheHits)
        case "unchanged": try cursor.read(&unchanged)
        case "bytesReceived": try cursor.read(&bytesReceived)
        case "bytesSent": try cursor.read(&bytesSent)
        case "bytesSaved": try cursor.read(&bytesSaved)
        default: try cursor.skip()
        }
    }
}

extension ReportHead.Session: ReportRecord {
    mutating func decode(_ name: JSONCursor.Name, _ cursor: inout JSONCursor) throws(CursorStop) {
        switch name {
        case "name": try cursor.read(&self.name)
        case "configuration": try cursor.read(&configuration)
        case "identifier": try cursor.read(&identifier)
        case "reassociated": try cursor.read(&reassociated)
        case "insecure": try cursor.read(&insecure)
        case "connectionsOpened": try cursor.read(&connectionsOpened)
        case "connectionsReused": try cursor.read(&connectionsReused)
        case "hosts": try cursor.read(&hosts)
        default: try cursor.skip()
        }
    }
}

extension ReportHead.Host: ReportRecord {
    mutating func decode(_ name: JSONCursor.Name, _ cursor: inout JSONCursor) throws(CursorStop) {
        switch name {
        case "host": try cursor.read(&host)
        case "peakConnections": try cursor.read(&peakConnections)
        case "tasks": try cursor.read(&tasks)
        case "connectionLimit": try cursor.read(&connectionLimit)
        default: try cursor.skip()
        }
    }
}

extension ReportHead.ConnectionLimit: ReportRecord {
    mutating func decode(_ name: JSONCursor.Name, _ cursor: inout JSONCursor) throws(CursorStop) {
        switch name {
        case "minimum": try cursor.read(&minimum)
        case "maximum": try cursor.read(&maximum)
        case "first": try cursor.read(&first)
        case "last": try cursor.read(&last)
        case "steps": try cursor.read(&steps)
        default: try cursor.skip()
        }
    }
}

extension ReportHead.ConnectionLimit.Step: ReportRecord {
    mutating func decode(_ name: JSONCursor.Name, _ cursor: inout JSONCursor) throws(CursorStop) {
        switch name {
        case "time": try cursor.read(&time)
        case "from": try cursor.read(&from)
        case "to": try cursor.read(&to)
        case "reason": try cursor.read(&reason)
        default: try cursor.skip()
        }
    }
}

extension ReportHead.Group: ReportRecord {
    mutating func decode(_ name: JSONCursor.Name, _ cursor: inout JSONCursor) throws(CursorStop) {
        switch name {
        case "name": try cursor.read(&self.name)
        case "published": try cursor.read(&published)
        case "removed":
            removedCount = try cursor.optional { (cursor) throws(CursorStop) in try cursor.member("count") ?? 0 }
        case "error": try cursor.read(&error)
        default: try cursor.skip()
        }
    }
}

extension ReportHead.Hook: ReportRecord {
    mutating func decode(_ name: JSONCursor.Name, _ cursor: inout JSONCursor) throws(CursorStop) {
        switch name {
        case "task": try cursor.read(&task)
        case "command": try cursor.read(&command)
        case "exitStatus": try cursor.read(&exitStatus)
        case "duration": try cursor.read(&duration)
        default: try cursor.skip()
        }
    }
}

extension ReportedError: ReportRecord {
    mutating func decode(_ name: JSONCursor.Name, _ cursor: inout JSONCursor) throws(CursorStop) {
        switch name {
        case "domain": try cursor.read(&domain)
        case "name": try cursor.read(&self.name)
        case "code": try cursor.read(&code)
        case "message": try cursor.read(&message)
        case "curl": try cursor.read(&curl)
        case "errno": try cursor.read(&errno)
        case "reason": try cursor.read(&reason)
        default: try cursor.skip()
        }
    }
}
