internal import TransferModel

/// What the summary at the end of a run needs to know of its tasks.
struct RunTally {
    /// So many troubles are told one by one; the report has them all.
    private static let told = 20

    private let job: Job
    private let advice: RerunAdvice
    private let redactor: Redactor
    private var words: [(word: String, count: Int)] = []
    private var troubles: [(task: TaskIndex, record: TaskRecord)] = []
    private var troubleCount = 0
    private var troubledTasks: [TaskIndex] = []

    init(job: Job, _ advice: RerunAdvice, _ redactor: Redactor) {
        self.job = job
        self.advice = advice
        self.redactor = redactor
    }

    mutating func count(_ task: TaskIndex, _ record: TaskRecord) {
        let word = OutcomeWord(record)
        if let place = words.firstIndex(where: { $0.word == word.text }) {
            words[place].count += 1
        } else {
            words.append((word.text, 1))
        }
        guard word.isTrouble else { return }
        troubledTasks.append(task)
        // The tasks that failed tell why; those that were skipped for their sake only follow.
        if troubles.count < Self.told || record.outcome == .failed {
            if troubles.count == Self.told, let other = troubles.lastIndex(where: { $0.record.outcome != .failed }) {
                troubles.remove(at: other)
            }
            if troubles.count < Self.told { troubles.append((task, record)) }
        }
    }

    /// What failed and why, the command that runs just that again, and one line of counts.
    func summary(_ run: RunRecord, id: (TaskIndex) -> String) -> [String] {
        var lines: [String] = []
        if !troubledTasks.isEmpty {
            lines.append("")
            lines.append("\(HumanText.count(troubledTasks.count, "task")) did not succeed:")
            for (task, record) in troubles.sorted(by: { $0.task < $1.task }) {
                lines.append("  \(id(task)) \(record.outcome.rawValue)\(reason(record))")
            }
            let untold = troubledTasks.count - troubles.count
            if untold > 0 { lines.append("  and \(untold) more, all in the report") }
            lines.append(again(id))
        }
        lines.append(counts(run))
        return lines
    }

    private func reason(_ record: TaskRecord) -> String {
        let name = record.error.map { error in
            " (\(error.name.rawValue)\(error.name.code.map { " \($0)" } ?? ""))"
        }
        let words =
            record.explanation
            ?? Explanation.sentence(outcome: record.outcome, error: record.error, waits: record.waits, attempts: 1)
        return "\(name ?? ""): \(Self.withoutOutcome(words ?? ""))"
    }

    /// The outcome stands there already.
    private static func withoutOutcome(_ sentence: String) -> String {
        for word in ["Skipped: ", "Put off: ", "Cancelled: "] where sentence.hasPrefix(word) {
            return String(sentence.dropFirst(word.count))
        }
        return sentence
    }

    /// With many tasks all that were chosen are named: what succeeded costs one conditional request or none.
    private func again(_ id: (TaskIndex) -> String) -> String {
        let ids = troubledTasks.count > Self.told ? nil : troubledTasks.sorted().map { id($0) }
        let words = advice.words(job, tasks: ids, hiding: redactor)
        let command = words.map { HumanText.shellWord($0) }.joined(separator: " ")
        var gaps = job.file == "-" ? ["the job on standard input"] : []
        if words.contains(where: { $0.contains(RerunAdvice.mask) }) { gaps.append("secrets in the place of `***`") }
        let given = gaps.isEmpty ? "" : ", with \(gaps.joined(separator: " and "))"
        let what = ids == nil ? "the job" : troubledTasks.count == 1 ? "just it" : "just them"
        return "Run \(what) again\(given): transfer-run run \(command)"
    }

    private func counts(_ run: RunRecord) -> String {
        let all = words.reduce(0) { $0 + $1.count }
        let parts = words.map { "\($0.count) \($0.word.lowercased())" }
        let listed = parts.isEmpty ? "" : ": \(parts.joined(separator: ", "))"
        return "\(HumanText.count(all, "task"))\(listed) in \(HumanText.duration(run.duration))"
    }
}
