internal import TransferModel

extension ReportHead {
    /// The members that every report has before or after its tasks.
    struct Members: OptionSet {
        let rawValue: Int
        static let format = Members(rawValue: 1)
        static let version = Members(rawValue: 1 << 1)
        static let runner = Members(rawValue: 1 << 2)
        static let job = Members(rawValue: 1 << 3)
        static let startedAt = Members(rawValue: 1 << 4)
        static let finishedAt = Members(rawValue: 1 << 5)
        static let duration = Members(rawValue: 1 << 6)
        static let outcome = Members(rawValue: 1 << 7)
        static let exitStatus = Members(rawValue: 1 << 8)
        static let totals = Members(rawValue: 1 << 9)
        static let sessions = Members(rawValue: 1 << 10)
        static let groups = Members(rawValue: 1 << 11)
        static let hooks = Members(rawValue: 1 << 12)
        static let all = Members(rawValue: 1 << 13 - 1)
    }

    /// Decodes one member other than `tasks` and returns which it was; an unknown one is skipped.
    mutating func decode(_ name: JSONCursor.Name, _ cursor: inout JSONCursor) throws(CursorStop) -> Members {
        switch name {
        case "format":
            try Self.checkFormat(&cursor)
            return .format
        case "version":
            try Self.checkVersion(&cursor)
            return .version
        case "runner":
            runner = try Runner(&cursor)
            return .runner
        case "job":
            job = try Job(&cursor)
            return .job
        case "startedAt":
            startedAt = try cursor.optionalDate()
            return .startedAt
        case "finishedAt":
            finishedAt = try cursor.optionalDate()
            return .finishedAt
        case "duration":
            duration = try cursor.optional { (cursor) throws(CursorStop) in try cursor.span() }
            return .duration
        case "outcome":
            outcome = try cursor.optional { (cursor) throws(CursorStop) in try cursor.choice(RunOutcome.self) }
            return .outcome
        case "exitStatus":
            exitStatus = try cursor.optional { (cursor) throws(CursorStop) in try cursor.count() }
            return .exitStatus
        case "stopped":
            stopped = try cursor.optional { (cursor) throws(CursorStop) in try cursor.string() }
            return []
        case "totals":
            totals = try Totals(&cursor)
            return .totals
        case "sessions":
            sessions = try cursor.list { (cursor) throws(CursorStop) in try Session(&cursor) }
            return .sessions
        case "groups":
            groups = try cursor.list { (cursor) throws(CursorStop) in try Group(&cursor) }
            return .groups
        case "hooks":
            hooks = try cursor.list { (cursor) throws(CursorStop) in try Hook(&cursor) }
            return .hooks
        default:
            try cursor.skip()
            return []
        }
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
        let version = try cursor.integer()
        guard version == 1 else {
            throw .broken("version \(version) of the report is not known, only 1 is", at: start)
        }
    }
}

extension ReportHead.Runner {
    init(_ cursor: inout JSONCursor) throws(CursorStop) {
        self.init()
        try cursor.object { (name, cursor) throws(CursorStop) in
            switch name {
            case "version": version = try cursor.string()
            case "libcurl": libcurl = try cursor.string()
            case "pid": pid = try cursor.integer()
            case "host": host = try cursor.string()
            default: try cursor.skip()
            }
        }
    }
}

