internal import TransferModel

/// Tasks, attempts and requests as columns, for the page's script to sort, filter and draw.
///
/// A URL is stored as its folder, which many share, and its name; a file's path likewise. `data.js` reads all of this.
struct PageTasks {
    private let window: RunWindow
    /// Whether every task of the report is included; otherwise each task has its number in the report with it.
    private let isWhole: Bool
    private(set) var texts = SharedTexts()
    private var errors: [ReportedError: Int] = [:]
    private var errorList = PageColumn()
    private var shapes: [[Int]: Int] = [:]
    private var shapeList = PageColumn()
    private var sockets: [[Int]: Int] = [:]
    private var socketList = PageColumn()
    private var tasks = TaskColumns()
    private var attempts = AttemptColumns()
    private var requests = RequestColumns()
    /// Details of the few tasks that have any: members of a JSON object, named by the task's row.
    private var details: [UInt8] = []

    init(_ window: RunWindow, isWhole: Bool) {
        self.window = window
        self.isWhole = isWhole
    }

    var count: Int { tasks.id.count }

    mutating func add(_ task: ReportedTask, number: Int, hosts: inout HostTallies) {
        tasks.id.add(text: task.id)
        tasks.number.add(number)
        tasks.host.add(hosts.place(ofURL: task.original.url))
        addRequest(task)
        addResult(task)
        addTimes(task)
        var row = PageDetails(task)
        if row.hasAny {
            if !details.isEmpty { details.append(UInt8(ascii: ",")) }
            details += "\"\(count - 1)\":".utf8
            details += row.object()
        }
        for attempt in task.attempts { add(attempt, of: task, hosts: &hosts) }
    }

    private mutating func addRequest(_ task: ReportedTask) {
        let (folder, name) = Self.split(task.original.url)
        tasks.type.add(TaskType.allCases.firstIndex(of: task.type) ?? 0)
        tasks.session.add(texts.number(of: task.session))
        tasks.method.add(texts.number(of: task.original.method))
        tasks.folder.add(texts.number(of: folder))
        tasks.name.add(text: name)
        let final = task.response?.url ?? task.current.url
        tasks.final.add(final.isExactly(task.original.url) ? 0 : texts.number(of: final))
        if let file = task.file {
            let (place, fileName) = Self.split(file.path)
            tasks.path.add(texts.number(of: place))
            tasks.pathName.add { bytes in
                if fileName.isExactly(name) {
                    bytes.append(UInt8(ascii: "0"))
                } else {
                    PageText.append(json: fileName, to: &bytes)
                }
            }
        } else {
            tasks.path.add(-1)
            tasks.pathName.add(Int64(0))
        }
    }

    private mutating func addResult(_ task: ReportedTask) {
        tasks.outcome.add(PageOutcome(task).rawValue)
        tasks.status.add(task.response?.status ?? 0)
        tasks.bytes.add(task.fileBytes ?? -1)
        tasks.checksum.add(texts.number(of: task.file?.checksum))
        tasks.source.add(task.source.flatMap { ResultSource.allCases.firstIndex(of: $0) }.map { $0 + 1 } ?? 0)
        tasks.changed.add(task.changed.map { $0 ? 2 : 1 } ?? 0)
        tasks.error.add(number(of: task.error))
        tasks.why.add(texts.number(of: task.explanation))
        guard let headers = task.response?.headers, !headers.isEmpty else { return tasks.headers.add(Int64(0)) }
        let names = headers.map { texts.number(of: $0.name) }
        let shape = shapes[names, default: shapes.count]
        if shape == shapes.count {
            shapes[names] = shape
            shapeList.add { Self.append(names, to: &$0) }
        }
        let values = headers.map { texts.number(of: $0.value) }
        tasks.headers.add { Self.append([shape] + values, to: &$0) }
    }

