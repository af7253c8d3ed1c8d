import Digests
import HTTPRules
import JobRunner
import Stores
import SystemIO
import TransferModel

extension Stages {
    private static let bodyLength = 1024
    private func cachedURL(_ index: Int) -> String { "http://127.0.0.1:1/cached/\(index).json" }

    /// What an answer out of the cache costs, whole runs of tasks without a connection: nothing listens there. Events are
    /// made and not folded; what is printed is all that the process spends between a task's start and its end.
    func cache() throws {
        let (few, many) = (10_000, 100_000)
        print("\nprocessor time and allocations of a cache, a body of 1 KiB each\n")
        let place = try filled(few, "few")
        let (all, same) = (try job((0..<few).map { $0 }), try job((0..<few).map { $0 % 100 }))
        let disk = try Measure.cost(per: few, wholeProcess: true) { _ in try run(all, place) }
        Table.row("a hit on the disk", disk, budget: 30)
        let memory = try Measure.cost(per: few, wholeProcess: true) { _ in try run(same, place) }
        Table.row("a hit in memory", memory, budget: 30)
        let apart = try filled(few, "apart", inFiles: true)
        let file = try Measure.cost(per: few, wholeProcess: true) { _ in try run(all, apart) }
        Table.row("the same in a file of its own", file, budget: 50)
        let full = try filled(many, "many")
        let open = try Measure.cost(per: 1) { _ in
            let store = try Store.open(folder: full.folder)
            if let session = try store.existingSession(job: "bench", name: "bench") {
                _ = try store.cache(of: session)
            }
        }
        Table.row("open a store of \(many) answers", open, budget: 5_000)
    }

    /// A store with the answers to so many URLs.
    private func filled(_ count: Int, _ name: String, inFiles: Bool = false) throws -> MemoryPlace {
        let place = "\(folder)/cache-\(name)"
        let key = CacheMarker.newKey()
        let body = [UInt8](repeating: 0x61, count: Self.bodyLength)
        let digest = try Checksum.of(body, .sha256).bytes
        let headers = HeaderBlock([
            ("Server", "nginx/1.22.1"), ("Date", "Sat, 21 Nov 2026 07:00:00 GMT"), ("Content-Type", "application/json"),
            ("Content-Length", "\(Self.bodyLength)"), ("ETag", "\"6955b900-400\""), ("Cache-Control", "max-age=86400"),
            ("Vary", "Accept-Encoding"),
        ])
        let now = Clocks.wall()
        let request = CacheRequest(
            "GET", try ResourceURL.parse(cachedURL(0)), headers: HeaderBlock([("Accept-Encoding", Self.accepted)]),
            marker: .keyed(by: key))
        let bodies = try CacheFolder("\(place)/bodies")
        let fill = try Measure.cost(per: count, rounds: 1) { _ in
            let store = try Store.open(folder: place, now: now)
            let session = try store.session(job: "bench", name: "bench", now: now)
            let changes = (0..<count).map { number in
                var stored = StoredResponse(
                    url: cachedURL(number), status: 200, headers: headers,
                    selecting: SelectingHeaders(headers, request: request) ?? SelectingHeaders(fields: []),
                    credentials: .absent, requestTime: now, responseTime: now, bodyLength: Int64(body.count))
                stored.id = CacheEntryID(raw: Int64(number + 1))
                if inFiles { _ = bodies.write(body, of: stored.id) }
                return CacheChange.put(stored, digest: digest, body: inFiles ? nil : body)
            }
            for start in stride(from: 0, to: count, by: 500) {
                _ = try store.change(
                    session, Array(changes[start..<start + 500]), key: key, capacity: 1 << 40, folder: place, now: now)
            }
        }
        Table.row("keep one of \(count)\(inFiles ? " in files" : ", in batches")", fill, budget: 50)
        return MemoryPlace(
            folder: place, job: "bench", sessions: ["bench"], secrets: Redactor([]),
            caches: [CachePlace(folder: "\(place)/bodies", capacity: 1 << 40)])
    }

    private static let accepted = "identity"

    private func job(_ numbers: [Int]) throws -> Job {
        var job = Job(name: "bench", file: "bench.yaml", baseDirectory: folder)
        var session = SessionConfiguration(name: "bench")
        session.http.compression = false
        session.maximumConnectionsPerHost = connections
        job.sessions = [session]
        job.limits.maximumConcurrentTasks = connections
        var policies = TransferPolicies()
        policies.cachePolicy = .returnCacheDataDontLoad
        let options = TaskOptions(TaskOptions.Values(policies: policies))
        for (place, number) in numbers.enumerated() {
            job.tasks.append(
                TaskSpecification(
                    id: "t\(place)", type: .data, session: SessionIndex(raw: 0),
                    location: .url(try ResourceURL.parse(cachedURL(number))), destination: nil, line: 1,
                    options: options))
        }
        return job
    }

    private func run(_ job: Job, _ place: MemoryPlace) throws {
        let log = try EventLog(consumers: [], redactor: nil, now: Clocks.now())
        let settings = RunSettings(userAgent: "bench", seed: 1)
        let run = try JobRun(job: job, settings: settings, log: log, memory: place) { Mailbox(wake: $0) }
        let status = run.run()
        _ = log.finish()
        if status != .succeeded { throw TransferError(.unknown, "the benchmark's run did not succeed") }
    }
}
