import TransferModel

// The ends: of an attempt with its requests, of a task, of a session, of the run.

extension RecordWriter {
    mutating func put(_ record: AttemptRecord) {
        put(record.number)
        put(record.url)
        put(record.outcome, Coded.taskOutcomes)
        put(record.resumedFrom)
        put(record.startedOver)
        put(record.startedAt.nanoseconds)
        put(record.duration.nanoseconds)
        put(record.error) { $0.put($1) }
        put(record.backoff?.nanoseconds)
        let tellsExpiries = record.tellsExpiries || record.retriesUntil != nil
        put(record.transactions) {
            $0.put($1)
            if tellsExpiries { $0.put($1.tlsExpiry?.nanoseconds) }
        }
        if let until = record.retriesUntil { put(until.nanoseconds) }
    }

    mutating func put(_ record: TaskRecord) {
        put(record.outcome, Coded.taskOutcomes)
        put(record.tolerated)
        put(record.changed) { $0.put($1) }
        put(record.source) { $0.put($1, Coded.sources) }
        put(record.waits) {
            $0.put($1.reason, Coded.waitReasons)
            $0.put($1.duration.nanoseconds)
        }
        put(record.error) { $0.put($1) }
        put(record.body) { $0.put($1) }
        put(record.lengthUnverified)
        put(record.captures) {
            $0.put($1.name)
            $0.put($1.value)
        }
        put(record.duration.nanoseconds)
        put(record.explanation)
        put(record.cache) { $0.put($1.refusal) }
        put(record.parts) {
            $0.put($1.headers)
            $0.put($1.body)
        }
        if record.hidesOfParts { for part in record.parts { put(part.size) } }
    }

    mutating func put(_ record: SessionRecord) {
        put(record.connectionsOpened)
        put(record.connectionsReused)
        put(record.hosts) {
            $0.put($1.origin.scheme)
            $0.put($1.origin.host)
            $0.put(UInt64($1.origin.port))
            $0.put($1.peakConnections)
            $0.put($1.tasks)
        }
    }

    mutating func put(_ step: ConnectionStep) {
        put(step.origin.scheme)
        put(step.origin.host)
        put(UInt64(step.origin.port))
        put(step.from)
        put(step.to)
        put(step.reason, Coded.connectionReasons)
    }

    mutating func put(_ record: GroupRecord) {
        put(record.name)
        put(record.removed) {
            $0.put($1.count)
            $0.put($1.named) { $0.put($1) }
        }
    }

    mutating func put(_ record: HookRecord) {
        put(record.task)
        put(record.command) { $0.put($1) }
        put(record.exitStatus) { $0.put($1) }
        put(record.duration.nanoseconds)
        put(record.trouble)
    }

    mutating func put(_ record: RunRecord) {
        put(record.outcome, Coded.runOutcomes)
        put(record.exitStatus)
        put(record.duration.nanoseconds)
        put(record.groups) {
            $0.put($1.name)
            $0.put($1.published)
            $0.put($1.error) { $0.put($1) }
        }
    }

    mutating func put(_ value: PlainValue) {
        switch value {
        case .null: put(byte: 0)
        case .boolean(let flag):
            put(byte: 1)
            put(flag)
        case .number(let text):
            put(byte: 2)
            put(text)
        case .string(let text):
            put(byte: 3)
            put(text)
        case .list(let values):
            put(byte: 4)
            put(values) { $0.put($1) }
        case .map(let entries):
            put(byte: 5)
            put(entries) {
                $0.put($1.key)
                $0.put($1.value)
            }
        }
    }
}

extension TaskRecord {
    var hidesOfParts: Bool { parts.contains { $0.size != $0.body.count } }
}

extension AttemptRecord {
    /// The first formats have no expiry times of certificates.
    var tellsExpiries: Bool { transactions.contains { $0.tlsExpiry != nil } }
}

extension RecordReader {
    mutating func attemptRecord(hasExpiries: Bool, hasDeadline: Bool) throws(RecordProblem) -> AttemptRecord {
        AttemptRecord(
            number: try int(), url: try text(), outcome: try one(of: Coded.taskOutcomes), resumedFrom: try int64(),
            startedOver: try optionalText(), startedAt: WallTime(nanoseconds: try int64()), duration: try span(),
            error: try optionalError(),
            backoff: try optional { (reader) throws(RecordProblem) in try reader.span() },
            transactions: try list { (reader) throws(RecordProblem) in
                var transaction = try reader.transaction()
                if hasExpiries { transaction.tlsExpiry = try reader.optionalInt64().map { WallTime(nanoseconds: $0) } }
                return transaction
            }, retriesUntil: hasDeadline ? WallTime(nanoseconds: try int64()) : nil)
    }

