import TransferModel
import YAMLTree

/// Finds what a file refers to by `${…}`, whether or not it can be read.
struct WrittenReferences {
    let tree: YAMLTree

    /// Returns every name that a `${…}` below the node uses.
    func references(below node: NodeID) -> [Template.Name] {
        templates(below: node).flatMap { $0.references.map(\.name) }
    }

    /// Returns the fields of a `forEach` name that a task uses. Those in `defaults` may be of no use to it, and with a
    /// default of its own a field may be missing. `keepsWholeRows`: the row itself counts as one of them.
    func fields(of name: String, in task: NodeID, keepsWholeRows: Bool) -> RowFields {
        func field(_ used: Template.Name) -> String? {
            guard case .local(name, let field) = used, field != "index" else { return nil }
            return field ?? (keepsWholeRows ? PlainValue.ownText : nil)
        }
        var (needed, others): (Set<String>, Set<String>) = ([], [])
        for template in templates(below: task) {
            for reference in template.references {
                guard let field = field(reference.name) else { continue }
                let isNeeded = template.isNeeded(reference) && field != PlainValue.ownText
                if isNeeded { needed.insert(field) } else { others.insert(field) }
            }
        }
        if let defaults = tree.rootValue("defaults") {
            others.formUnion(references(below: defaults).compactMap { field($0) })
        }
        return RowFields(needed: needed.sorted(), optional: others.subtracting(needed).sorted())
    }

    /// Returns the templates of all scalars below the node.
    private func templates(below node: NodeID) -> [Template] {
        var found: [Template] = []
        var rest = [node]
        while let next = rest.popLast() {
            switch tree.kind(next) {
            case .scalar:
                guard tree.hasDollar(next) else { continue }
                if let template = try? TemplateParser.parse(tree.withUTF8(next) { Array($0) }) {
                    found.append(template)
                }
            case .sequence: rest += tree.children(next)
            case .mapping: for (_, value) in tree.entries(next) { rest.append(value) }
            }
        }
        return found
    }

    /// Returns the names that a variable of the file could give a value to, and those of `forEach`, which get theirs
    /// from a list. A name of `forEach` is a variable, too, where a task without it uses it.
    func usedNames() -> (variables: Set<String>, forEach: Set<String>) {
        guard let root = tree.root, tree.kind(root) == .mapping else { return ([], []) }
        let parts = tree.entries(root)
        let defaults = parts.filter { tree.text($0.key, is: "defaults") }.map(\.value)
        let lists = parts.filter { tree.text($0.key, is: "tasks") && tree.kind($0.value) == .sequence }
        let tasks = lists.flatMap { tree.children($0.value) }.filter { tree.kind($0) == .mapping }
        var variables: Set<String> = []
        var (forEach, bound): (Set<String>, Set<String>?) = ([], nil)
        for task in tasks {
            let names = (defaults + [task]).reduce(into: Set()) { forEachNames(in: $1, over: &$0) }
            forEach.formUnion(names)
            bound = bound?.intersection(names) ?? names
            variables.formUnion(variableNames(in: task, without: names))
        }
        for part in defaults { variables.formUnion(variableNames(in: part, without: bound ?? [])) }
        for (key, value) in parts where !tree.text(key, is: "defaults") && !tree.text(key, is: "tasks") {
            variables.formUnion(plainNames(below: value))
        }
        return (variables, forEach)
    }

    /// Adds the names of a task's `forEach` to `names`, and takes away those that it makes `null`.
    private func forEachNames(in task: NodeID, over names: inout Set<String>) {
        guard tree.kind(task) == .mapping else { return }
        for (key, value) in tree.entries(task) where tree.text(key, is: "forEach") {
            if tree.isNull(value) { names = [] }
            guard tree.kind(value) == .mapping else { continue }
            for (name, list) in tree.entries(value) where tree.kind(name) == .scalar {
                if tree.isNull(list) { names.remove(tree.text(name)) } else { names.insert(tree.text(name)) }
            }
        }
    }

    /// Returns the names that a task, or `defaults`, takes from variables. Lists of `forEach` cannot use its own names.
    private func variableNames(in task: NodeID, without bound: Set<String>) -> Set<String> {
        guard tree.kind(task) == .mapping else { return [] }
        var names: Set<String> = []
        for (key, value) in tree.entries(task) {
            let used = plainNames(below: value)
            names.formUnion(tree.text(key, is: "forEach") ? used : used.subtracting(bound))
        }
        return names
    }

    /// Returns every `NAME` of a `${NAME}` below the node: with a field it is no variable.
    private func plainNames(below node: NodeID) -> Set<String> {
        Set(references(below: node).compactMap { if case .local(let name, nil) = $0 { name } else { nil } })
    }

    /// Returns the tasks whose captured values are used below the node, and the text of a `needs` that is a scalar.
    func namedTasks(below node: NodeID) -> [String] {
        var tasks = references(below: node).compactMap { if case .capture(let task, _) = $0 { task } else { nil } }
        guard tree.kind(node) == .mapping else { return tasks }
        for (key, value) in tree.entries(node) where tree.text(key, is: "needs") && tree.kind(value) == .scalar {
            tasks.append(tree.text(value))
        }
        return tasks
    }

    func namedTasks(in section: StaticString) -> [String] {
        tree.rootValue(section).map { namedTasks(below: $0) } ?? []
    }
}
