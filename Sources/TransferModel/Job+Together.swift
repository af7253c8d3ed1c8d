extension Job {
    /// One of several job files that one run carries out together.
    package struct Member: Sendable {
        /// The job's name.
        package let name: String
        /// Whether the file itself says the name.
        package let isNamed: Bool
        /// The job file as the user named it; `-` for standard input.
        package let file: String
        /// SHA-256 of the file's bytes in hex.
        package let sha256: LateText?
        /// The absolute folder that relative paths start from.
        package let baseDirectory: String
        /// Places of its sessions in the run's job.
        package let sessions: Range<Int>
        /// Names of its sessions as the file has them. In the run's job a name that an earlier file took is preceded by
        /// this job's: `nightly/default`.
        package let sessionNames: [String]
        /// The command to run at the end; `nil` for none.
        package let onFinish: [SecretText]?
    }

    /// Why jobs cannot be run together.
    package struct MemberConflict: Error, Hashable, Sendable {
        /// What is wrong, as a sentence.
        package let message: String
        /// What helps.
        package let hint: String
        /// The number of the job file that the problem is in.
        package let file: Int
        /// The line of the task concerned; `nil` where the whole file is meant.
        package var line: Int?

        package init(message: String, hint: String, file: Int, line: Int? = nil) {
            self.message = message
            self.hint = hint
            self.file = file
            self.line = line
        }
    }

    /// Returns several jobs as one: all tasks, sessions and groups, in the order of the files, under one set of limits.
    ///
    /// Of limits that several files state, the strictest counts. The first file decides where the report is written.
    package static func together(_ jobs: [Job]) throws(MemberConflict) -> Job {
        guard var all = jobs.first, jobs.count > 1 else { preconditionFailure("there are no several jobs") }
        try checkAgreement(jobs)
        all.members = [all.member(sessions: 0..<all.sessions.count)]
        for (number, job) in jobs.enumerated().dropFirst() { all.append(job, number: number) }
        all.name = all.members.map(\.name).joined(separator: " + ")
        all.isNamed = all.members.allSatisfy(\.isNamed)
        all.file = all.members.map(\.file).joined(separator: " ")
        all.sha256 = nil
        all.onFinish = nil
        all.failFast = jobs.contains(where: \.failFast)
        all.limits = try RunLimits.strictest(of: jobs.map(\.limits))
        return all
    }

    /// Returns the job file that a session comes from; `nil` in a run of one file.
    package func member(of session: SessionIndex) -> Member? {
        members.first { $0.sessions.contains(Int(session.raw)) }
    }

    /// The job files of the run as the user named them.
    package var files: [String] { members.isEmpty ? [file] : members.map(\.file) }

    /// The jobs whose `onFinish` is to run at the end, each with its own: this one, or the files that run together.
    package var finishing: [Job] {
        if members.isEmpty { return [self] }
        return members.map { member in
            var job = self
            job.onFinish = member.onFinish
            return job
        }
    }

    /// Returns the file that a task is written in.
    package func file(of task: TaskIndex) -> String {
        members.isEmpty ? file : member(of: tasks[Int(task.raw)].session)?.file ?? file
    }

    /// Returns the member's job after its templates became tasks, with its sessions named as in this run.
    package func named(_ expanded: ExpandedJob, ofFile number: Int) -> ExpandedJob {
        guard members.indices.contains(number) else { return expanded }
        var expanded = expanded
        for (place, session) in members[number].sessions.enumerated() where place < expanded.job.sessions.count {
            expanded.job.sessions[place].name = sessions[session].name
        }
        return expanded
    }

    private func member(sessions places: Range<Int>) -> Member {
        Member(
            name: name, isNamed: isNamed, file: file, sha256: sha256, baseDirectory: baseDirectory, sessions: places,
            sessionNames: sessions.map(\.name), onFinish: onFinish)
    }

    private mutating func append(_ job: Job, number: Int) {
        let (firstTask, firstSession, firstGroup) = (tasks.count, sessions.count, groups.count)
        members.append(job.member(sessions: firstSession..<firstSession + job.sessions.count))
        var taken = Set(sessions.map(\.name))
        for var session in job.sessions {
            // The file's number is the last resort, for two jobs of one name.
            if taken.contains(session.name) { session.name = "\(job.name)/\(session.name)" }
            if taken.contains(session.name) { session.name += "#\(number + 1)" }
            taken.insert(session.name)
            sessions.append(session)
        }
        groups += job.groups
        let places = Renumbering(
            tasks: Array(firstTask..<firstTask + job.tasks.count),
            sessions: Array(firstSession..<firstSession + job.sessions.count),
            groups: Array(firstGroup..<firstGroup + job.groups.count))
        tasks += job.tasks.map { task in
            var task = places.applied(to: task)
            guard task.isTemplate else { return task }
            var values = task.options.values
            values.template?.file = number
            task.options = TaskOptions(values)
            return task
        }
        let known = Set(secrets)
        secrets += job.secrets.filter { !known.contains($0) }
        credentialNames = credentialNames.union(job.credentialNames)
        let shown = Set(variables.map(\.name))
        variables += job.variables.filter { !shown.contains($0.name) }
        reserved += job.reserved
    }
}

