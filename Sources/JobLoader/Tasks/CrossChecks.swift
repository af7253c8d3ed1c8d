import Diagnostics
import TransferModel
import YAMLTree

/// Facts collected while tasks are read, for the checks that need all tasks.
struct CrossChecks {
    struct Needs {
        let task: UInt32
        let list: Int
    }
    struct Capture {
        let task: UInt32
        let use: CaptureUse
    }
    struct Read {
        let task: UInt32
        let path: String
        let node: NodeID
    }

    var needs: [Needs] = []
    var captures: [Capture] = []
    /// Number of tasks in `checksumTasks` that `defaults` name: the first ones.
    var defaultChecksums = 0
    var reads: [Read] = []
    /// Groups that tasks name, including tasks of a `forEach` without values, so that the group has nothing to publish.
    var namedGroups: Set<Int> = []
    /// Whether a task names a group that is unknown, or not known yet.
    var namesUnknownGroup = false
    /// The task that sends this process's standard input; only one can.
    var inputReader: UInt32?
    /// Patterns of the ids of tasks that are not known yet.
    var deferredIDs: [String] = []
    /// Patterns of the ids of tasks that are not made, since their list is empty: `needs` of these are met by none.
    var emptyIDs: [String] = []
    var templates: [Template] = []
    /// Needs and captured values of tasks that are not known yet.
    var unmadeNeeds: [Int] = []
    var unmadeUses: [CaptureUse] = []

    /// Forgets a task that only stood for others. `isMeant`: the tasks that it names must exist all the same.
    mutating func forget(task: UInt32, isMeant: Bool) {
        if isMeant {
            unmadeNeeds += needs.filter { $0.task >= task }.map(\.list)
            unmadeUses += captures.filter { $0.task >= task }.map(\.use)
        }
        needs.removeAll { $0.task >= task }
        captures.removeAll { $0.task >= task }
        reads.removeAll { $0.task >= task }
        if let reader = inputReader, reader >= task { inputReader = nil }
    }
}

/// The checks that need all tasks.
struct TaskChecker {
    /// Largest number of edges in the graph of `needs`.
    static let maximumEdges = 20_000_000

    let reader: Reader
    let ids: NameTable
    let checks: CrossChecks
    let groups: [String: GroupSpecification]
    let groupNames: [String]
    let sessions: SessionTable
    var tasks: [TaskSpecification]
    private var destinations: NameTable
    private var sortedIDs: [(id: String, task: UInt32)]?
    private var patterns: [String: [TaskIndex]] = [:]
    /// The member tasks of each group, by the group's name.
    let members: [String: [UInt32]]
    private var nodesByLine: [UInt32: NodeID]?
    private var namedByLine: [UInt32: [UInt32]] = [:]
    private var guesses = 0

    init(_ loader: TaskLoader) {
        reader = loader.reader
        ids = loader.ids
        checks = loader.checks
        groups = loader.groups
        groupNames = loader.groupNames
        sessions = loader.sessions
        tasks = loader.tasks
        loader.tasks = []
        members = groups.isEmpty ? [:] : Self.members(tasks, groupNames)
        destinations = NameTable(expecting: tasks.count)
    }

    mutating func run() {
        checkDestinations()
        if !groups.isEmpty { checkGroupFolders() }
        resolveNeeds()
        addImpliedNeeds()
        checkConditions()
        checkTemplates()
        checkCaching()
        checkCredentials()
        if !reportCycle() {
            if !groups.isEmpty { reportGroupCycle() }
            checkOutputOrder()
        }
        checkReads()
        checkCopiedLines()
    }

    private static func members(_ tasks: [TaskSpecification], _ names: [String]) -> [String: [UInt32]] {
        var members: [String: [UInt32]] = [:]
        for (number, task) in tasks.enumerated() {
            if let group = task.group { members[names[Int(group.raw)], default: []].append(UInt32(number)) }
        }
        return members
    }

    private func span(_ task: UInt32) -> SourceSpan {
        let line = Int32(tasks[Int(task)].line)
        return SourceSpan(line: line, column: 1, endLine: line, endColumn: 2)
    }

