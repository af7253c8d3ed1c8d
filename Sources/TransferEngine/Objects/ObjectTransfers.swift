import AttemptLife
import FileDelivery
import HTTPRules
import Stores
import TransferModel

// Downloads that become objects of a store (`to: s3://bucket/key`). To the scheduler one attempt does all of it. Here it
// is up to three `Attempt` objects, one after the other, so that nothing of one server is left to the next: one asks the
// store what it has, one fetches the file like any download, one puts it.

/// How far an attempt is with the object that its file becomes.
struct ObjectProgress {
    /// What the attempt does.
    enum Leg {
        /// Asks the store for the object.
        case asking
        /// Fetches the file, to where it waits for the store.
        case fetching
        /// Puts the file into the store.
        case storing
        /// What is left is to tell how it ended.
        case done
    }
    var leg = Leg.fetching
    /// Where the object goes.
    let place: ObjectPlace
    /// URL of the object.
    let url: ResourceURL
    /// What the store is asked, in the attempt that asks.
    var question: UploadQuestion?
    /// What an earlier run put there, once the store has said that it is still there.
    var stored: SentUpload?
    /// Whether the server of the file is asked if that is still what it has.
    var isAskedAbout = false
    /// The attempt that fetches the file, or has fetched it; `nil` in that one itself.
    var fetch: Attempt?
    /// How the fetch ended.
    var end: (verdict: Verdict, source: ResultSource)?

    /// Whether the attempt's requests go to the store.
    var isAtStore: Bool { leg == .asking || leg == .storing }
    /// The object's name, as it is told.
    var name: String { place.name.redacted }
}

/// Tasks whose files become objects of a store.
struct ObjectTransfers {
    private(set) var folder: ObjectFolder
    private let memory: MemoryPlace?
    /// Fetches whose files the store did not take yet.
    var fetched: [TaskIndex: Attempt] = [:]
    /// Tasks whose stores said that nothing is there: what a later attempt finds there may be what an earlier one put.
    var missing: Set<TaskIndex> = []

    init(_ memory: MemoryPlace?, run: String) {
        self.memory = memory
        folder = ObjectFolder(state: memory?.folder, run: run)
    }

    /// Returns the job with the paths at which files wait for their store.
    mutating func placed(_ job: Job) -> Job {
        guard job.tasks.contains(where: { $0.options.values.object != nil }) else { return job }
        var job = job
        job.tasks = job.tasks.map { placed($0) }
        return job
    }

    /// Returns the task with the path at which its file waits for its store; a path that cannot be had is an error later.
    mutating func placed(_ task: TaskSpecification) -> TaskSpecification {
        guard task.options.values.object != nil, !task.options.values.awaitsCaptures else { return task }
        var task = task
        task.destination = try? path(of: task)
        return task
    }

    /// Returns the path at which a task's file waits for its store.
    mutating func path(of task: TaskSpecification) throws(TransferError) -> String? {
        guard let object = task.options.values.object else { return nil }
        let sessions = memory?.sessions ?? []
        let session = Int(task.session.raw) < sessions.count ? sessions[Int(task.session.raw)] : nil
        return try folder.path(
            job: session?.job, session: session?.name ?? "\(task.session.raw)", task: task.id,
            object: object.name.revealed)
    }
}

extension TaskSpecification {
    /// Returns the upload that puts the file at `path` into the store, or asks about the object.
    func storing(_ object: ObjectPlace, at url: ResourceURL, path: String, _ description: HeaderBlock?)
        -> TaskSpecification
    {
        var values = TaskOptions.Values(policies: options.values.policies)
        values.policies.credentials = object.credentials + options.values.policies.credentials.filter(\.isForProxy)
        values.bandwidth = options.values.bandwidth
        values.cookies = false
        values.method = "PUT"
        values.body = .file(SecretText(path))
        values.ownExisting = .replace
        values.headers = object.headers
        values.contentType = SecretText(
            description?.first("content-type") ?? FileTypes.type(ofPath: object.name.revealed))
        if let coding = description?.first("content-encoding"), options.values.decompress == .no {
            values.headers.append(HeaderField(name: "Content-Encoding", value: SecretText(coding)))
        }
        var task = self
        task.type = .upload
        task.location = .url(url)
        task.destination = nil
        task.options = TaskOptions(values)
        return task
    }
}
