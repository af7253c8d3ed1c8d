import JobLoader
import JobRunner
import Records
package import Stores
package import TransferModel

/// Everything that was handed over with a run, with the tasks that its templates have become since.
package struct HandedJob: Sendable {
    /// The recipe with which the run was accepted.
    package let recipe: RunRecipe
    /// The recipe that was handed over last.
    package let newest: RunRecipe
    /// The number of recipes that were handed over.
    package let count: Int
    /// The tasks that the background process carries.
    package let part: JobPart
    /// Templates that became tasks, in that order, by their numbers in `part`.
    package let expanded: [ExpandedTemplate]
    /// The captured values over which those templates were expanded, by the id of the capturing task.
    let expandedOver: [String: [CapturedValue]]
    /// All recipes in the order of `TaskTemplate.file`; empty where no template is left to be expanded.
    private let recipes: [RunRecipe]

    package init(of run: RunID, _ journal: Journal) throws(ServiceTrouble) {
        var inputs = try Self.inputs(of: run, [InputKind.recipe, InputKind.expansion], journal)
        guard let first = inputs.first, first.kind == InputKind.recipe else {
            throw ServiceTrouble("run \(run.raw) was handed over without its job")
        }
        let recipe = try RunRecipe(first.bytes)
        var growing = GrowingJob(recipe, try recipe.job())
        inputs.removeFirst()
        while let next = inputs.first {
            guard next.kind == InputKind.expansion else {
                try growing.add(try RunRecipe(next.bytes))
                inputs.removeFirst()
                continue
            }
            let notes = inputs.prefix { $0.kind == InputKind.expansion }
            inputs.removeFirst(notes.count)
            try growing.expand(try notes.map { (note) throws(ServiceTrouble) in try ExpansionNote(note) })
        }
        self.recipe = recipe
        newest = growing.recipes.last ?? recipe
        count = growing.recipes.count
        part = JobSplit(growing.job).background
        let templates = Dictionary(
            part.job.tasks.enumerated().compactMap { index, task in
                task.options.values.template.map { ($0, TaskIndex(raw: UInt32(index))) }
            }, uniquingKeysWith: { first, _ in first })
        recipes = templates.isEmpty ? [] : growing.recipes
        expandedOver = growing.over
        let numbers = part.numbers
        expanded = growing.expanded.compactMap { template, tasks in
            guard let template = templates[template] else { return nil }
            // Tasks that were made together are contiguous in the part, too.
            let start = numbers.firstIndex { Int($0.raw) >= tasks.lowerBound } ?? numbers.count
            return ExpandedTemplate(template: template, tasks: start..<start + tasks.count)
        }
    }

    private static func inputs(
        of run: RunID, _ kinds: [String], _ journal: Journal
    ) throws(ServiceTrouble) -> [JournalInput] {
        do throws(StoreError) {
            return try journal.inputs(of: run, kinds: kinds)
        } catch {
            throw ServiceTrouble(error.description, mayPass: error.kind != .sealedForEver)
        }
    }

    /// Whether templates are left, whose tasks are not known yet.
    var hasTemplates: Bool { !recipes.isEmpty }

    /// Expands templates of one file; returns the job of which the last tasks are those of the last template.
    func expand(_ values: TemplateValues) -> Result<ExpandedJob, TransferError> {
        guard recipes.indices.contains(values.file) else {
            return .failure(TransferError(.expansionFailed, "the file that the template stands in is not known"))
        }
        return recipes[values.file].expand(values)
    }
}

/// The job of a run, put together again step by step as it grew.
private struct GrowingJob {
    private(set) var job: Job
    private(set) var recipes: [RunRecipe]
    private(set) var expanded: [(template: TaskTemplate, tasks: Range<Int>)] = []
    /// The captured values over which templates were expanded, by the id of the capturing task.
    private(set) var over: [String: [CapturedValue]] = [:]

    init(_ recipe: RunRecipe, _ job: Job) {
        self.job = job
        recipes = [recipe]
    }

    /// The range of tasks that each template became so far, by the template's place.
    private var became: [TaskIndex: Range<Int>] {
        let growth = Growth(job)
        var became: [TaskIndex: Range<Int>] = [:]
        for (template, tasks) in expanded { if let place = growth.place(of: template) { became[place] = tasks } }
        return became
    }