    private mutating func addTimes(_ task: ReportedTask) {
        tasks.created.add(tenths: task.createdAt.map { window.tenths($0.nanoseconds) } ?? -10)
        tasks.finished.add(tenths: task.finishedAt.map { window.tenths($0.nanoseconds) } ?? -10)
        tasks.duration.add(tenths: task.duration.map { RunWindow.tenths(ofSpan: $0.nanoseconds) } ?? -10)
        tasks.attempts.add(task.attempts.count)
        guard !task.waits.isEmpty else { return tasks.waits.add(Int64(0)) }
        let waits = task.waits.map {
            (texts.number(of: $0.reason.rawValue), RunWindow.tenths(ofSpan: $0.duration.nanoseconds))
        }
        tasks.waits.add { bytes in
            bytes.append(UInt8(ascii: "["))
            for (place, wait) in waits.enumerated() {
                if place > 0 { bytes.append(UInt8(ascii: ",")) }
                PageColumn.append(Int64(wait.0), to: &bytes)
                bytes.append(UInt8(ascii: ","))
                PageColumn.append(tenths: wait.1, to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        }
    }

    private mutating func add(_ attempt: ReportedAttempt, of task: ReportedTask, hosts: inout HostTallies) {
        attempts.outcome.add(TaskOutcome.allCases.firstIndex(of: attempt.outcome) ?? 0)
        attempts.start.add(tenths: window.tenths(attempt.startedAt.nanoseconds))
        attempts.duration.add(tenths: RunWindow.tenths(ofSpan: attempt.duration.nanoseconds))
        attempts.error.add(number(of: attempt.error))
        attempts.backoff.add(tenths: attempt.backoff.map { RunWindow.tenths(ofSpan: $0.nanoseconds) } ?? -10)
        attempts.url.add(attempt.url.isExactly(task.original.url) ? 0 : texts.number(of: attempt.url))
        attempts.resumed.add(attempt.resumedFrom)
        attempts.over.add(texts.number(of: attempt.startedOver))
        attempts.requests.add(attempt.transactions.count)
        attempt.eachRequest { request, phases in
            requests.host.add(hosts.place(ofURL: request.url))
            add(request, phases, socket: socket(of: request, host: hosts.place(ofURL: request.url)))
            requests.url.add(request.url.isExactly(attempt.url) ? 0 : texts.number(of: request.url))
            let isUsual = request.method.isExactly(task.original.method)
            requests.method.add(isUsual ? 0 : texts.number(of: request.method))
        }
    }

    private mutating func add(_ request: TransactionMetrics, _ phases: RequestPhases, socket: Int) {
        requests.start.add(tenths: window.tenths(phases.start))
        requests.socket.add(socket)
        requests.status.add(request.status ?? 0)
        for phase in RequestPhases.Phase.allCases {
            requests.phases[phase.rawValue].add(tenths: RunWindow.tenths(ofSpan: phases.lengths[phase]))
        }
        requests.sent.add(request.requestBodyBytesSent)
        requests.received.add(request.responseBodyBytesReceived)
        requests.version.add(texts.number(of: request.networkProtocolName))
        let isNew = !request.isReusedConnection && request.connectStart != nil
        let isFromCache = request.fetchType == .localCache
        let flags = [
            request.isReusedConnection, request.isProxyConnection, isFromCache, request.responseEnd == nil, isNew,
        ]
        requests.flags.add(flags.enumerated().reduce(0) { $0 | ($1.element ? 1 << $1.offset : 0) })
    }

    /// Returns the number of a request's connection, identified by both its ends; −1 without a connection. A port may
    /// come back with another connection; one to a Unix socket has no ports.
    private mutating func socket(of request: TransactionMetrics, host: Int) -> Int {
        guard let port = request.localPort ?? (request.connectEnd == nil ? nil : 0), request.fetchType != .localCache
        else { return -1 }
        let remote = "\(request.remoteAddress ?? ""):\(request.remotePort ?? 0)"
        let ends = [host, Int(port), texts.number(of: remote), Int(request.tlsVersion ?? 0)]
        let number = sockets[ends, default: sockets.count]
        if number == sockets.count {
            sockets[ends] = number
            socketList.add { Self.append(ends, to: &$0) }
        }
        return number
    }

    private mutating func number(of error: ReportedError?) -> Int {
        guard let error else { return -1 }
        let number = errors[error, default: errors.count]
        if number == errors.count {
            errors[error] = number
            errorList.add { Self.append(error, to: &$0) }
        }
        return number
    }

    private static func append(_ error: ReportedError, to bytes: inout [UInt8]) {
        func append(_ number: Int?) {
            bytes.append(UInt8(ascii: ","))
            if let number { PageColumn.append(Int64(number), to: &bytes) } else { bytes += "null".utf8 }
        }
        bytes.append(UInt8(ascii: "["))
        PageText.append(json: error.name, to: &bytes)
        bytes.append(UInt8(ascii: ","))
        PageText.append(json: error.domain, to: &bytes)
        append(error.code)
        bytes.append(UInt8(ascii: ","))
        PageText.append(json: error.message, to: &bytes)
        append(error.curl)
        append(error.errno)
        bytes.append(UInt8(ascii: ","))
        if let reason = error.reason { PageText.append(json: reason, to: &bytes) } else { bytes += "null".utf8 }
        bytes.append(UInt8(ascii: "]"))
    }

    private static func append(_ numbers: [Int], to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "["))
        for (place, number) in numbers.enumerated() {
            if place > 0 { bytes.append(UInt8(ascii: ",")) }
            PageColumn.append(Int64(number), to: &bytes)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    /// Splits a path or URL after its last slash.
    private static func split(_ path: String) -> (folder: String, name: String) {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return ("", path) }
        let after = path.utf8.index(after: slash)
        return (String(path[..<after]), String(path[after...]))
    }

    /// Writes these members of the page's data, each with a comma after it.
    func write(to output: inout [UInt8]) {
        output += "\"rows\":[\(tasks.id.count),\(attempts.start.count),\(requests.start.count)],".utf8
        Self.write("tasks", isWhole ? tasks.columns.filter { $0.name != "number" } : tasks.columns, to: &output)
        Self.write("attempts", attempts.columns, to: &output)
        Self.write("requests", requests.columns, to: &output)
        let lists: [(String, PageColumn)] = [
            ("sockets", socketList), ("errors", errorList), ("shapes", shapeList), ("strings", texts.column),
        ]
        for (name, column) in lists {
            output += "\"\(name)\":".utf8
            column.write(to: &output)
            output += ",\n".utf8
        }
        output += "\"more\":{".utf8
        output += details
        output += "},\n".utf8
    }

    private static func write(_ name: String, _ columns: [(name: String, column: PageColumn)], to output: inout [UInt8])
    {
        output += "\"\(name)\":{".utf8
        for (place, column) in columns.enumerated() {
            output += (place > 0 ? ",\n\"\(column.name)\":" : "\"\(column.name)\":").utf8
            column.column.write(to: &output)
        }
        output += "},\n".utf8
    }
}

/// The outcomes that the page shows: a tolerated failure is one of its own.
enum PageOutcome: Int, CaseIterable {
    case succeeded, failed, tolerated, cancelled, skipped, deferred