// MARK: What speaks against it

extension Job {
    private static func checkAgreement(_ jobs: [Job]) throws(MemberConflict) {
        var (ids, places, groups) = ([String: Int](), [String: (file: Int, id: String)](), [String: Int]())
        for (number, job) in jobs.enumerated() {
            if job.baseDirectory != jobs[0].baseDirectory {
                throw MemberConflict(
                    message: "`\(job.file)` and `\(jobs[0].file)` lie in different folders, and run together they "
                        + "would need one in which their commands and paths start",
                    hint: "`--directory DIR` names one for all, or run the files one after the other", file: number)
            }
            for group in job.groups {
                if let other = groups.updateValue(number, forKey: group.name) {
                    throw MemberConflict(
                        message: "the group `\(group.name)` is also in `\(jobs[other].file)`",
                        hint: "give one of them another name", file: number)
                }
            }
            for task in job.tasks {
                if let other = ids.updateValue(number, forKey: task.id), other != number {
                    throw MemberConflict(
                        message: "the id `\(task.id)` is also in `\(jobs[other].file)`",
                        hint: "ids are unique in a run: give one of the tasks another", file: number,
                        line: Int(task.line))
                }
                guard let place = job.writtenPath(of: task) else { continue }
                if let other = places.updateValue((number, task.id), forKey: place), other.file != number {
                    throw MemberConflict(
                        message: "the destination `\(place)` is also written by `\(other.id)` of "
                            + "`\(jobs[other.file].file)`",
                        hint: "two tasks of a run cannot write one file", file: number, line: Int(task.line))
                }
            }
        }
    }

    /// The path that a task writes, where the job file says it.
    private func writtenPath(of task: TaskSpecification) -> String? {
        if let object = task.options.values.object { return object.address }
        guard let path = task.destination, path != "-", path.utf8.last != UInt8(ascii: "/")
        else { return nil }
        return path
    }
}

extension RunLimits {
    /// Returns the limits that hold for jobs with these limits when they run together: of each the strictest.
    fileprivate static func strictest(of all: [RunLimits]) throws(Job.MemberConflict) -> RunLimits {
        var limits = RunLimits()
        // What no file states is the default, which is no wish.
        let tasks = all.map(\.maximumConcurrentTasks).filter { $0 != limits.maximumConcurrentTasks }
        limits.maximumConcurrentTasks = tasks.min() ?? limits.maximumConcurrentTasks
        limits.timeout = all.compactMap(\.timeout).min()
        limits.minimumFreeDisk = all.compactMap(\.minimumFreeDisk).max()
        limits.maximumBytes = all.compactMap(\.maximumBytes).min()
        limits.maximumStaged = all.compactMap(\.maximumStaged).min()
        limits.stopWhen = all.compactMap(\.stopWhen)
            .min { ($0.failedPercent, $0.atLeast) < ($1.failedPercent, $1.atLeast) }
        limits.hosts = all.flatMap(\.hosts)
        limits.bandwidth = try one(of: all, \.bandwidth, "bandwidth") { left, right in
            guard case .steady(let one) = left, case .steady(let other) = right else { return nil }
            return .steady(min(one, other))
        }
        limits.finishBy = try one(of: all, \.finishBy, "finishBy") { left, right in
            switch (left, right) {
            case (.afterStart(let one), .afterStart(let other)): .afterStart(min(one, other))
            case (.at(let one), .at(let other)): .at(min(one, other))
            default: nil
            }
        }
        return limits
    }

    /// Returns the strictest of the stated values; throws where two of them cannot be compared.
    private static func one<Value: Hashable>(
        of all: [RunLimits], _ limit: KeyPath<RunLimits, Value?>, _ name: String,
        stricter: (Value, Value) -> Value?
    ) throws(Job.MemberConflict) -> Value? {
        var found: Value?
        for (number, limits) in all.enumerated() {
            guard let value = limits[keyPath: limit] else { continue }
            guard let known = found, known != value else {
                found = value
                continue
            }
            guard let both = stricter(known, value) else {
                throw Job.MemberConflict(
                    message: "`limits.\(name)` is another kind of limit than in an earlier file, and which is stricter "
                        + "cannot be said",
                    hint: "write the same in both files, or leave it out in one", file: number)
            }
            found = both
        }
        return found
    }
}
