import Diagnostics
import Digests
import Exports
import FileVerification
import Glibc
import LockFiles
import Reporting
import Stores
import SystemIO
import TextFormats
import TransferModel

/// What `verify` holds files against.
enum VerifiedInput {
    case report(ReportFile)
    case list(ReportFile)
    case lock(LockFile)

    /// Largest lock that is read.
    private static let largestLock = 256 << 20

    /// Tells a report by its first character, and a lock by its format, from a list of checksums.
    init(_ path: String) throws(UsageError) {
        let file: ReportFile
        do throws(ReportProblem) { file = try ReportFile.given(path) } catch {
            let isFolder = (try? FileFacts.of(path).isFolder) == true
            throw UsageError(
                error.message, hint: isFolder ? "name a report, a lock or a list of checksums, such as SHA256SUMS" : nil
            )
        }
        let start = file.bytes(4096, from: 0)
        let blanks: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
        if start.first(where: { !blanks.contains($0) }) == UInt8(ascii: "{") {
            self = .report(file)
        } else if start.split(separator: 0x0A).contains(where: { $0.starts(with: "format: transfer-run/".utf8) }) {
            self = .lock(try Self.lock(file))
        } else {
            self = .list(file)
        }
    }

    private static func lock(_ file: ReportFile) throws(UsageError) -> LockFile {
        guard file.size <= Int64(largestLock) else { throw UsageError("\(file.name) is too large for a lock") }
        let source = SourceText(name: file.name, bytes: file.bytes(Int(file.size), from: 0))
        let read = LockFileReader.read(source, wanting: .lock)
        guard let lock = read.file else {
            let problem = read.diagnostics.sorted().first
            let place = problem?.span.map { ":\($0.line):\($0.column)" } ?? ""
            throw UsageError("\(file.name)\(place): \(problem?.message ?? "this is no lock")", hint: problem?.hint)
        }
        return lock
    }
}

/// A file that was given to `verify` and is neither a report, nor a lock, nor a list of checksums.
private struct WrongList {
    private let file: ReportFile
    private let lines: [ArraySlice<UInt8>]

    init(_ file: ReportFile) {
        self.file = file
        lines = file.bytes(1 << 20, from: 0).split(separator: 0x0A)
    }

    /// The error that says what the file is, where that shows.
    func error(_ problem: VerificationProblem) -> UsageError {
        if file.size == 0 { return UsageError("\(file.name) has no line of a checksum file: it is empty") }
        let name = SafeText.line(file.name)
        let isJob = lines.contains { $0.starts(with: "tasks:".utf8) }
        if isJob {
            return UsageError(
                "\(file.name) is a job file: it does not say which files are right",
                hint: "verify the report of its run, or the lock that `transfer-run lock \(name)` writes")
        }
        if lines.contains(where: { $0.firstRange(of: "urn:ietf:params:xml:ns:metalink".utf8) != nil }) {
            return UsageError(
                "\(file.name) is a Metalink file, which is not verified by itself",
                hint: "make a job of it with `transfer-run import \(name)`: a run checks its checksums")
        }
        return UsageError(
            problem.description, hint: "a report of transfer-run and a lock of `transfer-run lock` are verified, too")
    }
}

/// `verify`: files on the disk against what a report or a list says of them.
struct Verification {
    let path: String
    let directory: String?
    let printsJSON: Bool
    let repairs: Bool
    /// `--from`: the URL below which the files of a list are; `nil` without it.
    let place: ResourceURL?
    let options: RunOptions
    let environment: [String: String]
    let console: Console

    /// What differs, for `--repair` and the end.
    private final class Found {
        /// Ids of a report's tasks whose files differ, and paths of those files that are there.
        var ids: Set<String> = []
        var paths: [RawName] = []
        /// Files that differ from a lock or a list.
        var files: [ExpectedFile] = []
        let isOfReport: Bool
        let spool = DifferenceSpool()
        var toldAt = Clocks.instant()

        init(_ input: VerifiedInput) {
            if case .report = input { isOfReport = true } else { isOfReport = false }
        }

        func add(_ difference: Difference) {
            guard isOfReport else { return files.append(difference.file) }
            guard let task = difference.file.task else { return }
            ids.insert(task)
            if difference.kind != .missing { paths.append(difference.file.path) }
        }
    }

    func perform() throws(UsageError) -> Int32 {
        let input = try VerifiedInput(path)
        try checkRepair(of: input)
        let found = Found(input)
        let record = record()
        let counts = try counts(input, record, found)
        record?.remove()
        if printsJSON { end(counts) } else { tell(counts, found) }
        guard counts.differing > 0 else { return ExitStatus.succeeded.code }
        guard repairs else { return ExitStatus.failed.code }
        return try repair(input, found, counts)
    }

