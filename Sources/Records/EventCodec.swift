package import TransferModel

/// Encodes events for the journal and decodes them.
///
/// The first byte is the format's version. A change of the format gets a new version, and readers keep supporting the
/// old ones. Each event is written in the oldest version that holds all of it, so that an earlier program reads what it
/// can.
package enum EventCodec {
    enum Version: UInt8, CaseIterable {
        case first = 1
        /// The start of an attempt names the files that it sends.
        case bodyFiles
        /// The end of a task has the sizes of answer parts of which something is hidden.
        case partSizes
        /// A template became tasks.
        case expansions
        /// The end of an attempt has the expiry times of its requests' certificates.
        case expiries
        /// The end of an attempt says until when its task is tried; it has the expiry times, too.
        case deadlines
        /// A page of a task was fetched.
        case pages
        /// A file was copied from that of another task: read from journals of earlier versions, no longer written.
        case copies
        /// A group was published.
        case groups
    }

    /// Returns the event's bytes.
    package static func encode(_ event: Event) -> [UInt8] {
        var writer = RecordWriter(capacity: 96)
        encode(event, into: &writer)
        return writer.bytes
    }

    /// Replaces the writer's content with the event's bytes: many events then share one allocation.
    package static func encode(_ event: Event, into writer: inout RecordWriter) {
        writer.removeAll()
        writer.put(byte: version(of: event).rawValue)
        writer.put(event.time.nanoseconds)
        writer.put(event.sequence)
        writer.put(event.session) { $0.put(UInt64($1.raw)) }
        writer.put(event.task) { $0.put(UInt64($1.raw)) }
        writer.put(event.kind)
    }

    private static func version(of event: Event) -> Version {
        if case .attemptStarted(let record) = event.kind, !record.bodyFiles.isEmpty { return .bodyFiles }
        if case .taskFinished(let record) = event.kind, record.hidesOfParts { return .partSizes }
        if case .expanded = event.kind { return .expansions }
        if case .pageFinished = event.kind { return .pages }
        if case .groupPublished = event.kind { return .groups }
        if case .attemptFinished(let record) = event.kind {
            if record.retriesUntil != nil { return .deadlines }
            if record.tellsExpiries { return .expiries }
        }
        return .first
    }

    /// Decodes one event; throws if the bytes are damaged, or of a format or kind of a later version.
    package static func decode(_ bytes: [UInt8]) throws(RecordProblem) -> Event {
        var reader = RecordReader(bytes)
        let number = try reader.byte()
        guard let version = Version(rawValue: number) else {
            throw reader.problem(
                .unknown, "events of format \(number) are unknown, only those up to \(Version.allCases.count) are known"
            )
        }
        let event = Event(
            time: WallTime(nanoseconds: try reader.int64()), sequence: try reader.unsigned(),
            session: try reader.optional { (reader) throws(RecordProblem) in
                SessionIndex(raw: try reader.exactly(UInt16.self))
            },
            task: try reader.optional { (reader) throws(RecordProblem) in
                TaskIndex(raw: try reader.exactly(UInt32.self))
            },
            kind: try reader.kind(version))
        try reader.finish()
        return event
    }
}

/// The numbers of `Event.Kind`; a number is never reused for another kind.
private enum KindNumber: UInt8 {
    case sessionStarted, taskCreated, taskResumed, waiting, attemptStarted, challenge, redirect, resumedAtOffset
    case response, becameDownload, needNewBodyStream, sentBodyData, receivedData, cacheStored, fileFinished
    case attemptFinished, taskFinished, sessionFinishedEvents, sessionInvalidated, runFinished, expanded
    case hookFinished, connectionsChanged, pageFinished, groupPublished
}

