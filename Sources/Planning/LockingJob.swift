package import TransferModel

/// A job that fetches files of another job only to look at them: each goes to a folder of its own kind, and nothing is
/// published.
package struct LockingJob: Sendable {
    /// The job to run.
    package let job: Job
    /// Whether the file of each task of `job` is to be locked.
    package let isWanted: [Bool]
    /// Whether another task reads the file of each task of `job`, so that the file must stay till the end.
    package let isRead: [Bool]

    /// `wanted`: the tasks to fetch; what they need is run, too. `folder` takes the files.
    package init(_ job: Job, fetching wanted: [Int], into folder: String) {
        var isChosen = [Bool](repeating: false, count: job.tasks.count)
        var open = wanted
        for index in wanted { isChosen[index] = true }
        while let index = open.popLast() {
            for need in job.tasks[index].needs where !isChosen[Int(need.raw)] {
                isChosen[Int(need.raw)] = true
                open.append(Int(need.raw))
            }
        }
        let places = isChosen.indices.filter { isChosen[$0] }
        let asked = Set(wanted)
        isWanted = places.map { asked.contains($0) }
        var part = job.keeping(isChosen).withoutEffects
        for index in part.sessions.indices { part.sessions[index].durability = .none }
        part.limits.maximumBytes = nil
        part.limits.finishBy = nil
        part.limits.timeout = nil
        part = Self.redirected(part, from: 0, into: folder)
        var isRead = [Bool](repeating: false, count: part.tasks.count)
        for task in part.tasks { for need in task.needs { isRead[Int(need.raw)] = true } }
        self.isRead = isRead
        self.job = part
    }

    /// Why a download cannot be locked; `nil` if it can.
    package static func refusal(_ index: Int, of job: Job) -> String? {
        if isPaged(job.tasks[index]) { return "it has `next`, and a lock holds one file of a task" }
        var open = [index]
        var seen: Set<Int> = [index]
        while let next = open.popLast() {
            if job.tasks[next].type == .upload { return "it needs the upload `\(job.tasks[next].id)`" }
            for need in job.tasks[next].needs where seen.insert(Int(need.raw)).inserted { open.append(Int(need.raw)) }
        }
        return nil
    }

    /// Whether a download has as many files as its server has pages: a lock has no entry for it, and a run cannot be
    /// held to one.
    package static func isPaged(_ task: TaskSpecification) -> Bool {
        task.type == .download && task.options.values.next != nil
    }

    /// The folder below `folder` that takes a task's file at its whole path, so that no two tasks meet.
    private static func root(of task: TaskSpecification, in folder: String) -> String { "\(folder)/task-\(task.id)" }

    /// Returns the path that a file below `folder` would have had; `nil` for a task without one.
    package static func original(_ path: String, of task: TaskSpecification, in folder: String) -> String? {
        let root = root(of: task, in: folder)
        guard path.utf8.starts(with: "\(root)/".utf8) else { return nil }
        return String(decoding: path.utf8.dropFirst(root.utf8.count), as: UTF8.self)
    }

    /// Returns the job with its downloads from `start` on going into `folder`, each below a folder of its own.
    package static func redirected(_ job: Job, from start: Int, into folder: String) -> Job {
        var job = job
        for index in job.tasks.indices[start...] {
            let root = root(of: job.tasks[index], in: folder)
            let hasNoPath = job.tasks[index].toStandardOutput || job.tasks[index].options.values.object != nil
            job.tasks[index].group = nil
            job.tasks[index].options = TaskOptions(values(job.tasks[index], root))
            guard job.tasks[index].type == .download else { continue }
            if let destination = job.tasks[index].destination {
                job.tasks[index].destination = root + destination
            } else if hasNoPath {
                job.tasks[index].destination = "\(folder)/output-\(job.tasks[index].id)"
            }
            job.tasks[index].toStandardOutput = false
        }
        return job
    }

    private static func values(_ task: TaskSpecification, _ root: String) -> TaskOptions.Values {
        var values = task.options.values
        values.onFinish = nil
        values.neededGroups = []
        values.suspended = false
        values.earliestBegin = nil
        guard task.type == .download else { return values }
        values.awaitedDestination = values.awaitedDestination.map { SecretText(pieces: [.literal(root)] + $0.pieces) }
        // The next run must not see these files as its own.
        values.existing = .replace
        values.resume = .no
        values.mode = nil
        values.object = nil
        return values
    }
}

extension Job {
    /// The job without what a run leaves behind beside its files (groups, reports, hooks, saved cookies, background
    /// sessions), and without what makes it wait or stop early: for a run that only looks.
    var withoutEffects: Job {
        var job = self
        job.groups = []
        job.onFinish = nil
        job.report = ReportPlan()
        job.failFast = false
        job.held = nil
        for index in job.sessions.indices {
            if job.sessions[index].kind == .background { job.sessions[index].kind = .default }
            job.sessions[index].identifier = nil
            job.sessions[index].onFinish = nil
            job.sessions[index].discretionary = nil
            job.sessions[index].window = nil
            job.sessions[index].cookies.save = false
        }
        return job
    }
}
