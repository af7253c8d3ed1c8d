package import Diagnostics
package import TransferModel
import YAMLTree

/// The result of reading a job file: the job and all that is to be reported about the file.
package struct LoadResult: Sendable {
    /// The job; `nil` if there are errors.
    package var job: Job?
    /// Errors and warnings about the file, in the order in which they were found.
    package var diagnostics: DiagnosticList
    /// One located error `not-built-yet` for each key in use whose behaviour does not exist yet: `check` leaves them
    /// out, `run` refuses the job with them.
    package var notBuilt: [Diagnostic]
    /// What the job may do; `nil` unless the load was called with `notesAccess`.
    package var access: JobAccess?
    /// The tasks that each template became, after a load with `templates`; else `nil`.
    package var made: [ExpandedTemplate]?
    /// Indices of the tasks that the last template became, after a load with `templates`; else `nil`.
    package var added: Range<Int>? {
        guard let made, let count = job?.tasks.count else { return nil }
        return made.last?.tasks ?? count..<count
    }

    package init(job: Job?, diagnostics: DiagnosticList, notBuilt: [Diagnostic]) {
        self.job = job
        self.diagnostics = diagnostics
        self.notBuilt = notBuilt
    }
}

/// Reads a job file: YAML to a tree, the tree through one table of keys to a `Job`. Reports all problems of a file at
/// once, each at its position.
package enum JobLoader {
    /// Reads the file and checks all of it.
    ///
    /// With `.tolerated`, a missing value of the environment or of a secret is a warning, and the rest is read around
    /// it. With `notesAccess` the result says what the job may do. With `templates` the job's templates become the
    /// tasks that they make.
    package static func load(
        _ source: SourceText, options: LoadOptions, resources: Resources, missingValues: MissingValues = .refused,
        notesAccess: Bool = false, templates: TemplateValues? = nil
    ) -> LoadResult {
        var parsed = DiagnosticList()
        guard let tree = YAMLTree.parse(source, into: &parsed) else {
            return LoadResult(job: nil, diagnostics: parsed, notBuilt: [])
        }
        let base = JobFile.baseDirectory(source.name, options, resources)
        var resources = resources
        if options.reportsStartAtJob { resources.reportFolder = base }
        let names = NameStore(secrets: SecretStore(resources: resources, missingValues: missingValues))
        let reader = Reader(tree: tree, source: source, resources: resources, baseDirectory: base, names: names)
        reader.templateValues = templates
        names.secrets.room = options.room
        names.secrets.held = options.policy.map { HeldReading($0.rules) }
        if notesAccess || options.room != nil || options.policy != nil { reader.access = JobAccess() }
        reader.problems.append(contentsOf: parsed)
        var file = JobFile(reader: reader, options: options)
        let job = file.read()
        var problems = reader.problems
        problems.mask(file.credentialNames)
        var result = LoadResult(
            job: problems.list.hasErrors ? nil : job, diagnostics: problems.list, notBuilt: problems.notBuilt.sorted())
        result.access = reader.access
        result.access?.mask(file.credentialNames)
        result.made = file.made
        return result
    }
}

/// Reads the parts of a file in their order: names before their uses, sessions before tasks.
struct JobFile {
    let reader: Reader
    let options: LoadOptions
    private(set) var made: [ExpandedTemplate]?
    /// The names of the job's `redact`, with the standard ones.
    private(set) var credentialNames = CredentialNames.standard

    init(reader: Reader, options: LoadOptions) {
        self.reader = reader
        self.options = options
    }

    /// Returns the folder in which the job's relative paths start: absolute, without a `/` at its end.
    static func baseDirectory(_ file: String, _ options: LoadOptions, _ resources: Resources) -> String {
        let working = trimmed(resources.workingDirectory)
        if let directory = options.directory { return trimmed(Paths.absolute(directory, in: working)) }
        let folder = file == "-" ? "" : Paths.folder(of: file)
        return folder.isEmpty ? working : trimmed(Paths.absolute(folder, in: working))
    }

    private static func trimmed(_ folder: String) -> String {
        folder.utf8.count > 1 && folder.hasSuffix("/") ? String(folder.dropLast()) : folder
    }

    mutating func read() -> Job? {
        guard let root = reader.tree.root, !reader.tree.isNull(root) else {
            reader.problems.error(
                "empty-file", "the job file is empty", hint: "a job needs `tasks`",
                at: SourceSpan(line: 1, column: 1), in: reader.source)
            return nil
        }
        guard reader.expectMap(root, "a job file") else { return nil }
        defineNames(root)
        var draft = JobDraft()
        Sections.job.decode(root, into: &draft, reader)
        credentialNames = draft.redact.names
        var job = Job(
            name: draft.name ?? Job.stem(of: reader.source.name), file: reader.source.name,
            baseDirectory: reader.baseDirectory)
        job.isNamed = draft.name != nil
        if draft.name == "" {
            let name = reader.tree.entries(root).first { reader.tree.text($0.key, is: "name") }?.value
            reader.error(
                "invalid-value", "a job's `name` cannot be empty",
                hint: "leave it out: the job then has its file's name",
                name ?? root)
        }
        let sessions = SessionReader(reader: reader).read(draft.sessions)
        job.sessions = sessions.configurations
        if job.sessions.contains(where: \.asksEnvironmentForProxy) {
            job.proxies = ProxyReader(reader: reader).proxyEnvironment()
        }
        job.tasks = tasks(draft, sessions)
        reader.owner = "the job"
        if reader.access != nil {
            reader.access?.mayBeRedirected = job.tasks.contains(where: Self.mayBeRedirected)
            reader.access?.secretsInFile = Set(reader.names.secrets.fromFile.keys)
        }
        for name in reader.names.variableNames { _ = reader.names.variable(name, reader) }
        job.variables = reader.names.shown()
        reader.names.secrets.learnUnused()
        job.secrets = reader.names.secrets.known
        job.credentialNames = credentialNames
        job.limits = draft.limits
        job.failFast = draft.failFast
        job.onOverlap = draft.onOverlap
        job.groups = draft.groups
        job.report = draft.report
        job.onFinish = draft.onFinish
        job.reserved = reserved + lists(of: job) + Self.cookieFiles(of: job)
        if job.tasks.contains(where: Self.mayBeNamedByServer) { job.reserved += reader.usedFiles.reserved }
        if let policy = reader.policy { reader.hold(&job, to: policy) }
        return job
    }

