internal import Reporting
internal import TransferModel

/// The first rows of the table of tasks in plain HTML, for a reader without scripts: tasks that did not succeed come
/// first.
struct TaskRows {
    static let most = 100
    private var failures: [String] = []
    private var others: [String] = []

    /// Returns whether there is room for the task: a run may have many more tasks.
    func wants(_ task: ReportedTask) -> Bool {
        task.outcome == .succeeded ? failures.count + others.count < Self.most : failures.count < Self.most
    }

    mutating func add(_ task: ReportedTask, number: Int, host: String) {
        let row = Self.row(task, number, host)
        if task.outcome == .succeeded { others.append(row) } else { failures.append(row) }
    }

    var list: ArraySlice<String> { (failures + others).prefix(Self.most) }

    private static func row(_ task: ReportedTask, _ number: Int, _ host: String) -> String {
        let outcome = PageOutcome(task)
        func cell(_ text: String) -> String { "<td class=\"number\">\(text)</td>" }
        let why = task.error.map { "<small>\(PageText.escaped($0.message))</small>" } ?? ""
        return """
            <tr id="task-\(number)"><th scope="row"><bdi>\(PageText.escaped(task.id))</bdi>\(why)</th>\
            <td>\(PageBody.mark(outcome))\(outcome.word)</td><td>\(PageText.escaped(host))</td>\
            \(cell(task.response?.status.map { String($0) } ?? "–"))\
            \(cell(task.fileBytes.map { HumanText.size($0) } ?? "–"))\
            \(cell(task.duration.map { PageText.duration(seconds: $0.seconds) } ?? "–"))</tr>\n
            """
    }
}