    private mutating func span() throws(RecordProblem) -> TimeSpan { TimeSpan(nanoseconds: try int64()) }

    private mutating func optionalError() throws(RecordProblem) -> TransferError? {
        try optional { (reader) throws(RecordProblem) in try reader.transferError() }
    }

    mutating func taskRecord(hasPartSizes: Bool) throws(RecordProblem) -> TaskRecord {
        let outcome = try one(of: Coded.taskOutcomes)
        let tolerated = try flag()
        let changed = try optional { (reader) throws(RecordProblem) in try reader.flag() }
        let source = try optional { (reader) throws(RecordProblem) in try reader.one(of: Coded.sources) }
        let waits = try list { (reader) throws(RecordProblem) in
            TaskRecord.Wait(reason: try reader.one(of: Coded.waitReasons), duration: try reader.span())
        }
        let error = try optionalError()
        let body = try optional { (reader) throws(RecordProblem) in try reader.blob() }
        let lengthUnverified = try flag()
        let captures = try list { (reader) throws(RecordProblem) in
            Job.Variable(name: try reader.text(), value: try reader.plainValue(depth: 0))
        }
        let duration = try span()
        let explanation = try optionalText()
        let cache = try optional { (reader) throws(RecordProblem) in
            CacheRecord(refusal: try reader.optionalText())
        }
        var parts = try list { (reader) throws(RecordProblem) in
            AnswerPart(headers: try reader.headers(), body: try reader.blob())
        }
        if hasPartSizes {
            for (index, part) in parts.enumerated() {
                parts[index] = AnswerPart(headers: part.headers, body: part.body, size: try int64())
            }
        }
        return TaskRecord(
            outcome: outcome, tolerated: tolerated, changed: changed, source: source, waits: waits, error: error,
            body: body, lengthUnverified: lengthUnverified, captures: captures, duration: duration,
            explanation: explanation, cache: cache, parts: parts)
    }

    mutating func sessionRecord() throws(RecordProblem) -> SessionRecord {
        SessionRecord(
            connectionsOpened: try int(), connectionsReused: try int(),
            hosts: try list { (reader) throws(RecordProblem) in
                let origin = Origin(
                    scheme: try reader.text(), host: try reader.text(), port: try reader.exactly(UInt16.self))
                return SessionRecord.Host(
                    origin: origin, peakConnections: try reader.int(), tasks: try reader.int())
            })
    }

    mutating func connectionStep() throws(RecordProblem) -> ConnectionStep {
        let origin = Origin(scheme: try text(), host: try text(), port: try exactly(UInt16.self))
        return ConnectionStep(
            origin: origin, from: try int(), to: try int(), reason: try one(of: Coded.connectionReasons))
    }

    mutating func hookRecord() throws(RecordProblem) -> HookRecord {
        HookRecord(
            task: try text(), command: try list { (reader) throws(RecordProblem) in try reader.text() },
            exitStatus: try optional { (reader) throws(RecordProblem) in try reader.int() }, duration: try span(),
            trouble: try optionalText())
    }

    mutating func groupRecord() throws(RecordProblem) -> GroupRecord {
        GroupRecord(
            name: try text(),
            removed: try optional { (reader) throws(RecordProblem) in
                RemovedFiles(
                    count: try reader.int(),
                    named: try reader.list { (reader) throws(RecordProblem) in try reader.text() })
            })
    }

    mutating func runRecord() throws(RecordProblem) -> RunRecord {
        RunRecord(
            outcome: try one(of: Coded.runOutcomes), exitStatus: try int(), duration: try span(),
            groups: try list { (reader) throws(RecordProblem) in
                RunRecord.Group(
                    name: try reader.text(), published: try reader.flag(), error: try reader.optionalError())
            })
    }

    /// Deeper than any value that the JSON and YAML readers accept, and far from the end of the stack.
    private static let deepest = 256

    mutating func plainValue(depth: Int = 0) throws(RecordProblem) -> PlainValue {
        guard depth < Self.deepest else { throw problem(.malformed, "a value is nested too deep") }
        switch try byte() {
        case 0: return .null
        case 1: return .boolean(try flag())
        case 2: return .number(try text())
        case 3: return .string(try text())
        case 4: return .list(try list { (reader) throws(RecordProblem) in try reader.plainValue(depth: depth + 1) })
        case 5:
            return .map(
                try list { (reader) throws(RecordProblem) in
                    PlainValue.Entry(key: try reader.text(), value: try reader.plainValue(depth: depth + 1))
                })
        default: throw problem(.unknown, "a value is of no kind that is known")
        }
    }
}