    // MARK: Destinations

    private mutating func checkDestinations() {
        for number in tasks.indices {
            guard let path = written(number) else { continue }
            let object = tasks[number].options.values.object?.name.redacted
            guard let first = destinations.insert(path, owner: UInt32(number)) else { continue }
            let (other, this) = (tasks[Int(first)], tasks[number])
            reader.error(
                "duplicate-destination",
                "the tasks `\(other.id)` and `\(this.id)` both write `\(Reader.short(object ?? shown(path)))`",
                hint: "give each a `to` of its own", at: place(of: "to", this))
        }
        checkFolders()
    }

    /// Returns the path of the task's file, or the URL of its object, where the job says it.
    private func written(_ number: Int) -> String? {
        guard let destination = tasks[number].destination else {
            return tasks[number].type == .download ? tasks[number].options.values.object?.address : nil
        }
        return destination.utf8.last == UInt8(ascii: "/") ? nil : Paths.resolvingDots(destination)
    }

    /// Checks that no task writes a file where another one needs a folder.
    private mutating func checkFolders() {
        var last = ""
        // Folders that were checked already, so that each fault is reported once.
        var checked: Set<ExactText> = []
        for number in tasks.indices {
            guard let destination = tasks[number].destination else { continue }
            var folder = Paths.folder(of: Paths.resolvingDots(destination))
            // Most tasks write into the folder of the one before.
            if folder.isExactly(last) { continue }
            last = folder
            while !folder.isEmpty, folder != "/" {
                if folder.utf8.last == UInt8(ascii: "/") { folder.removeLast() }
                guard checked.insert(ExactText(folder)).inserted else { break }
                if let owner = destinations.owner(of: folder) {
                    let (other, this) = (tasks[Int(owner)], tasks[number])
                    reader.error(
                        "duplicate-destination",
                        "the task `\(this.id)` writes into `\(Reader.short(shown(folder)))`, which is the file of `\(other.id)`",
                        hint: "give one of them another `to`", at: place(of: "to", this))
                    break
                }
                folder = Paths.folder(of: folder)
            }
        }
    }

    /// Checks that members of a group write below its folder and that no other task does: the folder is exchanged as a
    /// whole.
    private mutating func checkGroupFolders() {
        let folders = groupNames.compactMap { name in
            groups[name]?.to.plain.map {
                (name: name, path: Paths.resolvingDots($0.hasSuffix("/") ? $0 : $0 + "/"))
            }
        }
        for (place, folder) in folders.enumerated() {
            for other in folders[(place + 1)...]
            where isIn(other.path, folder.path) || isIn(folder.path, other.path) {
                reader.error(
                    "groups-overlap", "the groups `\(folder.name)` and `\(other.name)` publish into one folder",
                    hint: "give each a `to` of its own, none below another", at: self.place(ofGroup: other.name))
            }
        }
        for task in tasks {
            checkRules(of: task, folders)
            guard let destination = task.destination else { continue }
            let path = Paths.resolvingDots(destination)
            let own = task.group.map { groupNames[Int($0.raw)] }
            for folder in folders where isIn(path, folder.path) != (folder.name == own) {
                let message =
                    folder.name == own
                    ? "`\(task.id)` writes outside the folder of its group `\(folder.name)`"
                    : "`\(task.id)` writes into the folder of the group `\(folder.name)` without being its member"
                let hint =
                    folder.name == own
                    ? "its `to` is relative to that folder and stays below it"
                    : "add `group: \(folder.name)`, or choose another `to`"
                reader.error("group-folder", message, hint: hint, at: self.place(of: "to", task))
            }
        }
    }

    /// Returns whether a path lies in a folder, compared by bytes as in the file system. `folder` ends in a slash.
    private func isIn(_ path: String, _ folder: String) -> Bool { path.utf8.starts(with: folder.utf8) }