    /// Checks before anything is read that a repair knows where files come from.
    private func checkRepair(of input: VerifiedInput) throws(UsageError) {
        guard case .list = input else {
            guard place == nil else {
                throw UsageError(
                    "`--from` is for a list of checksums: \(path) says itself where its files come from",
                    hint: "leave `--from` out")
            }
            return
        }
        if repairs, place == nil {
            throw UsageError(
                "a list of checksums names no URL from which `--repair` could fetch",
                hint: "name the one below which its files are: `--from https://HOST/FOLDER/`")
        }
        if !repairs, place != nil {
            throw UsageError("`--from` says where `--repair` fetches from", hint: "add `--repair`, or leave it out")
        }
    }

    // MARK: Reading

    private func counts(_ input: VerifiedInput, _ record: VerifiedFiles?, _ found: Found) throws(UsageError)
        -> VerificationCounts
    {
        if printsJSON { console.output("{\"differences\":[") }
        let verifier = FileVerifier(record: record)
        let report = { (difference: Difference) in self.report(difference, found) }
        let tick = { (counts: VerificationCounts) in self.tick(counts, found) }
        switch input {
        case .report(let file):
            do throws(ReportProblem) {
                let reader = try ReportReader(file, reading: [])
                let folder = directory ?? jobFolder(reader.head.job.file)
                var files: ArraySlice<ExpectedFile> = []
                var (without, objects) = (0, 0)
                let counts = try verifier.verify(
                    next: { () throws(ReportProblem) in
                        while files.isEmpty, let task = try reader.next() {
                            files = Self.files(of: task, in: folder)[...]
                            if task.file.map({ ObjectPlace.isMeant(by: $0.path) }) == true { objects += 1 }
                            if files.isEmpty, task.type == .download, task.outcome != .succeeded { without += 1 }
                        }
                        return files.popFirst()
                    }, found: report, tick: tick)
                warn(ofDownloadsWithoutFiles: without)
                warn(ofObjects: objects)
                return counts
            } catch { throw UsageError(error.message) }
        case .lock(let lock):
            var entries = lock.entries[...]
            let folder = directory ?? (path == "-" ? "" : Folders.split(path).folder)
            return verifier.verify(
                next: { Self.next(&entries, in: folder == "." ? "" : folder) }, found: report, tick: tick)
        case .list(let file):
            do throws(VerificationProblem) {
                let list = Self.list(file, in: directory ?? (path == "-" ? "" : Folders.split(path).folder))
                let counts = try verifier.verify(
                    next: { () throws(VerificationProblem) in try list.next() }, found: report, tick: tick)
                warn(of: list)
                return counts
            } catch { throw WrongList(file).error(error) }
        }
    }

    /// Returns the files that a task left on this machine's disk: one of each page for a task with `next`.
    private static func files(of task: ReportedTask, in folder: String) -> [ExpectedFile] {
        // A task with `next` names its last page's file as its own. Of two pages at one path, only the later file is left.
        var files: [ReportedTask.File] = []
        var places: [ExactText: Int] = [:]
        for file in task.pageFiles + (task.file.map { [$0] } ?? []) {
            guard file.path != "-", !ObjectPlace.isMeant(by: file.path) else { continue }
            if let place = places[ExactText(file.path)] {
                files[place] = file
            } else {
                places[ExactText(file.path)] = files.count
                files.append(file)
            }
        }
        return files.map { file in
            ExpectedFile(
                RawName(file.path), in: folder, bytes: file.bytes, checksum: file.checksum.flatMap { Checksum($0) },
                task: task.id)
        }
    }

    /// Returns the next file of a lock, whose paths begin in its own folder.
    private static func next(_ entries: inout ArraySlice<LockFile.Entry>, in folder: String) -> ExpectedFile? {
        while let entry = entries.popFirst() {
            guard let path = entry.path, !ObjectPlace.isMeant(by: path) else { continue }
            return ExpectedFile(
                RawName(path), in: folder, bytes: entry.answer.size, checksum: entry.answer.sha256, task: entry.id)
        }
        return nil
    }

    private static func list(_ file: ReportFile, in folder: String) -> ChecksumListReader {
        ChecksumListReader(name: file.name, folder: folder == "." ? "" : folder) {
            (count, offset, bytes) throws(VerificationProblem) in
            let piece = file.bytes(count, from: offset)
            if piece.isEmpty, offset < file.size { throw VerificationProblem("cannot read \(file.name)") }
            bytes += piece
            return piece.count
        }
    }

    /// A report of a run that failed says nothing of the files that it lacks.
    private func warn(ofDownloadsWithoutFiles count: Int) {
        guard count > 0 else { return }
        let what = count == 1 ? "1 download of that run" : "\(HumanText.grouped(count)) downloads of that run"
        let name = path == "-" ? "REPORT" : SafeText.line(path)
        console.errors(
            "warning: \(what) did not succeed and brought no file: `transfer-run rerun \(name)` runs \(count == 1 ? "it" : "them") again\n"
        )
    }

