import Diagnostics
import JobImport
import JobLoader
import Reporting
import SystemIO
import TransferModel

extension CommandLineTool {
    /// Largest file that `import` reads.
    private static let largestImport = 64 << 20

    /// `import FILE…`: prints a job file made of what other programs are told, or `import -- curl …` of one command.
    static func importFiles(_ typed: TypedArguments, _ console: Console) throws(UsageError) -> Int32 {
        if typed.operands.filter({ $0 == "-" }).count > 1 {
            throw UsageError("standard input can be read once only: `-` is there twice")
        }
        if let program = typed.operands.first, ForeignOptions.isProgram(program), typed.operands.count > 1 {
            console.output(try translation(of: typed.operands, console).text)
            return ExitStatus.succeeded.code
        }
        var inputs: [ImportInput] = []
        for path in typed.operands {
            try WorkingFolder.check(path == "-" ? nil : path)
            inputs.append(try input(path))
        }
        let origin = inputs.map { SafeText.line($0.name) }.joined(separator: ", ")
        let result = passingCheck(inputs, origin)
        tell(result.warnings, console)
        if result.lostCount > 0 {
            console.errors("\(result.taskCount) carried over, \(result.lostCount) left out\n")
        }
        guard result.taskCount > 0 else {
            throw UsageError("nothing in \(origin) is a transfer that can be translated")
        }
        console.output(result.text)
        return ExitStatus.succeeded.code
    }

    /// Translates files, and leaves out each command for which the loader refuses the job that was made of them.
    private static func passingCheck(_ inputs: [ImportInput], _ origin: String) -> JobImport.Result {
        var leftOut: [ImportedCommand: String] = [:]
        while true {
            let result = JobImport.translate(inputs, origin: origin, leavingOut: leftOut)
            let known = leftOut.count
            // The lines of a list may be names or URLs: only what neither can be is wrong.
            let asURLs = problems(of: result.text, line: "https://list.invalid/a\n")
            for (line, message) in problems(of: result.text, line: "a\n") where asURLs[line] != nil {
                guard let task = result.tasks.last(where: { $0.line <= line }) else { continue }
                leftOut[task.command] = leftOut[task.command] ?? "`check` refuses it, as \(message)"
            }
            if leftOut.count == known { return result }
        }
    }

    /// Errors of a job, by line, where each file that it reads when it begins has one line.
    private static func problems(of text: String, line: String) -> [Int: String] {
        let resources = Resources(
            environment: { _ in nil }, readFile: { _, _ in .success(Array(line.utf8)) },
            listFiles: { _, _ in .success([Array("a".utf8)]) }, workingDirectory: "/")
        let source = SourceText(name: "/job.yaml", bytes: Array(text.utf8))
        let loaded = JobLoader.load(source, options: LoadOptions(), resources: resources, missingValues: .tolerated)
        var found: [Int: String] = [:]
        for problem in loaded.diagnostics.sorted() where problem.severity == .error {
            if let line = problem.span.map({ Int($0.line) }), found[line] == nil { found[line] = problem.message }
        }
        return found
    }

    /// Returns the job file for the words of a command of curl, wget or aria2c.
    static func translation(of words: [String], _ console: Console) throws(UsageError) -> (text: String, tasks: Int) {
        let result = JobImport.translate(command: words, place: ImportPlace(file: "command line", line: 1))
        tell(result.warnings, console)
        guard result.taskCount > 0 else { throw UsageError("nothing in this command line can be translated") }
        return (result.text, result.taskCount)
    }

    private static func tell(_ warnings: [ImportWarning], _ console: Console) {
        for warning in warnings {
            console.errors("\(SafeText.line("\(warning.place): warning: \(warning.message)"))\n")
        }
    }

    private static func input(_ path: String) throws(UsageError) -> ImportInput {
        let bytes: [UInt8]
        do throws(WholeFile.Problem) {
            bytes =
                path == "-"
                ? try WholeFile.readStandardInput(limit: largestImport)
                : try WholeFile.readGiven(path, limit: largestImport)
        } catch {
            let reason =
                switch error {
                case .notFound: "no such file"
                case .notRegular: "not a regular file"
                case .tooLarge: "larger than \(largestImport >> 20) MiB"
                case .system(let error): error.reason
                }
            throw UsageError(
                "cannot read `\(SafeText.line(path))`: \(reason)",
                hint: ForeignOptions.commandHint(for: path, "import") ?? NearbyFile.question(path))
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw UsageError("`\(SafeText.line(path))` is not UTF-8 text")
        }
        return ImportInput(name: path == "-" ? "standard input" : path, text: text)
    }
}
