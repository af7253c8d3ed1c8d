import TextFormats
import TransferModel

/// The checksum files that a run's tasks ask for: each is read or fetched once, whoever asks first.
struct ChecksumFiles {
    enum Key: Hashable {
        case task(TaskIndex)
        /// One URL may answer two sessions differently.
        case url(String, SessionIndex)
    }
    private enum State {
        case underWay([TaskIndex])
        case known(ChecksumList)
        /// Nobody who asks again would hear anything else.
        case failed(TransferError)
    }
    enum Answer {
        /// Whoever asked is to get it.
        case get
        /// Somebody is getting it.
        case wait
        case list(ChecksumList)
        case failure(TransferError)
    }

    /// Longer ones are no lists of files.
    static let longest: Int64 = 16 << 20
    private var states: [Key: State] = [:]
    /// Where files that tasks look into came to stand.
    private(set) var paths: [TaskIndex: String] = [:]
    private var sources: Set<TaskIndex> = []

    init(_ job: Job) { add(job.tasks) }

    mutating func add(_ tasks: [TaskSpecification]) {
        for task in tasks {
            if case .task(let source, _, _)? = task.options.values.checksum { sources.insert(source) }
        }
    }

    mutating func succeeded(_ task: TaskIndex, at path: String) {
        if sources.contains(task) { paths[task] = path }
    }

    mutating func ask(_ key: Key, for task: TaskIndex) -> Answer {
        switch states[key] {
        case .known(let list): return .list(list)
        case .failed(let error): return .failure(error)
        case .underWay(let waiting):
            states[key] = .underWay(waiting + [task])
            return .wait
        case nil:
            states[key] = .underWay([])
            return .get
        }
    }

    /// Gives back those that waited for it.
    mutating func got(_ list: ChecksumList, _ key: Key) -> [TaskIndex] {
        defer { states[key] = .known(list) }
        return waiting(key)
    }

    /// Gives back those that waited: they may ask again. What is final is the answer for all that ask.
    mutating func lost(_ key: Key, final error: TransferError?) -> [TaskIndex] {
        defer { states[key] = error.map { .failed($0) } }
        return waiting(key)
    }

    private func waiting(_ key: Key) -> [TaskIndex] {
        if case .underWay(let waiting)? = states[key] { waiting } else { [] }
    }
}
