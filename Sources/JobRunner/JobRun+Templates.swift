import Scheduling
import SystemIO
import TransferEngine
import TransferModel

/// The templates whose turn it is to become tasks, one after the other: what one becomes is checked against all that the
/// run has by then.
struct TemplateQueue {
    /// Numbers of the templates that became tasks, in that order.
    var order: [Int] = []
    private var waiting: [TaskIndex] = []
    /// The one that is being worked out, and by which thread.
    private var current: (template: TaskIndex, thread: Thread)?
    /// Where the run's tasks write, once that is asked for.
    fileprivate var destinations: [String: TaskIndex]?

    mutating func add(_ template: TaskIndex) { waiting.append(template) }

    mutating func next() -> TaskIndex? {
        guard current == nil, !waiting.isEmpty else { return nil }
        return waiting.removeFirst()
    }

    mutating func began(_ template: TaskIndex, _ thread: Thread) { current = (template, thread) }

    mutating func ended() {
        current?.thread.join()
        current = nil
    }

    /// Nobody waits for what is under way.
    mutating func end() {
        current?.thread.detach()
        current = nil
    }
}

extension JobRun {
    func expand(_ template: TaskIndex, _ now: Now) {
        templates.add(template)
        expandNext(now)
    }

    private func expandNext(_ now: Now) {
        while let template = templates.next() {
            guard let number = job.tasks[Int(template.raw)].options.values.template?.number,
                let expand = settings.expand
            else {
                scheduler.notExpanded(
                    template, TransferError(.expansionFailed, "what the template goes over is not known"), now: now)
                continue
            }
            let values = TemplateValues(order: templates.order + [number], captured: engine.capturedValues)
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
        templates.ended()
        defer { expandNext(now) }
        do throws(TransferError) {
            let expansion = try Growth(job).expansion(try result.get())
            try check(expansion, job.tasks[Int(template.raw)])
            try claim(expansion)
            add(expansion, for: template, now)
        } catch {
            scheduler.notExpanded(template, error, now: now)
        }
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
        if let number = job.tasks[Int(template.raw)].options.values.template?.number { templates.order.append(number) }
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
