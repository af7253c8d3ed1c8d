import Records
import Stores
import TransferModel

extension Stages {
    /// What a background run pays: being accepted, its events as bytes, and writing them.
    func journal() throws {
        let events = Self.events(tasks: tasks)
        let payloads = events.map { EventCodec.encode($0) }
        let bytes = payloads.reduce(0) { $0 + $1.count }
        print("\nprocessor time and allocations of the journal, \(bytes / events.count) bytes for an event\n")
        let small = Event(
            time: Self.date, sequence: 70_000, session: SessionIndex(raw: 0), task: TaskIndex(raw: 9_999),
            kind: .waiting(.hostLimit))
        let smallBytes = EventCodec.encode(small)
        let encodeSmall = Measure.cost(per: 100_000) { _ in for _ in 0..<100_000 { _ = EventCodec.encode(small) } }
        Table.row("encode a small event", encodeSmall, budget: 1)
        let decodeSmall = try Measure.cost(per: 100_000) { _ in
            for _ in 0..<100_000 { _ = try EventCodec.decode(smallBytes) }
        }
        Table.row("decode a small event", decodeSmall, budget: 1)
        let encode = Measure.cost(per: events.count) { _ in for event in events { _ = EventCodec.encode(event) } }
        Table.row("encode one of a download's", encode, budget: 3)
        let decode = try Measure.cost(per: events.count) { _ in
            for bytes in payloads { _ = try EventCodec.decode(bytes) }
        }
        Table.row("decode one of a download's", decode, budget: 3)
        try write(events)
    }

    private func write(_ events: [Event]) throws {
        let ids = (0..<tasks).map { "task-\($0)" }
        let input = JournalInput(kind: "recording", bytes: [UInt8](repeating: 7, count: 1 << 20))
        func accept(_ journal: Journal, _ round: Int) throws -> RunID {
            let run = AcceptedRun(
                identifiers: ["bench-\(round)"], job: "bench", file: "/job.yaml", folder: "/", createdAt: Self.date)
            return try journal.accept(run, inputs: [input], tasks: ids)
        }
        let accepted = try Measure.cost(per: 1) { round in
            _ = try accept(Journal.open(folder: "\(folder)/journal-a\(round)"), 0)
        }
        Table.row("accept \(tasks) tasks, a new file and all", accepted, budget: 500_000)
        let append = try Measure.cost(per: events.count) { round in
            let journal = try Journal.open(folder: "\(folder)/journal\(round)")
            let id = try accept(journal, round)
            for start in stride(from: 0, to: events.count, by: 1_000) {
                try journal.append(Array(events[start..<min(start + 1_000, events.count)]), to: id)
            }
        }
        Table.row("append one, in batches of 1,000", append, budget: 10)
        let journal = try Journal.open(folder: "\(folder)/journal0")
        let id = try journal.runs()[0].id
        let read = try Measure.cost(per: events.count) { _ in _ = try journal.events(of: id) }
        Table.row("read one", read, budget: 5)
    }

    private static let date = WallTime(nanoseconds: 1_795_000_000_000_000_000)

    /// What a download of 1 KiB tells.
    private static func events(tasks: Int) -> [Event] {
        var events: [Event] = []
        for task in 0..<tasks {
            let url = "https://mirror.example.org/pool/file-\(task).bin"
            var metrics = TransactionMetrics(method: "GET", url: url, fetchStart: date)
            metrics.status = 200
            for place in [\TransactionMetrics.requestStart, \.requestEnd, \.responseStart, \.responseEnd] {
                metrics[keyPath: place] = date + .milliseconds(3)
            }
            metrics.remoteAddress = "127.0.0.1"
            metrics.networkProtocolName = "http/1.1"
            let headers = HeaderBlock([("Content-Length", "1024"), ("ETag", "\"6b-\(task)\""), ("Server", "nginx")])
            let kinds: [Event.Kind] = [
                .taskCreated, .taskResumed, .attemptStarted(AttemptStart(number: 1, url: url)),
                .response(
                    ResponseRecord(
                        status: 200, url: url, method: "GET", mimeType: "application/octet-stream", charset: nil,
                        expectedLength: 1024, suggestedFilename: nil, contentEncoding: nil, headers: headers)),
                .fileFinished(
                    FileRecord(
                        path: "/srv/mirror/pool/file-\(task).bin", bytes: 1024, checksum: nil, changed: true,
                        lengthUnverified: false)),
                .attemptFinished(
                    AttemptRecord(
                        number: 1, url: url, outcome: .succeeded, resumedFrom: 0, startedAt: date,
                        duration: .milliseconds(4), error: nil, backoff: nil, transactions: [metrics])),
                .taskFinished(
                    TaskRecord(
                        outcome: .succeeded, tolerated: false, changed: true, source: .network,
                        waits: [.init(reason: .hostLimit, duration: .milliseconds(100))], error: nil, body: nil,
                        lengthUnverified: false, captures: [], duration: .milliseconds(104), explanation: nil)),
            ]
            for kind in kinds {
                events.append(
                    Event(
                        time: date, sequence: UInt64(events.count + 1), session: SessionIndex(raw: 0),
                        task: TaskIndex(raw: UInt32(task)), kind: kind))
            }
        }
        return events
    }
}
