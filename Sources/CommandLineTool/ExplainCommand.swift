import Diagnostics
import Exports
import Reporting
import TransferModel

extension CommandLineTool {
    /// `explain REPORT [ID]`: prints where the time of a run, or of one of its tasks, went.
    static func explain(_ typed: TypedArguments, _ console: Console) throws(UsageError) -> Int32 {
        let path = typed.operands[0]
        try WorkingFolder.check(path == "-" ? nil : path)
        do throws(ReportProblem) {
            let file = try ReportFile.given(path)
            if typed.operands.count > 1 { return try explain(task: typed.operands[1], file, console) }
            let reader = try ReportReader(file, reading: RunExplanation.parts)
            var run = RunExplanation(reader.head)
            while let task = try reader.next() { run.add(task) }
            print(run.lines(), console)
            return ExitStatus.succeeded.code
        } catch {
            console.errors("error: \(error)\n")
            if let last = typed.operands.last, last != path, (try? ReportFile(last)) != nil {
                console.errors(
                    "  hint: the report comes first: `transfer-run explain \(SafeText.line(last)) \(SafeText.line(path))`\n"
                )
            }
            return ExitStatus.invalidInput.code
        }
    }

    private static func explain(task id: String, _ file: ReportFile, _ console: Console) throws(ReportProblem) -> Int32
    {
        let reader = try ReportReader(file)
        var ids: [String] = []
        while let task = try reader.next() {
            guard task.id.utf8.elementsEqual(id.utf8) else {
                if ids.count < 10_000 { ids.append(task.id) }
                continue
            }
            print(TaskExplanation(task).lines(), console)
            return ExitStatus.succeeded.code
        }
        console.errors("error: \(file.name) has no task `\(SafeText.line(id))`\n")
        if let near = Spelling.closest(to: id, among: ids) {
            console.errors("  hint: did you mean `\(SafeText.line(near))`?\n")
        }
        return ExitStatus.invalidInput.code
    }

    /// Prints lines wrapped to the terminal; other programs get whole lines.
    static func print(_ lines: [String], _ console: Console) {
        let width = Terminal.isTerminal(1) ? Terminal.width(1) : nil
        for line in lines {
            let indent = String(repeating: " ", count: line.prefix { $0 == " " }.count + 2)
            console.output(TextLayout.wrapped(line, width: width, indent: indent).map { $0 + "\n" }.joined())
        }
    }
}
