import Exports
import JobLoader
import Reporting
import Stores
import TransferModel

/// The questions of the completion scripts, which are answered with names, one a line, and never with an error: a key
/// pressed in a shell must not print one.
private enum CompletionQuestion: String {
    /// Ids of the tasks of these jobs.
    case tasks
    /// Ids of the tasks of a report.
    case reported
    /// Identifiers of the background sessions that are under way, or whose end was not shown to the user yet.
    case sessions
}

/// Answers the questions of the completion scripts.
private struct CompletionAnswers {
    let environment: [String: String]

    /// Most names: a shell shows fewer.
    private static let most = 2000

    func names(_ question: CompletionQuestion, _ operands: ArraySlice<String>) -> [String] {
        switch question {
        case .tasks: operands.flatMap { tasks($0) }
        case .reported: operands.first.map { reported($0) } ?? []
        case .sessions: sessions()
        }
    }

    private func tasks(_ path: String) -> [String] {
        guard path != "-",
            let typed = try? TypedArguments.parse(["check", "--", path]),
            let options = try? CheckOptions(typed, environment: [:])
        else { return [] }
        let source = JobSource(
            arguments: options.arguments, environment: environment, isForRun: false, isForCheck: true)
        guard let job = try? source.load(path).get().result.job else { return [] }
        return job.tasks.prefix(Self.most).map { id in
            // A template is named by a pattern of the ids that it makes.
            id.isTemplate ? Self.pattern(id.id) : id.id
        }
    }

    private static func pattern(_ id: String) -> String { String(id.prefix { $0 != "$" }) + "*" }

    private func reported(_ path: String) -> [String] {
        guard path != "-", let file = try? ReportFile(path), let reader = try? ReportReader(file, reading: []) else {
            return []
        }
        var ids: [String] = []
        while ids.count < Self.most, let task = try? reader.next() { ids.append(task.id) }
        return ids
    }

    private func sessions() -> [String] {
        guard let folder = try? StateFolder(nil, environment), Journal.isThere(folder: folder.state),
            let journal = try? Journal.open(folder: folder.state), let runs = try? journal.runs()
        else { return [] }
        return Set(runs.filter { $0.deliveredAt == nil }.flatMap(\.accepted.identifiers)).sorted()
    }
}

extension CommandLineTool {
    /// `completions bash|zsh|fish`: prints the script. The scripts ask with `completions tasks JOB` and its like.
    static func completions(
        _ typed: TypedArguments, _ environment: [String: String], _ console: Console
    ) throws(UsageError) -> Int32 {
        if let question = CompletionQuestion(rawValue: typed.operands[0]) {
            let answers = CompletionAnswers(environment: environment)
            for name in answers.names(question, typed.operands.dropFirst()) {
                console.output(SafeText.line(name) + "\n")
            }
            return ExitStatus.succeeded.code
        }
        guard let shell = CompletionShell(rawValue: typed.operands[0]), typed.operands.count == 1 else {
            throw UsageError(
                "there is no completion for `\(SafeText.line(typed.operands[0]))`",
                hint: "there is one for `bash`, `zsh` and `fish`")
        }
        console.output(CompletionScripts.script(shell))
        return ExitStatus.succeeded.code
    }
}