    /// Reports rules of `onResponse` that write into a group's folder: the file of a response is no member of a group.
    private mutating func checkRules(of task: TaskSpecification, _ folders: [(name: String, path: String)]) {
        for rule in task.options.values.onResponse {
            guard let path = rule.to.map({ Paths.resolvingDots($0) }),
                let folder = folders.first(where: { isIn(path, $0.path) })
            else { continue }
            reader.error(
                "group-folder",
                "a rule of `\(task.id)` writes into the folder of the group `\(folder.name)` without being its member",
                hint: "choose another `to`", at: place(of: "onResponse", task))
        }
    }

    private func shown(_ path: String) -> String {
        let folder = reader.baseDirectory == "/" ? "/" : reader.baseDirectory + "/"
        return isIn(path, folder) ? String(decoding: path.utf8.dropFirst(folder.utf8.count), as: UTF8.self) : path
    }

    /// Returns the position of a task's key; the task's beginning if the key stands in `defaults`.
    mutating func place(of key: StaticString, _ task: TaskSpecification) -> SourceSpan {
        guard let node = node(of: task) else { return SourceSpan(line: Int(task.line), column: 1) }
        for (name, value) in reader.tree.entries(node) where reader.tree.text(name, is: key) {
            return reader.beginning(value)
        }
        return reader.beginning(node)
    }

    /// Returns the position of a group's `to`, or of its name.
    private func place(ofGroup name: String) -> SourceSpan {
        let tree = reader.tree
        guard let root = tree.root, let groups = tree.entries(root).first(where: { tree.text($0.key, is: "groups") }),
            let group = tree.entries(groups.value).first(where: { tree.text($0.key) == name })
        else { return SourceSpan(line: 1, column: 1) }
        let to = tree.entries(group.value).first { tree.text($0.key, is: "to") }
        return reader.beginning(to?.value ?? group.key)
    }

    /// Returns the map that a task was read from. Only called for reports, but then perhaps for every task.
    mutating func node(of task: TaskSpecification) -> NodeID? {
        if nodesByLine == nil { nodesByLine = collectNodes() }
        return nodesByLine?[task.line]
    }

    private func collectNodes() -> [UInt32: NodeID] {
        var nodes: [UInt32: NodeID] = [:]
        guard let root = reader.tree.root else { return nodes }
        for (key, value) in reader.tree.entries(root) where reader.tree.text(key, is: "tasks") {
            for node in reader.tree.children(value) { nodes[UInt32(reader.tree.span(node).line)] = node }
        }
        return nodes
    }

    /// Returns a hint about a similar id. Comparing with all ids is slow, so only the first mistakes get one.
    private mutating func guess(_ text: String) -> String? {
        guard guesses < 20, tasks.count <= 50_000 else { return nil }
        guesses += 1
        return reader.closest(text, tasks.map(\.id)).map { "did you mean `\($0)`?" }
    }

    // MARK: Needs

    private mutating func resolveNeeds() {
        var resolved: [Int: (tasks: [TaskIndex], groups: [String])] = [:]
        var edges = 0
        for need in checks.needs {
            let list: (tasks: [TaskIndex], groups: [String])
            if let known = resolved[need.list] {
                list = known
            } else {
                list = resolve(reader.needLists.lists[need.list])
                resolved[need.list] = list
            }
            edges += list.tasks.count
            guard edges <= Self.maximumEdges else {
                reader.error(
                    "too-many-needs", "all `needs` together come to more than \(Self.maximumEdges)", at: span(need.task)
                )
                return
            }
            assign(list, to: Int(need.task), entries: reader.needLists.lists[need.list])
        }
        for list in checks.unmadeNeeds where resolved[list] == nil { _ = resolve(reader.needLists.lists[list]) }
    }

