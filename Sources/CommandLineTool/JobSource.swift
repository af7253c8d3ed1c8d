import Diagnostics
import Digests
import Glibc
import JobLoader
import RunControl
import SystemIO
import TransferModel
import YAMLTree

/// Loads a job with the machine's files, environment and folders.
struct JobSource {
    let arguments: JobArguments
    let environment: [String: String]
    /// Whether the job will run: then the file's digest for the report is computed, and the inputs are recorded.
    let isForRun: Bool
    /// Whether the job is only checked: then a value that is missing on this machine is a warning, and what the job may
    /// do is noted.
    var isForCheck = false
    /// Whether a service will run the job in the folder where its relative paths start.
    var isForUnit = false

    private static let maximumBytes = 64 << 20

    /// A loaded job, and the file it was read from; `nil` for standard input.
    struct Loaded {
        let result: LoadResult
        let file: JobFile?
        let text: SourceText
        /// Everything that the job was loaded from, so that another process can load the same; `nil` in a check.
        let inputs: RecordedInputs?
    }

    /// Returns the loaded job, or why its file could not be read.
    func load(_ path: String) -> Result<Loaded, UsageError> {
        let bytes: [UInt8]
        var file: JobFile?
        let working: String?
        do throws(UsageError) {
            working = try StrayBytes.workingFolder()
            try WorkingFolder.check(arguments, job: path)
        } catch {
            return .failure(error)
        }
        do throws(WholeFile.Problem) {
            if path == "-" {
                bytes = try WholeFile.readStandardInput(limit: Self.maximumBytes)
            } else {
                let opened = JobFile(try WholeFile.open(path))
                bytes = try WholeFile.read(opened.descriptor, limit: Self.maximumBytes)
                file = opened
            }
        } catch {
            return .failure(Self.problem(path, error))
        }
        let text = SourceText(name: path, bytes: bytes)
        let resources = resources(in: working)
        let recorder = isForRun ? InputRecorder(resources) : nil
        var result = JobLoader.load(
            text, options: options, resources: recorder?.resources ?? resources,
            missingValues: isForCheck ? .tolerated : .refused, notesAccess: isForCheck)
        if result.job?.secrets.isEmpty == false { CurrentProcess.hideMemory() }
        // libcrypto may still be loading, and only the report and other processes need the digest.
        if isForRun { result.job?.sha256 = LateText { Self.digest(bytes) } }
        return .success(
            Loaded(result: result, file: file, text: text, inputs: recorder?.recorded(text, options: options)))
    }

    private var options: LoadOptions {
        var options = LoadOptions(
            directory: arguments.directory, set: arguments.variables, variablesFile: arguments.variablesFile,
            secretsFile: arguments.secretsFile)
        options.reportsStartAtJob = isForUnit
        options.room = arguments.confine?.room
        options.policy = arguments.policy
        return options
    }

    /// The digest that identifies the file in the report.
    private static func digest(_ bytes: [UInt8]) -> String {
        String(Checksum.mark(of: bytes).description.dropFirst("sha256:".count))
    }

    static func noFile(_ path: String) -> UsageError {
        if path.contains("://") {
            return UsageError(
                "`\(path)` is a URL, and a job file is wanted",
                hint: "`transfer-run init URL…` writes a first job file for these URLs")
        }
        return UsageError(
            "cannot read the job `\(path)`: no such file",
            hint: command(meantBy: path).map { "did you mean the command `\($0)`?" } ?? fileHint(path))
    }

    private static let jobEndings = [".transfer.yaml", ".transfer.yml", ".yaml", ".yml"]

    /// Names the job files in the folder where one was looked for, the likeliest alone.
    private static func fileHint(_ path: String) -> String {
        let first = "`transfer-run init URL` writes a first job file"
        let (folder, name) = Folders.split(path)
        guard let entries = try? Descriptor.openFolder(folder).names() else { return first }
        let names = entries.compactMap(\.text).filter { !$0.hasPrefix(".") }.sorted()
        let start = path.dropLast(name.utf8.count)
        let candidates = names.filter { entry in jobEndings.contains { entry.hasSuffix($0) } }
        let meant =
            jobEndings.map { name + $0 }.first { candidates.contains($0) }
            ?? candidates.first { Job.stem(of: $0) == Job.stem(of: name) }
            ?? Spelling.closest(to: name, among: candidates)
        if let meant { return "did you mean `\(start)\(meant)`?" }
        // Other YAML files may be anything.
        let jobs = candidates.filter { entry in jobEndings.prefix(2).contains { entry.hasSuffix($0) } }
        guard !jobs.isEmpty else { return first }
        let more = jobs.count > 3 ? " and \(jobs.count - 3) more" : ""
        return "there are " + jobs.prefix(3).map { "`\(start)\($0)`" }.joined(separator: ", ") + more
    }

    /// The command that a word without a matching job file may mean, or `nil`.
    static func command(meantBy path: String) -> String? {
        guard Folders.resolved(path) == nil, !path.utf8.contains(UInt8(ascii: "/")) else { return nil }
        return Spelling.closest(to: path, among: CommandName.allCases.map { $0.rawValue } + ["version"])
            .map { $0 == "version" ? "--version" : $0 }
    }

    private static func problem(_ path: String, _ problem: WholeFile.Problem) -> UsageError {
        if case .notFound = problem { return noFile(path) }
        let reason =
            switch problem {
            case .notFound: "no such file"
            case .notRegular: "not a regular file"
            case .tooLarge: "larger than \(maximumBytes >> 20) MiB"
            case .system(let error): error.reason
            }
        var hint: String?
        if case .notRegular = problem { hint = "a job from a pipe is read from standard input: write `-`" }
        return UsageError("cannot read the job `\(path)`: \(reason)", hint: hint)
    }

    private func resources(in working: String?) -> Resources {
        let (environment, strays) = (environment, CurrentProcess.strayVariables())
        return Resources(
            environment: { name throws(NotText) in
                if let value = environment[name] { return value }
                if let stray = strays[name] { throw stray }
                return nil
            },
            readFile: { path, limit in
                do throws(WholeFile.Problem) {
                    return .success(try WholeFile.readGiven(path, limit: limit))
                } catch {
                    return .failure(Self.fileProblem(error, limit))
                }
            },
            readOwnFile: { path, limit in
                do throws(WholeFile.Problem) {
                    return .success(try WholeFile.readOwn(path, limit: limit))
                } catch .system(let error) where error.errno == EPERM {
                    return .failure(.failed("it belongs to another user; name a file of your own"))
                } catch {
                    return .failure(Self.fileProblem(error, limit))
                }
            },
            listFiles: { root, depth in
                do throws(WholeFile.Problem) {
                    return .success(try WholeFile.list(root, depth: depth).map { Array($0.bytes) })
                } catch {
                    return .failure(Self.fileProblem(error, 0))
                }
            },
            // Paths are only resolved when there is a working folder.
            workingDirectory: working ?? "/")
    }

    private static func fileProblem(_ problem: WholeFile.Problem, _ limit: Int) -> FileProblem {
        switch problem {
        case .notFound: .notFound
        case .notRegular: .notRegular
        case .tooLarge: .tooLarge(limit: limit)
        case .system(let error): error.leadsOut == nil ? .failed(error.reason) : .notAllowed
        }
    }
}