    /// Returns whether a response may decide which name the task's file gets.
    private static func mayBeNamedByServer(_ task: TaskSpecification) -> Bool {
        let values = task.options.values
        return task.isTemplate || values.awaitedDestination != nil
            || task.destination?.utf8.last == UInt8(ascii: "/")
            || values.onResponse.contains { $0.to?.utf8.last == UInt8(ascii: "/") }
    }

    /// Returns whether a server may redirect a task to hosts that the job does not name.
    private static func mayBeRedirected(_ task: TaskSpecification) -> Bool {
        let redirects = task.options.values.policies.redirects
        guard redirects.follow == .always, task.location.url?.isHTTP != false else { return false }
        return redirects.allowHosts?.contains { $0.description == "*" } ?? true
    }

    /// The files that the job is read from.
    private var reserved: [Job.Reserved] {
        let named = [
            (reader.source.name == "-" ? nil : reader.source.name, "the job itself"),
            (options.variablesFile, "the file of variables"), (options.secretsFile, "the file of secrets"),
        ]
        let files = named.compactMap { path, what in
            path.map { Job.Reserved(path: Paths.absolute($0, in: reader.resources.workingDirectory), what: what) }
        }
        return files + reader.names.secrets.files.map { Job.Reserved(path: $0.path, what: "the secret `\($0.name)`") }
    }

    /// Returns the files that `forEach` reads, as reserved ones. A list that a task writes is left out: `forEach` has
    /// read its former content.
    private func lists(of job: Job) -> [Job.Reserved] {
        guard !reader.usedFiles.lists.isEmpty else { return [] }
        let written = Set(job.tasks.compactMap { $0.destination.map { Paths.resolvingDots($0) } })
        return reader.usedFiles.lists.filter { !written.contains(Paths.resolvingDots($0)) }.map {
            Job.Reserved(path: $0, what: "a list that `forEach` reads")
        }
    }

    private static func cookieFiles(of job: Job) -> [Job.Reserved] {
        job.sessions.compactMap { session in
            session.cookies.file.map { Job.Reserved(path: $0, what: "the cookies of the session `\(session.name)`") }
        }
    }

    private mutating func tasks(_ draft: JobDraft, _ sessions: SessionTable) -> [TaskSpecification] {
        reader.key = "tasks"
        guard let list = draft.tasks, reader.expectList(list, .list(.object("task"))) else { return [] }
        let count = reader.tree.count(list)
        if count == 0 { reader.warning("empty-tasks", "the job has no tasks", at: reader.tree.span(list)) }
        let loader = TaskLoader(
            reader: reader, sessions: sessions, groups: draft.groups, defaults: draft.defaults,
            expecting: min(count, TaskLoader.maximumTasks))
        loader.readAll(list)
        made = loader.expandTemplates()
        var checker = TaskChecker(loader)
        checker.run()
        return checker.tasks
    }

    // MARK: Names

    /// Defines variables and secrets before any other value is read, wherever in the file they stand.
    private func defineNames(_ root: NodeID) {
        for (key, value) in reader.tree.entries(root) where !reader.tree.isNull(value) {
            if reader.tree.text(key, is: "variables") { defineVariables(value) }
            if reader.tree.text(key, is: "secrets") { declareSecrets(value) }
        }
        if let path = options.secretsFile { CommandLineNames(reader: reader).readSecrets(path) }
        if let path = options.variablesFile { CommandLineNames(reader: reader).readVariables(path) }
        CommandLineNames(reader: reader).define(options.set)
    }

    private func defineVariables(_ node: NodeID) {
        reader.key = "variables"
        for (name, key, value) in reader.named(node) {
            guard Names.isWellFormed(name) else {
                reader.badName(name, key, "a variable")
                continue
            }
            reader.names.define(name, as: value)
        }
    }

    private func declareSecrets(_ node: NodeID) {
        reader.key = "secrets"
        for (name, key, value) in reader.named(node, .map(.object("secret"))) {
            guard Names.isWellFormed(name) else {
                reader.badName(name, key, "a secret")
                continue
            }
            var draft = Sections.SecretDraft()
            if !reader.tree.isNull(value) { Sections.secret.decode(value, into: &draft, reader) }
            reader.names.secrets.declare(
                name, SecretStore.Declaration(environment: draft.environment, file: draft.file, hosts: draft.hosts))
        }
    }
}
