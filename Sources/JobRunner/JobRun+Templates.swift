import HTTPRules
import Scheduling
import SystemIO
import TransferEngine
package import TransferModel

/// The templates that are ready to become tasks, handled one at a time: the tasks of each are checked against all that
/// the run has by then.
struct TemplateQueue {
    /// Templates that became tasks, in that order.
    var order: [TaskTemplate] = []
    /// Indexes of the tasks that each template became.
    fileprivate var became: [TaskIndex: Range<Int>] = [:]
    private var waiting: [TaskIndex] = []
    /// The template whose tasks are being made or recorded.
    private var current: TaskIndex?
    private var thread: Thread?
    /// Its tasks while they are being recorded.
    private var unkept: Expansion?
    /// Paths that the run's tasks write, computed at the first expansion.
    fileprivate var destinations: [String: TaskIndex]?

    mutating func add(_ template: TaskIndex) { waiting.append(template) }

    mutating func next() -> TaskIndex? {
        guard current == nil, !waiting.isEmpty else { return nil }
        return waiting.removeFirst()
    }

    /// The template's lists are being opened.
    mutating func began(_ template: TaskIndex) { current = template }

    /// Whether no template is being made into tasks, and none is to be.
    var isIdle: Bool { current == nil && waiting.isEmpty }

    func isCurrent(_ template: TaskIndex) -> Bool { current == template }

    mutating func began(_ template: TaskIndex, _ thread: Thread) { (current, self.thread) = (template, thread) }

    mutating func workedOut() {
        thread?.join()
        thread = nil
    }

    mutating func keeps(_ expansion: Expansion) { unkept = expansion }

    mutating func kept() -> Expansion? {
        defer { unkept = nil }
        return unkept
    }

    mutating func ended() { current = nil }

    /// Detaches the thread at the end of the run, without waiting for it.
    mutating func end() {
        thread?.detach()
        (current, thread) = (nil, nil)
    }
}

/// Tasks of a run that outlives its process, which must be recorded before they belong to it.
package struct UnkeptExpansion: Sendable {
    /// The template that becomes the tasks.
    package let template: TaskTemplate
    /// Values that its sources captured, in the order of the sources.
    package let captured: [[CapturedValue]]
    /// Ids of the tasks.
    package let tasks: [String]
    /// Number of the run's tasks so far.
    package let taskCount: Int
    /// Number of the last event so far: the ends of the sources must be recorded before.
    package let sequence: UInt64
}

extension JobRun {
    func expand(_ template: TaskIndex, _ now: Now) {
        templates.add(template)
        expandNext(now)
    }

    func expandNext(_ now: Now) {
        while let template = templates.next() {
            do throws(TransferError) {
                guard let known = self.template(template), settings.expand != nil else {
                    throw TransferError(.expansionFailed, "what the template goes over is not known")
                }
                let sources = try ListSources(known, engine.capturedValues)
                guard !sources.files.isEmpty else { return try makeTasks(of: template, sources, []) }
                templates.began(template)
                return engine.rows.openLists(sources.files) { [inbox] in inbox.post(.listsOpened(template, $0)) }
            } catch {
                scheduler.notExpanded(template, error, now: now)
            }
        }
    }

    /// Handles the opened files of a template's lists.
    func listsOpened(_ template: TaskIndex, _ files: [Result<ListFile, TransferError>], _ now: Now) {
        guard templates.isCurrent(template), let known = self.template(template) else { return }
        do throws(TransferError) {
            try makeTasks(of: template, try ListSources(known, engine.capturedValues), files)
        } catch {
            scheduler.notExpanded(template, error, now: now)
            templates.ended()
            expandNext(now)
        }
    }