    private mutating func assign(
        _ list: (tasks: [TaskIndex], groups: [String]), to task: Int, entries: [NeedLists.Entry]
    ) {
        let itself = TaskIndex(raw: UInt32(task))
        if list.tasks.contains(itself) {
            if let entry = entries.first(where: { $0.text == tasks[task].id }) {
                reader.error("needs-cycle", "the task `\(entry.text)` needs itself", entry.node)
            }
            // A pattern that matches the task itself means the others.
            tasks[task].needs = list.tasks.filter { $0 != itself }
        } else {
            tasks[task].needs = list.tasks
        }
        if !list.groups.isEmpty {
            var values = tasks[task].options.values
            values.neededGroups = list.groups
            tasks[task].options = TaskOptions(values)
        }
    }

    private mutating func resolve(_ entries: [NeedLists.Entry]) -> (tasks: [TaskIndex], groups: [String]) {
        var found: [TaskIndex] = []
        var seen: Set<TaskIndex> = []
        var neededGroups: [String] = []
        for entry in entries {
            if entry.text.hasPrefix("group."), ids.owner(of: entry.text) == nil {
                if let group = group(entry) { neededGroups.append(group) }
                continue
            }
            let matches = matches(entry)
            if entries.count == 1 { return (matches, []) }
            for match in matches where seen.insert(match).inserted { found.append(match) }
        }
        return (found, neededGroups)
    }

    private func group(_ entry: NeedLists.Entry) -> String? {
        let name = String(entry.text.dropFirst(6))
        if groups[name] != nil {
            if let number = groupNames.firstIndex(of: name), !checks.namedGroups.contains(number),
                !checks.namesUnknownGroup
            {
                reader.error(
                    "empty-group", "no task is in the group `\(Reader.short(name))`: it is never published",
                    hint: "write `group: \(Reader.short(name))` into the tasks that are", entry.node)
            }
            return name
        }
        let hint = reader.closest(name, groups.keys.sorted()).map { "did you mean `group.\($0)`?" }
        return reader.error("unknown-group", "there is no group `\(Reader.short(name))`", hint: hint, entry.node)
    }

    private mutating func matches(_ entry: NeedLists.Entry) -> [TaskIndex] {
        if let task = ids.owner(of: entry.text) { return [TaskIndex(raw: task)] }
        if Glob.isPattern(entry.text) {
            let found = matches(pattern: entry.text)
            // A pattern may match templates, or tasks of a `forEach` without values.
            if found.isEmpty, !fitsDeferred(entry.text), !Self.fits(entry.text, checks.emptyIDs),
                !checks.templates.contains(where: { $0.fits(entry.text) })
            {
                reader.error("unknown-task", "no task id matches `\(Reader.short(entry.text))`", entry.node)
            }
            return found
        }
        let unmade = templates(fitting: entry.text)
        if unmade.isEmpty, !fitsDeferred(entry.text), !Self.fits(entry.text, checks.emptyIDs) {
            reportUnknown(entry.text, entry.node)
        } else {
            warnOfSlip(entry)
        }
        return unmade
    }

    /// Warns of a name that only a task of any name at all can have, such as one of the id `${item}`, where a task of a
    /// similar name is there.
    private mutating func warnOfSlip(_ entry: NeedLists.Entry) {
        let unmade = checks.templates.filter { !$0.isExpanded }
        let patterns = unmade.map { $0.pattern ?? "*" } + checks.deferredIDs + checks.emptyIDs
        guard reader.templateValues == nil, patterns.allSatisfy({ $0 == "*" || !Self.fits(entry.text, [$0]) }),
            let hint = guess(entry.text)
        else { return }
        let maker = unmade.first.map { "a task of `\(tasks[Int($0.task)].id)`" } ?? "a task of a `forEach`"
        reader.warning(
            "unknown-task", "there is no task `\(Reader.short(entry.text))`, unless \(maker) gets that id", hint: hint,
            at: reader.tree.span(entry.node))
    }

    /// Returns whether a name could be the id of a task that is not known yet.
    func fitsDeferred(_ text: String) -> Bool { Self.fits(text, checks.deferredIDs) }

    private static func fits(_ text: String, _ patterns: [String]) -> Bool {
        patterns.contains { pattern in
            Glob.matches(Array(text.utf8), Array(pattern.utf8)) || Glob.matches(Array(pattern.utf8), Array(text.utf8))
        }
    }

