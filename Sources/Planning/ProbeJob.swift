package import TransferModel

/// A job that asks the servers of another job about its files and fetches none of them.
package struct ProbeJob: Sendable {
    /// How a question is put.
    package enum Question: Sendable {
        /// A HEAD, which brings no body.
        case head
        /// A GET that is ended at the headers, for servers that do not answer a HEAD as they would a GET.
        case cutGet
    }

    /// The job of questions: one data task for each task that is asked about.
    package let job: Job
    /// The task of the planned job that each task of `job` asks about.
    package let tasks: [Int]

    /// Asks about `tasks` of a job, with its sessions' own settings: credentials, cookies, TLS, limits and redirects.
    package init(_ job: Job, asking tasks: [Int], _ question: Question) {
        self.tasks = tasks
        var probe = job.withoutEffects
        // Each question says itself what it accepts, and no body comes that could be unpacked.
        for index in probe.sessions.indices { probe.sessions[index].http.compression = false }
        probe.limits = Self.limits(job.limits)
        var known: (from: TaskOptions, asksForPacked: Bool, to: TaskOptions)?
        probe.tasks = tasks.map { index in
            let task = job.tasks[index]
            let asksForPacked = Self.asksForPacked(task, job)
            if known?.from !== task.options || known?.asksForPacked != asksForPacked {
                let options = TaskOptions(Self.options(task.options.values, question, asksForPacked: asksForPacked))
                known = (task.options, asksForPacked, options)
            }
            return TaskSpecification(
                id: task.id, type: .data, session: task.session, location: task.location, destination: nil,
                line: task.line, options: known?.to ?? task.options)
        }
        self.job = probe
    }

    /// Why no server is asked about a task; `nil` if one is.
    package static func refusal(_ task: TaskSpecification, _ outlook: TaskOutlook) -> String? {
        let values = task.options.values
        if task.isTemplate { return "its tasks are known in the run" }
        if values.awaitsCaptures { return "it uses what other tasks capture" }
        guard let url = task.location.url else { return "its URL is known in the run" }
        guard url.isHTTP else { return url.needsConnection ? "only http servers are asked" : "it needs no server" }
        if task.type == .upload || values.body != nil { return "it sends a body" }
        guard ["GET", "HEAD"].contains(task.effectiveMethod) else {
            return "`\(task.effectiveMethod)` may change things"
        }
        return outlook.action == .refuse ? "it fails before it asks" : nil
    }

    /// Whether the task's own request accepts a packed body. The question must, too: a server may have one `ETag` for
    /// each coding.
    private static func asksForPacked(_ task: TaskSpecification, _ job: Job) -> Bool {
        task.type == .download
            ? task.options.values.decompress != .no : job.sessions[Int(task.session.raw)].http.compression
    }

    private static func limits(_ limits: RunLimits) -> RunLimits {
        var asked = RunLimits()
        asked.maximumConcurrentTasks = limits.maximumConcurrentTasks
        asked.hosts = limits.hosts
        return asked
    }

    private static func options(
        _ values: TaskOptions.Values, _ question: Question, asksForPacked: Bool
    ) -> TaskOptions.Values {
        var asked = TaskOptions.Values(policies: values.policies)
        asked.headers = values.headers
        if asksForPacked, !values.headers.contains(where: { $0.name.lowercased() == "accept-encoding" }) {
            asked.headers.append(HeaderField(name: "Accept-Encoding", value: SecretText(ContentCoding.asked)))
        }
        asked.mirrors = values.mirrors
        asked.cookies = values.cookies
        asked.mainDocument = values.mainDocument
        asked.priority = values.priority
        asked.allowFailure = .any
        asked.expect.status = StatusSet([100...999])
        asked.policies.cachePolicy = .reloadIgnoringCacheData
        asked.policies.waitsForConnectivity = false
        asked.policies.retry.attempts = min(asked.policies.retry.attempts ?? 2, 2)
        switch question {
        case .head: asked.method = "HEAD"
        case .cutGet: asked.onResponse = [ResponseRule(action: .cancel)]
        }
        return asked
    }
}

extension ServerAnswer {
    /// Whether a GET may be answered although a HEAD was refused with this status.
    package static func mayDifferForGet(_ status: Int?) -> Bool {
        status.map { [400, 403, 404, 405, 501].contains($0) } ?? false
    }

    /// Takes the answer to a question about a task. `standing`: what is known of the file that is there.
    package init(
        _ response: ResponseRecord?, of task: TaskSpecification, error: TransferError?, standing: StandingFile?,
        latency: TimeSpan?
    ) {
        guard let response else {
            self.init(.failed(error?.message ?? "no answer"))
            return
        }
        let isWanted = response.status.map { task.options.values.expect.status.contains($0) } ?? true
        self.init(isWanted ? .answered : .failed("the server answered \(response.status ?? 0)"))
        (status, url) = (response.status, response.url)
        etag = response.headers.first("etag")
        lastModified = response.headers.first("last-modified")
        if isWanted, response.headers.first("content-encoding") == nil {
            length = response.expectedLength ?? Self.stated(response)
        }
        self.latency = latency
        if isWanted { isChanged = standing?.differs(from: self) }
    }

    /// The `Content-Length` of a response whose body was not wanted.
    private static func stated(_ response: ResponseRecord) -> Int64? {
        response.headers.first("content-length").flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
    }
}