    /// Begins to read the template's lists and to make its tasks, on a thread of its own.
    private func makeTasks(
        of template: TaskIndex, _ sources: ListSources, _ files: [Result<ListFile, TransferError>]
    ) throws(TransferError) {
        guard let known = self.template(template), let expand = settings.expand else { return }
        let before = templates.order.filter { $0.file == known.file }
        let values = TemplateValues(
            file: known.file, order: (before + [known]).map(\.number), captured: engine.capturedValues)
        let bound = engine.boundSecrets
        do throws(SystemError) {
            let thread = try Thread(named: "templates") { [inbox] in
                var values = values
                let rows = Result { () throws(TransferError) in
                    try sources.read(files).mapValues { bound.binding([$0], but: [])[0] }
                }
                for (key, list) in (try? rows.get()) ?? [:] { values.captured.keep([list], of: key) }
                let result = rows.flatMap { _ in expand(values) }
                inbox.post(.expanded(template, result, rows: (try? rows.get()) ?? [:]))
            }
            templates.began(template, thread)
        } catch {
            throw TransferError(.expansionFailed, "no thread could be started to make the tasks: \(error)")
        }
    }

    func templateExpanded(
        _ template: TaskIndex, _ result: Result<ExpandedJob, TransferError>, _ rows: [String: CapturedValue], _ now: Now
    ) {
        templates.workedOut()
        do throws(TransferError) {
            let expanded = try result.get()
            for (key, list) in rows { engine.answers.keep([list], of: key) }
            let made = self.template(template).map { [(template: $0, count: expanded.added.count)] } ?? []
            let expansion = try Growth(job, became: templates.became).expansion(expanded, of: made)
            try check(expansion, job.tasks[Int(template.raw)])
            if settings.keepExpansion != nil { try checkNames(expansion) }
            try claim(expansion)
            if keep(expansion, for: template) { return }
            add(expansion, for: template, now)
        } catch {
            scheduler.notExpanded(template, error, now: now)
        }
        templates.ended()
        expandNext(now)
    }

    private func template(_ task: TaskIndex) -> TaskTemplate? { job.tasks[Int(task.raw)].options.values.template }

    /// Begins to record the tasks if another process may continue this run; returns whether it does.
    private func keep(_ expansion: Expansion, for template: TaskIndex) -> Bool {
        guard let keep = settings.keepExpansion, let known = self.template(template),
            scheduler.holdExpansion(of: template)
        else { return false }
        templates.keeps(expansion)
        let captured = engine.capturedValues
        let unkept = UnkeptExpansion(
            template: known, captured: known.sources.map { captured.values(of: $0) ?? [] },
            tasks: expansion.tasks.map(\.id), taskCount: job.tasks.count, sequence: log.sequence)
        log.handOver()
        keep(unkept) { [inbox] in inbox.post(.expansionKept(template)) }
        return true
    }

    /// Adds the recorded tasks: they belong to the run even if this process ends.
    func expansionKept(_ template: TaskIndex, _ now: Now) {
        guard let expansion = templates.kept() else { return }
        add(expansion, for: template, now)
        templates.ended()
        expandNext(now)
    }

    /// Refuses ids that the run has already: a background run may have tasks of several versions of its file.
    private func checkNames(_ expansion: Expansion) throws(TransferError) {
        var known = Set(job.tasks.map(\.id))
        guard let twice = expansion.tasks.first(where: { !known.insert($0.id).inserted }) else { return }
        throw TransferError(.expansionFailed, "the run has a task `\(twice.id)` already")
    }

    /// Refuses tasks of another session or group than the template's, which may have ended already, and more tasks than
    /// the policy allows.
    private func check(_ expansion: Expansion, _ template: TaskSpecification) throws(TransferError) {
        if let refusal = job.refusal(ofAdding: expansion.tasks.count) { throw refusal }
        for task in expansion.tasks where task.session != template.session || task.group != template.group {
            throw TransferError(
                .expansionFailed, "the `session` and `group` of `\(task.id)` cannot come from what was captured")
        }
    }