    init(_ task: ReportedTask) {
        switch task.outcome {
        case .succeeded: self = .succeeded
        case .failed: self = task.tolerated ? .tolerated : .failed
        case .cancelled: self = .cancelled
        case .skipped: self = .skipped
        case .deferred: self = .deferred
        }
    }

    init(_ outcome: TaskOutcome) {
        switch outcome {
        case .succeeded: self = .succeeded
        case .failed: self = .failed
        case .cancelled: self = .cancelled
        case .skipped: self = .skipped
        case .deferred: self = .deferred
        }
    }

    var word: String { "\(self)" }
}

private struct TaskColumns {
    var id = PageColumn(), number = PageColumn(), host = PageColumn(), type = PageColumn(), session = PageColumn()
    var method = PageColumn(), folder = PageColumn(), name = PageColumn(), final = PageColumn()
    var path = PageColumn(), pathName = PageColumn()
    var outcome = PageColumn(), status = PageColumn(), bytes = PageColumn(), checksum = PageColumn()
    var source = PageColumn(), changed = PageColumn(), error = PageColumn(), why = PageColumn(), headers = PageColumn()
    var created = PageColumn(), finished = PageColumn(), duration = PageColumn(), attempts = PageColumn(),
        waits = PageColumn()

    var columns: [(name: String, column: PageColumn)] {
        [
            ("id", id), ("number", number), ("host", host), ("type", type), ("session", session), ("method", method),
            ("folder", folder), ("name", name), ("final", final), ("path", path), ("pathName", pathName),
            ("outcome", outcome), ("status", status), ("bytes", bytes), ("checksum", checksum), ("source", source),
            ("changed", changed), ("error", error), ("why", why), ("headers", headers), ("created", created),
            ("finished", finished), ("duration", duration), ("attempts", attempts), ("waits", waits),
        ]
    }
}

private struct AttemptColumns {
    var outcome = PageColumn(), start = PageColumn(), duration = PageColumn(), error = PageColumn(),
        backoff = PageColumn()
    var url = PageColumn(), resumed = PageColumn(), over = PageColumn(), requests = PageColumn()

    var columns: [(name: String, column: PageColumn)] {
        [
            ("outcome", outcome), ("start", start), ("duration", duration), ("error", error), ("backoff", backoff),
            ("url", url), ("resumed", resumed), ("over", over), ("requests", requests),
        ]
    }
}

private struct RequestColumns {
    var start = PageColumn(), host = PageColumn(), socket = PageColumn(), status = PageColumn()
    var phases = [PageColumn](repeating: PageColumn(), count: RequestPhases.Phase.allCases.count)
    var sent = PageColumn(), received = PageColumn(), version = PageColumn(), url = PageColumn(), method = PageColumn()
    var flags = PageColumn()

    var columns: [(name: String, column: PageColumn)] {
        let named = RequestPhases.Phase.allCases.map { (name: "\($0)", column: phases[$0.rawValue]) }
        return [("start", start), ("host", host), ("socket", socket), ("status", status)] + named
            + [
                ("sent", sent), ("received", received), ("version", version), ("url", url), ("method", method),
                ("flags", flags),
            ]
    }
}