    /// Only files of this machine are read.
    private func warn(ofObjects count: Int) {
        guard count > 0 else { return }
        let what = count == 1 ? "1 object of a store was" : "\(HumanText.grouped(count)) objects of a store were"
        console.errors("warning: \(what) not verified: only files of this machine are\n")
    }

    private func warn(of list: ChecksumListReader) {
        guard list.skipped > 0 else { return }
        let lines = list.skipped == 1 ? "1 line is" : "\(HumanText.grouped(list.skipped)) lines are"
        console.errors(
            "warning: \(SafeText.line(list.name)):\(list.firstSkipped): \(lines) no line of a checksum file\n")
    }

    /// Returns the folder in which a report's paths begin: that of the job file, as it was typed or beside the report.
    private func jobFolder(_ file: String) -> String {
        guard file != "-" else { return "" }
        let places = RerunJobFile.places(of: file, report: path)
        let place = places.first { (try? FileFacts.of($0)) != nil } ?? places[0]
        return place.contains("/") ? Folders.split(place).folder : ""
    }

    // MARK: Telling

    private func report(_ difference: Difference, _ found: Found) {
        if printsJSON {
            var json = JSONWriter(reserving: 256)
            difference.write(to: &json)
            console.output((found.spool.isEmpty ? "" : ",") + "\n" + String(decoding: json.bytes, as: UTF8.self))
            found.spool.hasAny()
        } else {
            found.spool.add(difference.line { SafeText.line($0) })
        }
        if repairs { found.add(difference) }
    }

    /// Tells how far it is, twice a minute.
    private func tick(_ counts: VerificationCounts, _ found: Found) {
        let now = Clocks.instant()
        guard now.nanoseconds - found.toldAt.nanoseconds >= 30_000_000_000 else { return }
        found.toldAt = now
        console.errors(
            "verify: \(counts.line { HumanText.grouped($0) }) so far, \(HumanText.size(counts.bytesRead)) read\n")
    }

    private func tell(_ counts: VerificationCounts, _ found: Found) {
        var line = counts.line { HumanText.grouped($0) }
        if counts.bytesRead > 0 { line += " · \(HumanText.size(counts.bytesRead)) read" }
        if counts.sizeOnly > 0 { line += " · \(HumanText.grouped(counts.sizeOnly)) by length alone" }
        if counts.remembered > 0 {
            line += " · \(HumanText.grouped(counts.remembered)) verified before it was interrupted"
        }
        console.output(line + "\n")
        found.spool.forEachPiece { console.output($0) }
    }

    private func end(_ counts: VerificationCounts) {
        var json = JSONWriter(reserving: 256)
        json.beginObject()
        counts.write(to: &json)
        json.endObject()
        // The members follow those of the differences in one object.
        console.output("\n],\(String(decoding: json.bytes.dropFirst(), as: UTF8.self))\n")
    }

    // MARK: Going on after a kill

    /// Returns the record of this input in the state folder; `nil`, after a warning, where there can be none.
    private func record() -> VerifiedFiles? {
        guard path != "-" else { return nil }
        do {
            let state = try StateFolder(options.stateDirectory, environment).state
            let folder = state + "/verify"
            _ = try PrivateFolder.make(state)
            _ = try PrivateFolder.make(folder)
            Self.removeOld(in: folder)
            let place = Folders.resolved(path).map { "\($0)" } ?? path
            let mark = Checksum.mark(of: Array("\(place)\n\(directory ?? "")".utf8)).bytes.prefix(8)
            let name = mark.map { String(UInt16($0) + 0x100, radix: 16).dropFirst() }.joined()
            return try VerifiedFiles(path: "\(folder)/\(name)")
        } catch {
            console.errors("warning: a verification that is interrupted will begin anew: \(error)\n")
            return nil
        }
    }

    /// Removes records of verifications that were interrupted 30 days ago.
    private static func removeOld(in folder: String) {
        let oldest = Clocks.wall().nanoseconds - 30 * 86_400_000_000_000
        for name in Folders.names(in: folder) {
            let path = "\(folder)/\(name)"
            if let facts = try? FileFacts.ofName(path), facts.isRegular, facts.modifiedNanoseconds < oldest {
                _ = unlink(path)
            }
        }
    }

    // MARK: Repairing

    /// Fetches the broken files again, and returns the status of that run.
    private func repair(
        _ input: VerifiedInput, _ found: Found, _ counts: VerificationCounts
    ) throws(UsageError) -> Int32 {
        switch input {
        case .report: return try rerun(found)
        case .lock(let lock): return try repair(from: .lock(lock), found, counts)
        case .list:
            guard let place else { return ExitStatus.failed.code }
            return try repair(from: .list(place), found, counts)
        }
    }

