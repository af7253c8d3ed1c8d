import Diagnostics
import JobLoader
import SystemIO
import TestSupport
import TextFormats
import TransferModel

extension TraceFacts {
    /// Of the job that a stage ran with these options, as the loader reads it; `nil` when it is no job.
    init?(
        job text: String, named name: String, in folder: TemporaryTree, options: [String],
        environment: [String: String], events: [JSONValue]
    ) {
        let values = options.indices.dropLast().map { (flag: options[$0], value: options[$0 + 1]) }
        var loading = LoadOptions()
        loading.set = values.filter { $0.flag == "--set" }.compactMap { _, assignment in
            let parts = assignment.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return parts.count == 2 ? (String(parts[0]), String(parts[1])) : nil
        }
        for (flag, value) in values {
            switch flag {
            case "--directory": loading.directory = value
            case "--variables-file": loading.variablesFile = value
            case "--secrets-file": loading.secretsFile = value
            default: break
            }
        }
        let source = SourceText(name: name, bytes: Array(text.utf8))
        let resources = Self.resources(folder, environment)
        guard var job = JobLoader.load(source, options: loading, resources: resources).job else { return nil }
        if let values = TemplateValues(told: events, job) {
            let result = JobLoader.load(source, options: loading, resources: resources, templates: values)
            guard let expanded = result.job else { return nil }
            job = expanded
        }
        job.addRowTasks(told: events)
        for (flag, value) in values where flag == "--max-concurrent" {
            if let maximum = Int(value) { job.limits.maximumConcurrentTasks = maximum }
        }
        let selects = options.contains { $0 == "--only" || $0 == "--except" }
        let created = events.filter { $0["event"] == .string("taskCreated") }.compactMap { $0["task"]?.plainText }
        self.init(job, only: selects ? Set(created) : nil)
        failFast = job.failFast || options.contains("--fail-fast")
        putsOffWhatWaits = options.contains("--no-wait") || environment["TRANSFER_RUN_NO_WAIT"] != nil
        reportsUnchanged = options.contains("--exit-unchanged")
        // Lines are cut to milliseconds, and the date runs a little faster or slower than the clock of the rules.
        slack = .milliseconds(5)
    }

    private static func resources(_ folder: TemporaryTree, _ environment: [String: String]) -> Resources {
        Resources(
            environment: { environment[$0] },
            readFile: { path, _ in
                (try? TemporaryTree.bytes(at: path)).map { .success($0) } ?? .failure(.notFound)
            },
            listFiles: { root, depth in
                guard root.hasPrefix(folder.path) else { return .failure(.notAllowed) }
                guard let found = try? WholeFile.list(root, depth: depth) else { return .failure(.notFound) }
                return .success(found.map { Array($0.bytes) })
            },
            workingDirectory: folder.path)
    }
}

extension TemplateValues {
    /// What the events tell of templates; `nil` where none became tasks.
    fileprivate init?(told events: [JSONValue], _ job: Job) {
        var order: [Int] = []
        var book = CapturedValues()
        for event in events {
            guard let id = event["task"]?.plainText else { continue }
            switch event["event"]?.plainText {
            case "expanded":
                order += job.tasks.filter { $0.id == id }.compactMap(\.options.values.template)
                    .filter(\.lists.isEmpty).map(\.number)
            case "taskFinished":
                guard case .object(let members)? = event["captures"] else { continue }
                book.keep(members.map { CapturedValue(name: $0.name, text: "", value: $0.value.asPlain) }, of: id)
            default: break
            }
        }
        if order.isEmpty { return nil }
        self.init(order: order, captured: book)
    }
}

extension Job {
    /// Adds the tasks of templates over what a task brought. Their lists are gone; of what the rows say in a task only
    /// its id is told, and all else is the template's.
    fileprivate mutating func addRowTasks(told events: [JSONValue]) {
        var known = Set(tasks.map(\.id))
        var template: Int?
        for event in events {
            guard let id = event["task"]?.plainText else { continue }
            switch event["event"]?.plainText {
            case "expanded":
                template = tasks.firstIndex { $0.id == id && $0.options.values.template?.lists.isEmpty == false }
            case "taskCreated":
                guard let template, known.insert(id).inserted else { continue }
                addTask(id, of: template)
            default: break
            }
        }
    }

    private mutating func addTask(_ id: String, of template: Int) {
        let number = TaskIndex(raw: UInt32(tasks.count))
        var task = tasks[template]
        task.id = id
        var values = task.options.values
        values.template = nil
        task.options = TaskOptions(values)
        for index in tasks.indices where tasks[index].needs.contains(TaskIndex(raw: UInt32(template))) {
            tasks[index].needs.append(number)
        }
        tasks.append(task)
    }
}

extension JSONValue {
    fileprivate var asPlain: PlainValue {
        switch self {
        case .null: .null
        case .boolean(let value): .boolean(value)
        case .number(let text): .number(text)
        case .string(let text), .broken(let text): .string(text)
        case .array(let values): .list(values.map(\.asPlain))
        case .object(let members): .map(members.map { PlainValue.Entry(key: $0.name, value: $0.value.asPlain) })
        }
    }
}
