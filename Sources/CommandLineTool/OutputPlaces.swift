import Reporting
import SystemIO
import TransferModel

/// Where a run writes beside what its tasks fetch: no two of these may become one file, of which only the last is left.
enum OutputPlaces {
    static func check(_ job: Job, report: String?, events: String?) throws(OutputProblem) {
        var taken: [(place: String, what: String)] = []
        if job.file != "-", let place = Folders.resolved(job.file) { taken.append((place, "the job itself")) }
        for (path, what) in [(events, "the events"), (report, "the report")] {
            guard let path, let place = place(path) else { continue }
            if let other = taken.first(where: { $0.place == place }) {
                throw OutputProblem("cannot write \(what) to \(path): it is the place of \(other.what)")
            }
            taken.append((place, what))
            try checkTasks(job, place, "cannot write \(what) to \(path)")
        }
    }

    private static func checkTasks(_ job: Job, _ place: String, _ problem: String) throws(OutputProblem) {
        let name = "/" + Folders.split(place).name
        for task in job.tasks {
            guard let destination = task.destination, destination.hasSuffix(name), Self.place(destination) == place
            else { continue }
            throw OutputProblem("\(problem): it is the file of the task `\(task.id)`")
        }
    }

    /// `nil` for what is no file of its own, such as a terminal or `/dev/null`.
    private static func place(_ path: String) -> String? {
        if let place = Folders.resolved(path) { return (try? FileFacts.of(place))?.isRegular == true ? place : nil }
        let (folder, name) = Folders.split(path)
        return Folders.resolved(folder).map { $0 == "/" ? "/\(name)" : "\($0)/\(name)" }
    }
}
