import TransferModel

/// Reserves standard output for the tasks with `to: "-"` where a job has some: its reader wants those bytes alone.
enum TaskOutput {
    static func check(_ job: Job, _ options: RunOptions) throws(UsageError) {
        guard let task = job.tasks.first(where: \.toStandardOutput) else { return }
        let (flag, what) =
            if options.report == .standardOutput {
                ("--report -", "the report")
            } else if options.events == .standardOutput {
                ("--events -", "events")
            } else if let format = ReportFormat.allCases.first(where: { options.exports[$0] == "-" }) {
                ("\(FlagTable[FlagTable.name(of: format)].long) -", format.words)
            } else {
                ("", "")
            }
        guard !flag.isEmpty else { return }
        throw UsageError(
            "the task `\(task.id)` writes to standard output (`to: \"-\"`), and so would `\(flag)`",
            hint: "write \(what) to a file: `\(flag.dropLast())PATH`")
    }
}