extension RecordWriter {
    fileprivate mutating func put(_ kind: Event.Kind) {
        switch kind {
        case .sessionStarted: begin(.sessionStarted)
        case .taskCreated: begin(.taskCreated)
        // The tasks are made again from the job and the captured values; the order of these events decides which tasks
        // they are.
        case .expanded(let expansion): begin(.expanded) { $0.put(expansion.count) }
        case .taskResumed: begin(.taskResumed)
        case .waiting(let reason, let lacks):
            begin(.waiting)
            put(reason, Coded.waitReasons)
            put(lacks)
        case .attemptStarted(let record): begin(.attemptStarted) { $0.put(record) }
        case .challenge(let record): begin(.challenge) { $0.put(record) }
        case .redirect(let record): begin(.redirect) { $0.put(record) }
        case .resumedAtOffset(let progress): begin(.resumedAtOffset) { $0.put(progress) }
        case .response(let record): begin(.response) { $0.put(record) }
        case .becameDownload: begin(.becameDownload)
        case .needNewBodyStream: begin(.needNewBodyStream)
        case .sentBodyData(let progress): begin(.sentBodyData) { $0.put(progress) }
        case .receivedData(let progress): begin(.receivedData) { $0.put(progress) }
        case .cacheStored: begin(.cacheStored)
        case .fileFinished(let record): begin(.fileFinished) { $0.put(record) }
        case .pageFinished(let record): begin(.pageFinished) { $0.put(record) }
        case .attemptFinished(let record): begin(.attemptFinished) { $0.put(record) }
        case .taskFinished(let record): begin(.taskFinished) { $0.put(record) }
        case .connectionsChanged(let step): begin(.connectionsChanged) { $0.put(step) }
        case .hookFinished(let record): begin(.hookFinished) { $0.put(record) }
        case .groupPublished(let record): begin(.groupPublished) { $0.put(record) }
        case .sessionFinishedEvents: begin(.sessionFinishedEvents)
        case .sessionInvalidated(let record): begin(.sessionInvalidated) { $0.put(record) }
        case .runFinished(let record): begin(.runFinished) { $0.put(record) }
        }
    }

    private mutating func begin(_ number: KindNumber, _ payload: (inout RecordWriter) -> Void = { _ in }) {
        put(byte: number.rawValue)
        payload(&self)
    }

    private mutating func put(_ progress: Event.Progress) {
        put(progress.bytes)
        put(progress.expected)
    }
}

extension RecordReader {
    fileprivate mutating func kind(_ version: EventCodec.Version) throws(RecordProblem) -> Event.Kind {
        let number = try byte()
        guard let kind = KindNumber(rawValue: number) else {
            throw problem(.unknown, "there is no kind of event of number \(number)")
        }
        switch kind {
        case .sessionStarted: return .sessionStarted
        case .taskCreated: return .taskCreated
        case .expanded: return .expanded(Expansion(count: try int()))
        case .taskResumed: return .taskResumed
        case .waiting: return .waiting(try one(of: Coded.waitReasons), lacks: try optionalText())
        case .attemptStarted: return .attemptStarted(try attemptStart(hasFiles: version == .bodyFiles))
        case .challenge: return .challenge(try challengeRecord())
        case .redirect: return .redirect(try redirectRecord())
        case .resumedAtOffset: return .resumedAtOffset(try progress())
        case .response: return .response(try responseRecord())
        case .becameDownload: return .becameDownload
        case .pageFinished: return .pageFinished(try pageRecord())
        case .needNewBodyStream: return .needNewBodyStream
        case .sentBodyData: return .sentBodyData(try progress())
        case .receivedData: return .receivedData(try progress())
        case .cacheStored: return .cacheStored
        case .fileFinished:
            let record = try fileRecord()
            if version == .copies { _ = try text() }
            return .fileFinished(record)
        case .attemptFinished:
            return .attemptFinished(
                try attemptRecord(
                    hasExpiries: version == .expiries || version == .deadlines, hasDeadline: version == .deadlines))
        case .taskFinished: return .taskFinished(try taskRecord(hasPartSizes: version == .partSizes))
        case .connectionsChanged: return .connectionsChanged(try connectionStep())
        case .hookFinished: return .hookFinished(try hookRecord())
        case .groupPublished: return .groupPublished(try groupRecord())
        case .sessionFinishedEvents: return .sessionFinishedEvents
        case .sessionInvalidated: return .sessionInvalidated(try sessionRecord())
        case .runFinished: return .runFinished(try runRecord())
        }
    }

    private mutating func progress() throws(RecordProblem) -> Event.Progress {
        Event.Progress(bytes: try int64(), expected: try optionalInt64())
    }
}
