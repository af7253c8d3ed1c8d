internal import TransferModel

/// Arguments of the command that runs a part of the job again, in addition to the names of its tasks.
package struct RerunAdvice: Hashable, Sendable {
    /// `NAME=VALUE` of each variable that was set.
    package var assignments: [String]
    /// Other options that change what is done, word for word as they were typed.
    package var options: [String]
    /// Options that choose tasks.
    package var selection: [String]
    /// Arguments of the command that repeats the run of a job without a file; empty for a job that has one.
    package var command: [String] = []

    package init(assignments: [String] = [], options: [String] = [], selection: [String] = []) {
        self.assignments = assignments
        self.options = options
        self.selection = selection
    }

    /// Replaces secret values, because the command may end in a log.
    static let mask = "***"

    /// Returns the words after `run`. `tasks` are the ids to run again; `nil` for all that were chosen.
    func words(_ job: Job, tasks: [String]?, hiding redactor: Redactor) -> [String] {
        // A file name that looks like an option gets a leading `./`.
        let files = job.files.map { $0.hasPrefix("-") && $0 != "-" ? "./\($0)" : $0 }
        let proofs = assignments.isEmpty ? [] : JobProofs.texts(in: job)
        let variables = assignments.flatMap { ["--set", Self.shown($0, proofs)] }
        let chosen = tasks.map { $0.flatMap { ["--only", $0] } } ?? selection
        return files.map { redactor.redacted(name: $0) } + (variables + options).map { redactor.redacted($0) }
            + chosen.map { redactor.redacted(name: $0) }
    }

    /// Returns the words after `rerun` that run the report's unsuccessful tasks again. The report has the variables, but
    /// no secret.
    func words(_ job: Job, report: String, hiding redactor: Redactor) -> [String] {
        let file = report.hasPrefix("-") ? "./\(report)" : report
        let proofs = assignments.isEmpty ? [] : JobProofs.texts(in: job)
        let hidden = assignments.map { redactor.redacted(Self.shown($0, proofs)) }.filter { $0.contains(Self.mask) }
        return [redactor.redacted(name: file)] + hidden.flatMap { ["--set", $0] }
            + optionsOfRerun.map { redactor.redacted($0) }
    }

    /// The options without `--report`: a rerun has a report of its own, and this one stays.
    private var optionsOfRerun: [String] {
        var kept: [String] = []
        var words = options[...]
        while let word = words.popFirst() {
            if word == "--report" { _ = words.popFirst() } else if !word.hasPrefix("--report=") { kept.append(word) }
        }
        return kept
    }

    // MARK: Undeclared secrets

    private static let names = ["password", "passwd", "secret", "token", "apikey", "api_key", "credential"]

    private static func shown(_ assignment: String, _ proofs: Set<String>) -> String {
        guard let equals = assignment.firstIndex(of: "=") else { return assignment }
        let (name, value) = (assignment[..<equals].lowercased(), assignment[assignment.index(after: equals)...])
        let isProof = names.contains { name.contains($0) } || proofs.contains { $0.contains(value) }
        return !value.isEmpty && isProof ? "\(assignment[...equals])\(mask)" : assignment
    }
}