    private func repair(
        from source: FileRepair.Source, _ found: Found, _ counts: VerificationCounts
    ) throws(UsageError) -> Int32 {
        try FileRepair(path: path, source: source, options: options, environment: environment, console: console)
            .perform(found.files, of: counts.files)
    }

    /// Runs the tasks of a report's broken files again.
    private func rerun(_ found: Found) throws(UsageError) -> Int32 {
        let report: RerunReport
        do throws(ReportProblem) { report = try RerunReport(path, RerunChoice(ids: found.ids)) } catch {
            throw UsageError(error.message)
        }
        // A task of a background session or of a template is not replaced but revalidated: the kept validators do not
        // count for a file whose time has changed.
        for path in found.paths { FileMarks.touch(path) }
        var rerun = Rerun(
            report: report, words: "whose files are broken", options: options, environment: environment,
            console: console)
        rerun.replaces = true
        return try rerun.perform()
    }
}

/// Lines about differences: in memory, and past 1 MiB in a file without a name, where the machine has such files.
private final class DifferenceSpool {
    private var memory: [UInt8] = []
    private var pieces: [(offset: Int64, count: Int)] = []
    private var length: Int64 = 0
    private var file: SpoolFile?
    private(set) var isEmpty = true

    /// Notes that there was a difference which was told elsewhere.
    func hasAny() { isEmpty = false }

    func add(_ line: String) {
        isEmpty = false
        memory += Array(line.utf8)
        memory.append(0x0A)
        guard memory.count > 1 << 20 else { return }
        file = file ?? SpoolFile()
        guard let file, file.append(memory, at: length) else { return }
        pieces.append((length, memory.count))
        length += Int64(memory.count)
        memory.removeAll(keepingCapacity: true)
    }

    /// Gives the lines in their order, in pieces of whole lines.
    func forEachPiece(_ body: (String) -> Void) {
        for piece in pieces { body(file?.text(piece.count, at: piece.offset) ?? "") }
        body(String(decoding: memory, as: UTF8.self))
    }
}

/// A file without a name in the folder for temporary files.
private final class SpoolFile {
    private let file: SystemIO.Descriptor

    init?() {
        do throws(SystemError) {
            file = try SystemIO.Descriptor.openFolder(CurrentProcess.temporaryFolder()).openUnnamed(mode: 0o600)
        } catch {
            return nil
        }
    }

    func append(_ bytes: [UInt8], at offset: Int64) -> Bool {
        do throws(SystemError) { try file.writeAll(bytes[...], at: offset) } catch { return false }
        return true
    }

    func text(_ count: Int, at offset: Int64) -> String {
        var bytes = [UInt8](repeating: 0, count: count)
        var got = 0
        bytes.withUnsafeMutableBytes { buffer in
            while got < count {
                let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[got...])
                guard let read = try? file.read(into: rest, at: offset + Int64(got)), read > 0 else { return }
                got += read
            }
        }
        return String(decoding: bytes[..<got], as: UTF8.self)
    }
}

/// Marks a file as changed, so that nothing that is remembered of it counts any more.
private enum FileMarks {
    static func touch(_ path: RawName) {
        let characters = path.bytes.map { CChar(bitPattern: $0) } + [0]
        // Not a whole second: one that is could be a server's date.
        let now = timespec(tv_sec: time(nil), tv_nsec: 1)
        let times = [now, now]
        _ = utimensat(AT_FDCWD, characters, times, AT_SYMLINK_NOFOLLOW)
    }
}

extension CommandLineTool {
    /// `verify REPORT|LOCK|SUMS`.
    static func verify(
        _ typed: TypedArguments, _ environment: [String: String], _ console: Console
    ) throws(UsageError) -> Int32 {
        let path = typed.operands[0]
        let meant = try MeantArguments(typed, environment: environment)
        let directory = meant.value(.directory)
        try WorkingFolder.check(path == "-" ? nil : path, directory)
        return try Verification(
            path: path, directory: directory, printsJSON: meant.isSet(.json), repairs: meant.isSet(.repair),
            place: try meant.value(.from).map { (text) throws(UsageError) in try place(text) },
            options: try RunOptions(typed, environment: environment), environment: environment, console: console
        ).perform()
    }

    private static func place(_ text: String) throws(UsageError) -> ResourceURL {
        let url: ResourceURL
        do throws(URLProblem) { url = try ResourceURL.parse(text) } catch {
            throw UsageError("`--from \(text)` is no URL: \(error.message)")
        }
        guard url.needsConnection || url.schemeIs("file") else {
            throw UsageError("`--from \(text)` is no place that files are fetched from", hint: "write an https URL")
        }
        return url
    }
}
