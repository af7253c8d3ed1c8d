import Digests
import Glibc
import HTTPRules
import Records
import SystemIO

/// The beginning of a request that must not be sent twice.
package struct BegunRequest: Hashable, Sendable {
    /// The id of its task.
    package let task: String
    /// The number of the task's attempt.
    package let attempt: Int

    package init(task: String, attempt: Int) {
        self.task = task
        self.attempt = attempt
    }
}

/// A run that the journal has lost after it had begun requests that must not be sent twice.
package struct LostRun: Hashable, Sendable {
    /// The run's random name.
    let name: String
    /// The identifiers of its background sessions.
    package let identifiers: [String]
    /// The name of its job.
    package let job: String
    /// What it had begun.
    package let requests: [BegunRequest]
    /// The ids of those tasks that had succeeded, as far as the process could note it.
    package var succeeded: Set<String> = []
}

/// What a run has begun that must not be sent twice, in a file beside the journal: SQLite passes over a damaged end of its
/// log without a word, and would take what was sent for what was never begun.
///
/// Each run has a file of its own (`journal.begun-NAME`), to which records are appended, each with its length and a
/// checksum. It is on the disk before the request is sent, and goes with a later sweep once the run's end was delivered.
extension StoreFiles {
    private static let begunInfix = ".begun-"
    private static let longestBegun = 64 << 20
    private func begunFile(_ run: String) -> String { "\(name)\(Self.begunInfix)\(run)" }

    /// Appends requests of the run and waits for the disk.
    func noteBegun(_ requests: [BegunRequest], _ run: LostRun) throws(StoreError) {
        let file = begunFile(run.name)
        do throws(SystemError) {
            let isNew = (try? folder.facts(of: file)) == nil
            let open = try folder.open(file, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, mode: 0o600)
            try open.writeAll(BegunRecord.bytes(of: run, requests))
            try open.sync()
            if isNew { try folder.sync() }
        } catch {
            let isFull = error.errno == ENOSPC || error.errno == EDQUOT
            throw StoreError(
                isFull ? .diskFull : .other,
                "cannot write down in \(path)/\(file) what is about to be sent: \(error.reason)")
        }
    }

    /// Notes that a task of the run has succeeded whose beginning stands in the file. Nothing depends on that, so that the
    /// disk is not waited for.
    func noteSuccess(of task: String, _ run: LostRun) {
        guard let open = try? folder.open(begunFile(run.name), O_WRONLY | O_APPEND | O_NOFOLLOW) else { return }
        try? open.writeAll(BegunRecord.bytes(of: run, [BegunRequest(task: task, attempt: BegunRecord.success)]))
    }

    /// Returns what the run of that name has begun; `nil` if that is nothing.
    func begun(of run: String) throws(StoreError) -> LostRun? {
        let file = begunFile(run)
        let open: Descriptor
        do throws(SystemError) {
            open = try folder.open(file, O_RDONLY | O_NOFOLLOW)
        } catch {
            if error.errno == ENOENT { return nil }
            throw StoreError(.other, "cannot read \(path)/\(file), which says what was sent: \(error.reason)")
        }
        do throws(WholeFile.Problem) {
            return BegunRecord.read(try WholeFile.read(open, limit: Self.longestBegun), name: run)
        } catch {
            throw StoreError(.other, "cannot read \(path)/\(file), which says what was sent")
        }
    }

    /// Whether a run of the folder has a key or has begun something.
    static func hasLeftovers(folder: String, _ name: String) -> Bool {
        guard let place = try? PrivateFolder.open(folder), let names = try? place.names() else { return false }
        return names.map(\.description).contains { $0.hasPrefix("\(name).key-") || $0.hasPrefix(name + begunInfix) }
    }

    func eraseBegun(of run: String) {
        guard (try? folder.unlink(begunFile(run))) != nil else { return }
        try? folder.sync()
    }

    /// Names of the runs that have begun something.
    func begunRuns() -> [String] {
        let start = begunFile("")
        return ((try? folder.names()) ?? []).map(\.description).filter { $0.hasPrefix(start) }
            .map { String($0.dropFirst(start.count)) }
    }
}

/// One record of the file.
private enum BegunRecord {
    private static let head = 12
    /// Stands in the place of an attempt's number where the task has succeeded.
    static let success = 0

    static func bytes(of run: LostRun, _ requests: [BegunRequest]) -> [UInt8] {
        var writer = RecordWriter(capacity: 256)
        writer.put(run.identifiers) { $0.put($1) }
        writer.put(run.job)
        writer.put(requests) {
            $0.put($1.task)
            $0.put($1.attempt)
        }
        let seal = UInt64(bitPattern: seal(writer.bytes))
        let head = (0..<4).map { UInt8(truncatingIfNeeded: writer.bytes.count >> ($0 * 8)) }
        return head + (0..<8).map { UInt8(truncatingIfNeeded: seal >> UInt64($0 * 8)) } + writer.bytes
    }

    private static func seal(_ payload: [UInt8]) -> Int64 {
        var seal = Fingerprint()
        seal.add("begun")
        seal.add(payload)
        return seal.value
    }

    /// Reads the records, and passes over one that is not whole: a full disk or a power cut ended its writing, so nothing
    /// of it was sent, but others may follow.
    static func read(_ bytes: [UInt8], name: String) -> LostRun? {
        var rest = bytes[...]
        var (identifiers, job, requests) = ([String](), "", [BegunRequest]())
        while rest.count >= head {
            let count = rest.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
            let seal = rest.dropFirst(4).prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let payload = count <= rest.count - head ? Array(rest.dropFirst(head).prefix(count)) : []
            guard !payload.isEmpty, self.seal(payload) == Int64(bitPattern: seal) else {
                rest = rest.dropFirst()
                continue
            }
            rest = rest.dropFirst(head + count)
            var reader = RecordReader(payload)
            guard let names = try? reader.list({ (reader) throws(RecordProblem) in try reader.text() }),
                let text = try? reader.text(),
                let begun = try? reader.list({ (reader) throws(RecordProblem) in
                    BegunRequest(task: try reader.text(), attempt: try reader.int())
                })
            else { break }
            (identifiers, job) = (names, text)
            requests += begun
        }
        let succeeded = Set(requests.filter { $0.attempt == success }.map(\.task))
        requests.removeAll { $0.attempt == success }
        if requests.isEmpty { return nil }
        return LostRun(name: name, identifiers: identifiers, job: job, requests: requests, succeeded: succeeded)
    }
}
