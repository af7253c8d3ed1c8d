import JobImport
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
        let result = JobImport.translate(inputs, origin: origin)
        tell(result.warnings, console)
        guard result.taskCount > 0 else {
            throw UsageError("nothing in \(origin) is a transfer that can be translated")
        }
        console.output(result.text)
        return ExitStatus.succeeded.code
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
