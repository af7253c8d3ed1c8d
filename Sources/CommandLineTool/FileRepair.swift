import Diagnostics
import FileVerification
import JobLoader
import LockFiles
import Reporting
import SystemIO
import TextFormats
import TransferModel

/// `verify LOCK|SUMS --repair`: a job that fetches files which differ from a lock or a list of checksums.
///
/// Unlike the repair of a report it knows no job: each file is asked for at the URL that the lock has, or below the one
/// that the command line names, and must have the digest of the lock or the list.
struct FileRepair {
    /// Where the files are fetched from.
    enum Source {
        /// The URLs of a lock, by task.
        case lock(LockFile)
        /// The URL below which the files of a list are.
        case list(ResourceURL)
    }

    /// The lock or list, as typed; `-` for standard input.
    let path: String
    let source: Source
    let options: RunOptions
    let environment: [String: String]
    let console: Console

    /// Most files that cannot be repaired and are told one by one.
    private static let most = 10

    /// Fetches the files and returns the exit status.
    func perform(_ broken: [ExpectedFile], of total: Int) throws(UsageError) -> Int32 {
        let folder = try StrayBytes.workingFolder() ?? "/"
        var job = try emptyJob(folder)
        guard let model = job.tasks.first else { preconditionFailure("the model of a repair's tasks is gone") }
        var refused = Refusals(console: console)
        let urls = lockedURLs
        let named: LockedPlaces? =
            if case .lock = source {
                LockedPlaces(beside: path, arguments: options.arguments, environment: environment)
            } else { nil }
        let base = Self.tidied(Self.absolute(self.folder, in: folder))
        job.tasks = []
        if case .lock(let lock) = source {
            job.held = lock.held(file: path, redactor: .none, holdsPlaces: false)
        }
        // Where a list has several digests of one file, the longest counts.
        var places: [ExactText: (task: Int, digest: Int)] = [:]
        for file in broken {
            do throws(Refusal) {
                var task = model
                task.location = .url(try url(of: file, urls))
                let destination = try destination(of: file, in: folder)
                try checkPlace(destination, of: file, base: base, named)
                task.destination = destination
                task.id = file.task ?? Self.tidied(file.name.text ?? "")
                task.options = taskOptions(model, file)
                let digest = file.checksum?.bytes.count ?? 0
                if let known = places[ExactText(destination)] {
                    guard known.digest < digest else { continue }
                    job.tasks[known.task] = task
                    places[ExactText(destination)] = (known.task, digest)
                } else {
                    places[ExactText(destination)] = (job.tasks.count, digest)
                    job.tasks.append(task)
                }
            } catch {
                refused.tell(file, error.why)
            }
        }
        refused.end()
        guard !job.tasks.isEmpty else { return ExitStatus.failed.code }
        console.errors(firstLine(job, total))
        let status = try RunningJob(options: runOptions, environment: environment, console: console)
            .perform(unfiled: job)
        return status == ExitStatus.succeeded.code && refused.count > 0 ? ExitStatus.failed.code : status
    }

    /// Why a file is left as it is: a clause for people.
    private struct Refusal: Error { let why: String }

    /// Tells of files that are left as they are.
    private struct Refusals {
        let console: Console
        private(set) var count = 0
        init(console: Console) { self.console = console }

        mutating func tell(_ file: ExpectedFile, _ why: String) {
            count += 1
            guard count <= FileRepair.most else { return }
            console.errors("warning: `\(SafeText.line("\(file.name)"))` is not repaired: \(SafeText.line(why))\n")
        }

        func end() {
            guard count > FileRepair.most else { return }
            console.errors("warning: \(HumanText.count(count - FileRepair.most, "more file")) cannot be repaired\n")
        }
    }

    // MARK: The job

    /// Returns the job with one task, the model of the others: what a job file says that sets nothing.
    private func emptyJob(_ folder: String) throws(UsageError) -> Job {
        let text = "tasks: [{ id: file, url: 'http://127.0.0.1/', to: file, existing: replace }]"
        let (parent, name) = path == "-" ? ("", "-") : Folders.split(path)
        let base = options.arguments.directory ?? parent
        let result = JobLoader.load(
            SourceText(name: path, bytes: Array(text.utf8)), options: LoadOptions(directory: base.isEmpty ? "." : base),
            resources: .nothing(workingDirectory: folder))
        guard var job = result.job, !result.diagnostics.hasErrors else {
            throw UsageError("\(path) cannot be repaired: its folder is no place for a job")
        }
        job.name = "repair of \(name)"
        return job
    }

    private var runOptions: RunOptions {
        var options = options
        // No report: it would replace the one that a run of the lock's job wrote.
        options.report = .none
        options.advice.command = ["verify", path.hasPrefix("-") && path != "-" ? "./\(path)" : path, "--repair"]
        if let directory = options.arguments.directory { options.advice.command += ["--directory", directory] }
        if case .list(let place) = source { options.advice.command += ["--from", place.text] }
        return options
    }