    /// Adds the tasks of a changed job file.
    mutating func add(_ recipe: RunRecipe) throws(ServiceTrouble) {
        var newer = try recipe.job()
        for index in newer.tasks.indices where newer.tasks[index].isTemplate {
            var values = newer.tasks[index].options.values
            values.template?.file = recipes.count
            newer.tasks[index].options = TaskOptions(values)
        }
        let start = job.tasks.count
        job = job.adding(newer)
        recipes.append(recipe)
        let became = became
        for index in job.tasks.indices[start...] {
            job.tasks[index].needs += job.tasks[index].needs.flatMap { need in
                (became[need] ?? 0..<0).map { TaskIndex(raw: UInt32($0)) }
            }
        }
    }

    /// Repeats expansions; consecutive notes of one file are expanded with one reading of it.
    mutating func expand(_ notes: [ExpansionNote]) throws(ServiceTrouble) {
        for note in notes { over.merge(zip(note.template.sources, note.captured)) { first, _ in first } }
        var rest = notes[...]
        while let file = rest.first?.template.file {
            let together = rest.prefix { $0.template.file == file }
            rest.removeFirst(together.count)
            try expand(together, of: file)
        }
    }

    private mutating func expand(_ notes: ArraySlice<ExpansionNote>, of file: Int) throws(ServiceTrouble) {
        var captured = CapturedValues()
        for (task, values) in over { captured.keep(values, of: task) }
        guard recipes.indices.contains(file) else { throw Self.trouble("its file is not there") }
        let order = (expanded.map(\.template) + notes.map(\.template)).filter { $0.file == file }.map(\.number)
        let count = notes.reduce(0) { $0 + $1.count }
        do throws(TransferError) {
            let read = try recipes[file].expand(
                TemplateValues(file: file, order: order, captured: captured), count: count
            ).get()
            let expansion = try Growth(job, became: became).expansion(
                read, of: notes.map { ($0.template, $0.count) })
            var start = job.tasks.count
            job.tasks += expansion.tasks
            for (task, needs) in expansion.needs { job.tasks[Int(task.raw)].needs += needs }
            for note in notes {
                expanded.append((note.template, start..<start + note.count))
                start += note.count
            }
        } catch {
            throw Self.trouble(error.message)
        }
    }

    private static func trouble(_ why: String) -> ServiceTrouble {
        ServiceTrouble("what the run's `forEach` made cannot be made again by this version: \(why)")
    }
}

/// A journal note that a template became tasks, with the captured values from which they can be made again.
struct ExpansionNote {
    private static let version: UInt8 = 1

    let template: TaskTemplate
    /// What the template's sources captured, in the order of the sources.
    let captured: [[CapturedValue]]
    /// The number of tasks that the template became.
    let count: Int

    init(_ expansion: UnkeptExpansion) {
        template = expansion.template
        captured = expansion.captured
        count = expansion.tasks.count
    }

    var input: JournalInput {
        var writer = RecordWriter()
        writer.put(byte: Self.version)
        writer.put(template.file)
        writer.put(template.number)
        writer.put(template.sources) { $0.put($1) }
        writer.put(captured) { $0.put($1) }
        writer.put(count)
        return JournalInput(
            kind: InputKind.expansion, name: "\(template.file).\(template.number)", bytes: writer.bytes)
    }

    init(_ input: JournalInput) throws(ServiceTrouble) {
        do throws(RecordProblem) {
            var reader = RecordReader(input.bytes)
            guard try reader.byte() == Self.version else { throw reader.problem(.unknown, "its format is unknown") }
            let file = try reader.int()
            template = TaskTemplate(
                number: try reader.int(), file: file,
                sources: try reader.list { (reader) throws(RecordProblem) in try reader.text() })
            captured = try reader.list { (reader) throws(RecordProblem) in try reader.captures() }
            count = max(0, try reader.int())
            try reader.finish()
        } catch {
            throw ServiceTrouble(
                "what was noted of a `forEach` cannot be read: \(error)", mayPass: error.kind == .unknown)
        }
    }
}
