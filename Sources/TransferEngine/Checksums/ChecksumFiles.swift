import TextFormats
import TransferModel

/// The checksum files that a run's tasks ask for: each is read or fetched once, whoever asks first.
struct ChecksumFiles {
    struct Key: Hashable {
        enum Place: Hashable {
            case task(TaskIndex)
            case url(String)
        }
        let place: Place
        /// Set where something is fetched: one URL may answer two sessions differently.
        let session: SessionIndex?
        /// Which redirects may lead to it, where something is fetched: a task trusts no place that only another allows.
        let redirects: RedirectPolicy?
        /// A file counts only for tasks that want the same proof of it.
        let signature: RequiredSignature?

        init(_ place: Place, _ signature: RequiredSignature?, _ session: SessionIndex, _ redirects: RedirectPolicy) {
            let isFetched = if case .url = place { true } else { signature != nil }
            (self.place, self.signature) = (place, signature)
            self.session = isFetched ? session : nil
            self.redirects = isFetched ? redirects : nil
        }
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
            if case .task(let source, _)? = task.options.values.checksum { sources.insert(source) }
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