    mutating func reportUnknown(_ text: String, _ node: NodeID) {
        let hint = guess(text)
        reader.error(
            "unknown-task", "there is no task `\(Reader.short(text))`", hint: hint, node
        )
    }

    /// Returns the tasks that match a pattern. Only ids with the pattern's fixed beginning are compared, so that many
    /// patterns over many tasks stay fast.
    private mutating func matches(pattern: String) -> [TaskIndex] {
        if let known = patterns[pattern] { return known }
        if pattern == "*" { return allTasks() }
        let sorted =
            sortedIDs
            ?? tasks.enumerated().filter { checks.templates.isEmpty || !$0.element.isTemplate }
            .map { ($0.element.id, UInt32($0.offset)) }.sorted { $0.0 < $1.0 }
        sortedIDs = sorted
        let bytes = Array(pattern.utf8)
        let prefix = String(decoding: bytes.prefix { $0 != 0x2A && $0 != 0x3F && $0 != 0x5B }, as: UTF8.self)
        var low = 0
        var high = sorted.count
        while low < high {
            let middle = (low + high) / 2
            if sorted[middle].id < prefix { low = middle + 1 } else { high = middle }
        }
        var found: [TaskIndex] = []
        while low < sorted.count, sorted[low].id.hasPrefix(prefix) {
            if Glob.matches(Array(sorted[low].id.utf8), bytes) { found.append(TaskIndex(raw: sorted[low].task)) }
            low += 1
        }
        found += templates(fitting: pattern)
        found.sort()
        patterns[pattern] = found
        return found
    }

    // MARK: Implied needs

    private mutating func addImpliedNeeds() {
        for capture in checks.captures {
            guard let owner = owner(of: capture.use, in: capture.task) else { continue }
            if owner == capture.task {
                let id = capture.use.task
                reader.error("needs-cycle", "the task `\(id)` cannot use what it captures itself", at: capture.use.span)
            } else {
                add(owner, to: Int(capture.task))
            }
        }
        for use in checks.unmadeUses { _ = owner(of: use, in: nil) }
        if !reader.checksumTasks.isEmpty { findChecksums() }
    }

    /// Returns the task that captures a value, or whose end it is; `nil` if there is none, which is reported. `task` is
    /// the one in which it stands, if that is known.
    private mutating func owner(of use: CaptureUse, in task: UInt32?) -> UInt32? {
        if use.task == RunEnds.run, use.name == RunEnds.page {
            checkHasPages(use, task)
            return nil
        }
        if use.task == RunEnds.run {
            checkIsCondition(use, task)
            return nil
        }
        if let source = RowList.task(of: use.task) { return ids.owner(of: source) }
        // A fault of the list is reported where `forEach` names it.
        if use.isOfList, !isList(use) { return nil }
        guard let owner = ids.owner(of: use.task) ?? templates(fitting: use.task).first?.raw else {
            if fitsDeferred(use.task) { return nil }
            let hint = guess(use.task)
            return reader.error(
                "unknown-name",
                "unknown name `tasks.\(Reader.short(use.task)).\(use.name)`: there is no task `\(Reader.short(use.task))`",
                hint: hint, at: use.span)
        }
        let captures = tasks[Int(owner)].options.values.captures
        let known = captures.map(\.name)
        guard let captured = captures.first(where: { $0.name == use.name }) else {
            if RunEnds.TaskName(rawValue: use.name) != nil { return checkIsCondition(use, task) ? owner : nil }
            if reader.unreadCaptures.contains(use.name) { return nil }
            let near = reader.closest(use.name, known).map { "did you mean `\($0)`?" }
            return reader.error(
                "unknown-name", "unknown name `tasks.\(use.task).\(use.name)`: that task captures no `\(use.name)`",
                hint: near
                    ?? (known.isEmpty
                        ? "say under its `capture` where it comes from" : "it captures \(Shape.oneOf(known))"),
                at: use.span)
        }
        if tasks[Int(owner)].options.values.givesList(captured), !use.isOfList {
            let why = captured.source.isList ? "" : ", one value of each page"
            return reader.error(
                "is-a-list", "`tasks.\(use.task).\(use.name)` is a list\(why); use it in `forEach`",
                hint: "write `forEach: { x: { captured: tasks.\(use.task).\(use.name) } }`, and `${x}` here",
                at: use.span)
        }
        if use.isInPath, captured.isSecret {
            reader.error(
                "secret-not-allowed", "a secret cannot stand in `to`",
                hint: "it would be written where anybody can read it", at: use.span)
        }
        return owner
    }