    /// Refuses tasks that would write the same file as another, with all values filled in.
    private func claim(_ expansion: Expansion) throws(TransferError) {
        var known = templates.destinations ?? writtenPaths()
        for (place, task) in expansion.tasks.enumerated() {
            guard let path = writtenPath(of: task) else { continue }
            let number = TaskIndex(raw: UInt32(job.tasks.count + place))
            guard let other = known.updateValue(number, forKey: path) else { continue }
            let first = Int(other.raw)
            let id = first < job.tasks.count ? job.tasks[first].id : expansion.tasks[first - job.tasks.count].id
            throw TransferError(
                .expansionFailed, "the tasks `\(id)` and `\(task.id)` would both write `\(path)`")
        }
        templates.destinations = known
    }

    /// Restores templates that became tasks in an earlier process, and notes those whose event is missing.
    func takeOver(_ expanded: [ExpandedTemplate], _ history: RunHistory) {
        for known in expanded {
            if let template = template(known.template) { templates.order.append(template) }
            templates.became[known.template] = known.tasks
            engine.removeTemplate(known.template)
            let isTold = history.tasks[Int(known.template.raw)].isExpanded
            if !isTold { inherited.untoldExpansions[known.template] = known.tasks.count }
        }
    }

    /// Forgets the bodies from which all lists were read.
    private func forgetRows() {
        var read: Set<String> = []
        var unread: Set<String> = []
        for (index, task) in job.tasks.enumerated() {
            guard let lists = task.options.values.template?.lists, !lists.isEmpty else { continue }
            let isExpanded = templates.became[TaskIndex(raw: UInt32(index))] != nil
            for list in lists { if isExpanded { read.insert(list.task) } else { unread.insert(list.task) } }
        }
        engine.rows.forgetRows(of: read.subtracting(unread))
    }

    private func writtenPaths() -> [String: TaskIndex] {
        var known: [String: TaskIndex] = [:]
        for (number, task) in job.tasks.enumerated() {
            if let path = writtenPath(of: task) { known[path] = TaskIndex(raw: UInt32(number)) }
        }
        return known
    }

    /// Path that the task will write, if known; a path whose values are missing fails its own task at its beginning.
    private func writtenPath(of task: TaskSpecification) -> String? {
        guard !task.isTemplate, task.type == .download else { return nil }
        if var object = task.options.values.object {
            guard let name = try? object.name.filled(from: engine.capturedValues, in: .path) else { return nil }
            object.name = name
            return object.address
        }
        var path = task.destination
        if let awaited = task.options.values.awaitedDestination {
            path = (try? awaited.filled(from: engine.capturedValues, in: .path))?.revealed
        }
        guard let path, path.utf8.last != UInt8(ascii: "/") else { return nil }
        return PathText.withoutDots(path)
    }

    private func add(_ expansion: Expansion, for template: TaskIndex, _ now: Now) {
        let start = job.tasks.count
        var grown = job
        grown.tasks += expansion.tasks
        var added = RunPlan.added(grown, from: start, &engine.origins)
        added.needs = expansion.needs
        limitOrigins()
        guard scheduler.expanded(template, added, now: now) else {
            templates.destinations = nil
            return
        }
        if let known = self.template(template) { templates.order.append(known) }
        templates.became[template] = start..<grown.tasks.count
        forgetRows()
        job = grown
        engine.add(
            expansion.tasks, for: template, recordedFirst: settings.keep == nil ? [] : added.unrepeatable)
        let session = session(template)
        log.append(.expanded(expansion), task: template, session: session)
        for index in start..<job.tasks.count {
            let (number, session) = (TaskIndex(raw: UInt32(index)), job.tasks[index].session)
            tally.tasksLeft[Int(session.raw)] += 1
            log.append(.taskCreated, task: number, session: session)
            if !job.tasks[index].options.values.suspended { log.append(.taskResumed, task: number, session: session) }
        }
        tally.tasksLeft[Int(session.raw)] -= 1
        if tally.tasksLeft[Int(session.raw)] == 0, !scheduler.isMakingWay { invalidate(session) }
    }
}
