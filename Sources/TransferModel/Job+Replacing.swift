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