extension ReportHead.Job {
    init(_ cursor: inout JSONCursor) throws(CursorStop) {
        self.init()
        try cursor.object { (name, cursor) throws(CursorStop) in
            switch name {
            case "name": self.name = try cursor.string()
            case "file": file = try cursor.string()
            case "sha256": sha256 = try cursor.optionalString()
            case "variables": variables = try NamedValue.list(&cursor)
            default: try cursor.skip()
            }
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

extension ReportHead.Totals {
    init(_ cursor: inout JSONCursor) throws(CursorStop) {
        self.init()
        try cursor.object { (name, cursor) throws(CursorStop) in
            switch name {
            case "tasks": tasks = try cursor.count()
            case "succeeded": succeeded = try cursor.count()
            case "failed": failed = try cursor.count()
            case "cancelled": cancelled = try cursor.count()
            case "skipped": skipped = try cursor.count()
            case "deferred": deferred = try cursor.count()
            case "tolerated": tolerated = try cursor.count()
            case "attempts": attempts = try cursor.count()
            case "retries": retries = try cursor.count()
            case "redirects": redirects = try cursor.count()
            case "cacheHits": cacheHits = try cursor.count()
            case "unchanged": unchanged = try cursor.count()
            case "bytesReceived": bytesReceived = try cursor.integer()
            case "bytesSent": bytesSent = try cursor.integer()
            case "bytesSaved": bytesSaved = try cursor.integer()
            default: try cursor.skip()
            }
        }
    }
}

extension ReportHead.Session {
    init(_ cursor: inout JSONCursor) throws(CursorStop) {
        self.init()
        try cursor.object { (name, cursor) throws(CursorStop) in
            switch name {
            case "name": self.name = try cursor.string()
            case "configuration": configuration = try cursor.string()
            case "identifier": identifier = try cursor.optionalString()
            case "reassociated": reassociated = try cursor.bool()
            case "insecure": insecure = try cursor.bool()
            case "connectionsOpened":
                connectionsOpened = try cursor.optional { (cursor) throws(CursorStop) in try cursor.count() }
            case "connectionsReused":
                connectionsReused = try cursor.optional { (cursor) throws(CursorStop) in try cursor.count() }
            case "hosts": hosts = try cursor.list { (cursor) throws(CursorStop) in try ReportHead.Host(&cursor) }
            default: try cursor.skip()
            }
        }
    }
}

extension ReportHead.Host {
    init(_ cursor: inout JSONCursor) throws(CursorStop) {
        self.init()
        try cursor.object { (name, cursor) throws(CursorStop) in
            switch name {
            case "host": host = try cursor.string()
            case "peakConnections": peakConnections = try cursor.count()
            case "tasks": tasks = try cursor.count()
            case "connectionLimit":
                connectionLimit = try cursor.optional { (cursor) throws(CursorStop) in
                    try ReportHead.ConnectionLimit(&cursor)
                }
            default: try cursor.skip()
            }
        }
    }
}

extension ReportHead.ConnectionLimit {
    init(_ cursor: inout JSONCursor) throws(CursorStop) {
        self.init()
        try cursor.object { (name, cursor) throws(CursorStop) in
            switch name {
            case "minimum": minimum = try cursor.count()
            case "maximum": maximum = try cursor.count()
            case "first": first = try cursor.count()
            case "last": last = try cursor.count()
            case "steps": steps = try cursor.list { (cursor) throws(CursorStop) in try Step(&cursor) }
            default: try cursor.skip()
            }
        }
    }
}

extension ReportHead.ConnectionLimit.Step {
    init(_ cursor: inout JSONCursor) throws(CursorStop) {
        self.init()
        try cursor.object { (name, cursor) throws(CursorStop) in
            switch name {
            case "time": time = try cursor.date()
            case "from": from = try cursor.count()
            case "to": to = try cursor.count()
            case "reason": reason = try cursor.string()
            default: try cursor.skip()
            }
        }
    }
}

extension ReportHead.Group {
    init(_ cursor: inout JSONCursor) throws(CursorStop) {
        self.init()
        try cursor.object { (name, cursor) throws(CursorStop) in
            switch name {
            case "name": self.name = try cursor.string()
            case "published": published = try cursor.bool()
            case "removed":
                removedCount = try cursor.optional { (cursor) throws(CursorStop) in
                    var count: Int?
                    try cursor.object { (name, cursor) throws(CursorStop) in
                        switch name {
                        case "count": count = try cursor.count()
                        default: try cursor.skip()
                        }
                    }
                    return count ?? 0
                }
            case "error": error = try ReportedError.optional(&cursor)
            default: try cursor.skip()
            }
        }
    }
}

extension ReportHead.Hook {
    init(_ cursor: inout JSONCursor) throws(CursorStop) {
        self.init()
        try cursor.object { (name, cursor) throws(CursorStop) in
            switch name {
            case "task": task = try cursor.optional { (cursor) throws(CursorStop) in try cursor.string() }
            case "command": command = try cursor.list { (cursor) throws(CursorStop) in try cursor.string() }
            case "exitStatus":
                exitStatus = try cursor.optional { (cursor) throws(CursorStop) in try cursor.count() }
            case "duration": duration = try cursor.span()
            default: try cursor.skip()
            }
        }
    }
}

extension ReportedError {
    static func optional(_ cursor: inout JSONCursor) throws(CursorStop) -> ReportedError? {
        try cursor.optional { (cursor) throws(CursorStop) in try ReportedError(&cursor) }
    }

    init(_ cursor: inout JSONCursor) throws(CursorStop) {
        self.init()
        try cursor.object { (name, cursor) throws(CursorStop) in
            switch name {
            case "domain": domain = try cursor.string()
            case "name": self.name = try cursor.string()
            case "code": code = try cursor.optional { (cursor) throws(CursorStop) in try cursor.count() }
            case "message": message = try cursor.string()
            case "curl": curl = try cursor.optional { (cursor) throws(CursorStop) in try cursor.count() }
            case "errno": errno = try cursor.optional { (cursor) throws(CursorStop) in try cursor.count() }
            case "reason": reason = try cursor.optionalString()
            default: try cursor.skip()
            }
        }
    }
}