    private func taskOptions(_ model: TaskSpecification, _ file: ExpectedFile) -> TaskOptions {
        var values = model.options.values
        values.checksum = file.checksum.map { .literal($0) }
        if file.checksum == nil { values.expect.size = file.bytes }
        return TaskOptions(values)
    }

    private func destination(of file: ExpectedFile, in folder: String) throws(Refusal) -> String {
        guard let path = file.path.text else { throw Refusal(why: "its name is not UTF-8 text") }
        return Self.tidied(Self.absolute(path, in: folder))
    }

    private static func absolute(_ path: String, in folder: String) -> String {
        path.hasPrefix("/") ? path : "\(folder)/\(path)"
    }

    /// The folder in which the names of the lock or list begin, as typed.
    private var folder: String { options.arguments.directory ?? (path == "-" ? "" : Folders.split(path).folder) }

    // MARK: Places

    /// Refuses the list itself, and a place outside the lock's folder that no job beside the lock names: a lock from
    /// somewhere else must not say where on this machine something is written.
    private func checkPlace(
        _ destination: String, of file: ExpectedFile, base: String, _ named: LockedPlaces?
    ) throws(Refusal) {
        if isItself(destination) { throw Refusal(why: "it is the file that is read here") }
        guard let named else { return }
        let parts = destination.utf8.split(separator: UInt8(ascii: "/"))
        let root = base.utf8.split(separator: UInt8(ascii: "/"))
        let leadsUp = parts.dropFirst(root.count).contains { $0.elementsEqual("..".utf8) }
        let isBelow = parts.count > root.count && zip(parts, root).allSatisfy { $0.elementsEqual($1) }
        if isBelow, !leadsUp { return }
        guard let task = file.task, named.contains(destination, of: task) else {
            throw Refusal(
                why: "it lies outside the lock's folder, and no job beside the lock names it: "
                    + "`--locked` runs the job")
        }
    }

    /// Whether the file at a path is the lock or list itself.
    private func isItself(_ destination: String) -> Bool {
        guard path != "-", let own = try? FileFacts.of(path), let other = try? FileFacts.of(destination) else {
            return false
        }
        return own.device == other.device && own.inode == other.inode
    }

    /// Returns the path without empty components and `.`.
    static func tidied(_ path: String) -> String {
        let parts = path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }.filter { $0 != "." }
        return (path.utf8.first == UInt8(ascii: "/") ? "/" : "") + parts.joined(separator: "/")
    }

    /// `repair: 2 of 5 files of nightly.lock: a, b`
    private func firstLine(_ job: Job, _ total: Int) -> String {
        let ids = job.tasks.prefix(5).map(\.id).joined(separator: ", ")
        let more = job.tasks.count > 5 ? " and \(HumanText.grouped(job.tasks.count - 5)) more" : ""
        let count = "\(HumanText.grouped(job.tasks.count)) of \(HumanText.count(total, "file"))"
        return SafeText.line("repair: \(count) of \(path == "-" ? "standard input" : path): \(ids)\(more)") + "\n"
    }

    // MARK: URLs

    private var lockedURLs: [String: String] {
        guard case .lock(let lock) = source else { return [:] }
        return Dictionary(lock.entries.map { ($0.id, $0.answer.url) }) { first, _ in first }
    }

    private func url(of file: ExpectedFile, _ urls: [String: String]) throws(Refusal) -> ResourceURL {
        switch source {
        case .lock:
            guard let text = file.task.flatMap({ urls[$0] }) else { throw Refusal(why: "the lock has no URL of it") }
            if text.contains("***") {
                throw Refusal(why: "a secret stood in its URL, and a lock keeps none: `--locked` runs the job")
            }
            do throws(URLProblem) { return try ResourceURL.parse(text) } catch {
                throw Refusal(why: "`\(text)` is no URL: \(error.message)")
            }
        case .list(let place):
            guard let name = file.name.text else { throw Refusal(why: "its name is not UTF-8 text") }
            // A list from somewhere else must not say where on this machine something is written.
            let parts = name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            guard name.utf8.first != UInt8(ascii: "/"), !parts.contains(where: { $0.elementsEqual("..".utf8) }) else {
                throw Refusal(why: "its name leads out of the list's folder")
            }
            guard let last = parts.last, !last.isEmpty, !last.elementsEqual(".".utf8) else {
                throw Refusal(why: "its name is that of a folder")
            }
            let slash = place.path.hasSuffix("/") ? "" : "/"
            return place.appending(
                toPath: slash + PercentEncoding.encode(Self.tidied(name), keepingSlash: true))
        }
    }
}
