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
            if let task = writer(of: place, path, job) {
                throw OutputProblem("cannot write \(what) to \(path): it is the file of the task `\(task.id)`")
            }
        }
        try checkInputs(job)
    }

    /// What the job is made of is not to be replaced by what it fetches.
    private static func checkInputs(_ job: Job) throws(OutputProblem) {
        for input in job.reserved {
            guard let place = place(input.path), let task = writer(of: place, input.path, job) else { continue }
            throw OutputProblem(
                "the task `\(task.id)` would write over \(input.what), \(input.path): give it another `to`")
        }
    }

    /// `path` is how the place was named, which may end in another name.
    private static func writer(of place: String, _ path: String, _ job: Job) -> TaskSpecification? {
        let names = Set([place, path].map { "/" + Folders.split($0).name })
        return job.tasks.first { task in
            guard let destination = task.destination, names.contains(where: { destination.hasSuffix($0) }) else {
                return false
            }
            return Self.place(destination) == place
        }
    }

    /// `nil` for what is no file of its own, such as a terminal or `/dev/null`.
    private static func place(_ path: String) -> String? {
        if let place = Folders.resolved(path) { return (try? FileFacts.of(place))?.isRegular == true ? place : nil }
        let (folder, name) = Folders.split(path)
        return Folders.resolved(folder).map { $0 == "/" ? "/\(name)" : "\($0)/\(name)" }
    }
}