    private func isList(_ use: CaptureUse) -> Bool {
        guard let owner = ids.owner(of: use.task) else { return false }
        let values = tasks[Int(owner)].options.values
        return values.captures.contains { $0.name == use.name && values.givesList($0) }
    }

    mutating func add(_ need: UInt32, to task: Int) {
        let index = TaskIndex(raw: need)
        if !tasks[task].needs.contains(index) { tasks[task].needs.append(index) }
    }

    // MARK: Cycles and files

    private mutating func reportCycle() -> Bool {
        guard TaskGraph.mayHaveCycle(tasks), let cycle = TaskGraph.cycle(tasks) else { return false }
        report(cycle.map { tasks[Int($0)].id }, "one of them must go first", at: cycle[0])
        return true
    }

    /// Reports a cycle over groups: its tasks would wait for each other without end.
    private mutating func reportGroupCycle() {
        guard let cycle = GroupGraph(tasks, groupNames).cycle() else { return }
        report(
            cycle.names, "a group is published when all its members are there: none of them can wait for that",
            at: cycle.task)
    }

    private mutating func report(_ cycle: [String], _ hint: String, at task: UInt32) {
        let names = cycle + [cycle[0]]
        let shown = names.count <= 10 ? names : Array(names.prefix(6)) + ["..."] + Array(names.suffix(2))
        reader.error(
            "needs-cycle", "tasks need each other: \(shown.joined(separator: " -> "))", hint: hint,
            at: place(of: "needs", tasks[Int(task)]))
    }

    /// Returns whether a task needs another, directly or over others. After errors, a need may have been unreadable:
    /// then the names written in the task count, too.
    mutating func reaches(from task: UInt32, _ wanted: UInt32) -> Bool {
        if TaskGraph.reaches(from: task, wanted, tasks, members) { return true }
        guard reader.problems.list.hasErrors else { return false }
        var seen: Set<UInt32> = [task]
        var rest = [task]
        while let next = rest.popLast() {
            let groups = tasks[Int(next)].options.values.neededGroups.flatMap { members[$0] ?? [] }
            let needed = tasks[Int(next)].needs.map(\.raw) + groups + named(in: next)
            if needed.contains(wanted) { return true }
            rest += needed.filter { seen.insert($0).inserted }
        }
        return false
    }

    /// Returns the tasks whose captured values a task names, even where that is not allowed.
    private mutating func named(in task: UInt32) -> [UInt32] {
        let line = tasks[Int(task)].line
        if let known = namedByLine[line] { return known }
        let found = node(of: tasks[Int(task)]).map { WrittenReferences(tree: reader.tree).namedTasks(below: $0) } ?? []
        let all = (found + WrittenReferences(tree: reader.tree).namedTasks(in: "defaults")).compactMap {
            ids.owner(of: $0)
        }
        namedByLine[line] = all
        return all
    }

    private mutating func checkReads() {
        for read in checks.reads {
            let path = Paths.resolvingDots(read.path)
            guard Int(read.task) < tasks.count, let writer = destinations.owner(of: path), writer != read.task else {
                continue
            }
            if reaches(from: read.task, writer) { continue }
            let id = tasks[Int(writer)].id
            reader.error(
                "missing-need",
                "this task reads `\(Reader.short(shown(path)))`, which `\(id)` writes, but does not need it",
                hint: "add `needs: [\(id)]`", at: reader.beginning(read.node))
        }
    }
}
