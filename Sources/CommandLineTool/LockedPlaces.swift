import JobLoader
import SystemIO
import TransferModel

/// Destinations that the jobs beside a lock name, by task. The jobs are loaded when the first place is asked for.
final class LockedPlaces {
    private let lock: String
    private let arguments: JobArguments
    private let environment: [String: String]
    private var places: [ExactText: Set<ExactText>]?

    /// `lock` is the path of the lock as typed; `-` has no job beside it.
    init(beside lock: String, arguments: JobArguments, environment: [String: String]) {
        self.lock = lock
        self.arguments = arguments
        self.environment = environment
    }

    /// Whether a job beside the lock has a task of this id with this destination.
    func contains(_ destination: String, of task: String) -> Bool {
        let places = places ?? load()
        self.places = places
        return places[ExactText(task)]?.contains(ExactText(destination)) == true
    }

    private func load() -> [ExactText: Set<ExactText>] {
        var places: [ExactText: Set<ExactText>] = [:]
        for path in jobs where (try? FileFacts.of(path).isRegular) == true {
            var arguments = arguments
            arguments.jobs = [path]
            // As in a check, a value that is missing on this machine is no error: the places may do without.
            let source = JobSource(
                arguments: arguments, environment: environment, isForRun: false, isForCheck: true)
            guard case .success(let loaded) = source.load(path), let job = loaded.result.job else { continue }
            for task in job.tasks {
                guard let destination = task.destination else { continue }
                places[ExactText(task.id), default: []].insert(ExactText(FileRepair.tidied(destination)))
            }
        }
        return places
    }

    /// Paths of the job files whose lock this may be.
    private var jobs: [String] {
        guard lock.hasSuffix(".lock") else { return [] }
        let stem = String(lock.dropLast(".lock".count))
        return [".yaml", ".yml", ".transfer.yaml", ".transfer.yml", ".json"].map { stem + $0 }
    }
}
