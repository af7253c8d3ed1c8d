import Scheduling
import SystemIO
import TransferEngine
package import TransferModel

/// The templates whose turn it is to become tasks, one after the other: what one becomes is checked against all that the
/// run has by then.
struct TemplateQueue {
    /// The templates that became tasks, in that order.
    var order: [TaskTemplate] = []
    /// The places of the tasks that each became.
    fileprivate var became: [TaskIndex: Range<Int>] = [:]
    private var waiting: [TaskIndex] = []
    /// The one that is being worked out, or whose tasks are being written down.
    private var current: TaskIndex?
    private var thread: Thread?
    /// What it becomes once that is written down.
    private var unkept: Expansion?
    /// Where the run's tasks write, once that is asked for.
    fileprivate var destinations: [String: TaskIndex]?

    mutating func add(_ template: TaskIndex) { waiting.append(template) }

    mutating func next() -> TaskIndex? {
        guard current == nil, !waiting.isEmpty else { return nil }
        return waiting.removeFirst()
    }

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

    /// Nobody waits for what is under way.
    mutating func end() {
        thread?.detach()
        (current, thread) = (nil, nil)
    }
}

/// Of a run that outlives its process: tasks that are to be written down before they are the run's.
package struct UnkeptExpansion: Sendable {
    package let template: TaskTemplate
    /// What its sources captured, in their order.
    package let captured: [[CapturedValue]]
    /// The ids of the tasks that it becomes.
    package let tasks: [String]
    /// How many tasks the run has.
    package let taskCount: Int
    /// The last event so far: those that tell of its sources' ends are to be written down before.
    package let sequence: UInt64
}

extension JobRun {
    func expand(_ template: TaskIndex, _ now: Now) {
        templates.add(template)
        expandNext(now)
    }

    private func expandNext(_ now: Now) {
        while let template = templates.next() {
            guard let known = self.template(template), let expand = settings.expand else {
                scheduler.notExpanded(
                    template, TransferError(.expansionFailed, "what the template goes over is not known"), now: now)
                continue
            }
            let before = templates.order.filter { $0.file == known.file }
            let values = TemplateValues(
                file: known.file, order: (before + [known]).map(\.number), captured: engine.capturedValues)
            do throws(SystemError) {
                let thread = try Thread(named: "templates") { [inbox] in
                    inbox.post(.expanded(template, expand(values)))
                }
                return templates.began(template, thread)
            } catch {
                let message = "no thread could be started to make the tasks: \(error)"
                scheduler.notExpanded(template, TransferError(.expansionFailed, message), now: now)
            }
        }
    }

    func take(_ template: TaskIndex, _ result: Result<ExpandedJob, TransferError>, _ now: Now) {
        templates.workedOut()
        do throws(TransferError) {
            let expanded = try result.get()
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

    /// Has it written down first where another process may go on with this run. Whether that is so.
    private func keep(_ expansion: Expansion, for template: TaskIndex) -> Bool {
        guard let keep = settings.keepExpansion, let known = self.template(template),
            scheduler.holdExpansion(of: template)
        else { return false }
        templates.keeps(expansion)
        let book = engine.capturedValues
        let unkept = UnkeptExpansion(
            template: known, captured: known.sources.map { book.values(of: $0) ?? [] },
            tasks: expansion.tasks.map(\.id), taskCount: job.tasks.count, sequence: log.sequence)
        log.handOver()
        keep(unkept) { [inbox] in inbox.post(.expansionKept(template)) }
        return true
    }

    /// The tasks are the run's now, whatever happens to this process.
    func takeKept(_ template: TaskIndex, _ now: Now) {
        guard let expansion = templates.kept() else { return }
        add(expansion, for: template, now)
        templates.ended()
        expandNext(now)
    }

    /// A run that was handed over may have tasks of several versions of its file.
    private func checkNames(_ expansion: Expansion) throws(TransferError) {
        var known = Set(job.tasks.map(\.id))
        guard let twice = expansion.tasks.first(where: { !known.insert($0.id).inserted }) else { return }
        throw TransferError(.expansionFailed, "the run has a task `\(twice.id)` already")
    }

    /// A session or group that nobody was known to belong to may have come to its end already.
    private func check(_ expansion: Expansion, _ template: TaskSpecification) throws(TransferError) {
        for task in expansion.tasks where task.session != template.session || task.group != template.group {
            throw TransferError(
                .expansionFailed, "the `session` and `group` of `\(task.id)` cannot come from what was captured")
        }
    }

    /// Two tasks never write one file, whatever the values that their paths are made of.
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

    /// Templates that became tasks before this process, which are there already. Those whose end was not told yet.
    func takeOver(_ expanded: [ExpandedTemplate], _ history: RunHistory) {
        for known in expanded {
            if let template = template(known.template) { templates.order.append(template) }
            templates.became[known.template] = known.tasks
            engine.removeTemplate(known.template)
            let isTold = history.tasks[Int(known.template.raw)].isExpanded
            if !isTold { untoldExpansions[known.template] = known.tasks.count }
        }
    }

    private func writtenPaths() -> [String: TaskIndex] {
        var known: [String: TaskIndex] = [:]
        for (number, task) in job.tasks.enumerated() {
            if let path = writtenPath(of: task) { known[path] = TaskIndex(raw: UInt32(number)) }
        }
        return known
    }

    /// As far as it is known; what cannot be filled in fails its own task when that begins.
    private func writtenPath(of task: TaskSpecification) -> String? {
        guard !task.isTemplate, task.type == .download else { return nil }
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
        job = grown
        engine.add(expansion.tasks, for: template)
        let session = session(template)
        log.append(.expanded(expansion), task: template, session: session)
        for index in start..<job.tasks.count {
            let (number, session) = (TaskIndex(raw: UInt32(index)), job.tasks[index].session)
            tasksLeft[Int(session.raw)] += 1
            log.append(.taskCreated, task: number, session: session)
            if !job.tasks[index].options.values.suspended { log.append(.taskResumed, task: number, session: session) }
        }
        tasksLeft[Int(session.raw)] -= 1
        if tasksLeft[Int(session.raw)] == 0, !scheduler.isMakingWay { invalidate(session) }
    }
}
