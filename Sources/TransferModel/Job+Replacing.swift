extension ExpandedJob {
    /// Returns the job with those of its downloads that have these ids fetching their files whole.
    package func replacingFiles(of ids: Set<String>) -> ExpandedJob {
        guard !ids.isEmpty else { return self }
        var expanded = self
        expanded.job.replaceFiles(of: ids)
        return expanded
    }
}

extension Job {
    /// Makes the downloads with these ids fetch their files whole, whatever is there (`existing: replace`).
    package mutating func replaceFiles(of ids: Set<String>) {
        for index in tasks.indices where tasks[index].type == .download && ids.contains(tasks[index].id) {
            var values = tasks[index].options.values
            values.ownExisting = .replace
            tasks[index].options = TaskOptions(values)
        }
    }
}
