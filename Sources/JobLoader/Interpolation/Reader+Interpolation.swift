import Diagnostics
import TransferModel
import YAMLTree

extension Reader {
    /// Returns the template of a scalar that contains a `$`; `nil` if it is malformed, which is reported.
    func template(_ node: NodeID) -> Template? {
        if let known = templates[node] { return known }
        do {
            let template = try TemplateParser.parse(tree.withUTF8(node) { Array($0) })
            templates[node] = template
            return template
        } catch {
            self.error("bad-interpolation", error.message, hint: error.hint, at: referenceSpan(node, error.ordinal))
            return nil
        }
    }

    func interpolated(_ node: NodeID, _ place: Place) -> ScalarValue? {
        guard let template = template(node) else { return nil }
        if let only = template.only {
            guard let value = value(of: only, node) else { return nil }
            guard let scalar = value.scalar(in: place) else {
                notAScalar(only, value, node)
                return nil
            }
            if case .text(let text) = scalar, place == .path, text.awaitsCapture, !text.begins(withPage: true) {
                refuseLeadingCapture(only, node)
            }
            return scalar
        }
        return filled(template, node, place)
    }

    /// Returns the value of a scalar that is one whole `${name}`, lists and maps included; `nil` for any other scalar.
    func wholeValue(_ node: NodeID) -> Value? {
        guard tree.kind(node) == .scalar, hasDollar(node), let only = template(node)?.only else { return nil }
        return value(of: only, node)
    }

    private func notAScalar(_ reference: Template.Reference, _ value: Value, _ node: NodeID) {
        let fields = value.fieldNames.prefix(8).map { "`${\(reference.name.text).\($0)}`" }
        var place = ""
        if case .captured(let item) = value, let row = item.row { place = "\(row): " }
        error(
            "wrong-type", "\(place)`${\(reference.name.text)}` is a \(fields.isEmpty ? "list" : "map"), no text",
            hint: fields.isEmpty ? nil : "name one of its fields: \(fields.joined(separator: ", "))",
            at: referenceSpan(node, reference.ordinal))
    }

    // MARK: Filling in

    private func filled(_ template: Template, _ node: NodeID, _ place: Place) -> ScalarValue? {
        var filling = Filling(place: place)
        var isWhole = true
        for (number, segment) in template.segments.enumerated() {
            switch segment {
            case .literal(let text): filling.append(literal: text)
            case .reference(let reference):
                guard let value = value(of: reference, node) else {
                    isWhole = false
                    continue
                }
                guard let scalar = value.scalar(in: place) else {
                    notAScalar(reference, value, node)
                    isWhole = false
                    continue
                }
                if place == .url { filling.isBeforeAt = template.hasAt(after: number) }
                if let problem = filling.append(scalar, isRaw: reference.isRaw) {
                    report(problem, reference, node)
                    if case .tooLong = problem { return nil }
                    isWhole = false
                }
            }
        }
        guard isWhole, !filling.isUnknown else { return isWhole ? .unknown : nil }
        if filling.length > Filling.short {
            filledBytes += filling.length
            guard filledBytes <= Filling.mostOfLong else {
                error(
                    "too-large", "the texts that this file makes of variables come to more than 256 MiB",
                    hint: "let a long text stand in a file, and name that", node)
                return nil
            }
        }
        if place == .path, filling.hasNewParentSegment {
            error(
                "path-escape",
                "an interpolated value adds a `..` segment to the path `\(Self.short(filling.text.finish().redacted))`",
                hint: "only the beginning of a path may be chosen freely", node)
            return nil
        }
        return .text(filling.text.finish())
    }

    private func report(_ problem: Filling.Problem, _ reference: Template.Reference, _ node: NodeID) {
        let name = reference.name.text
        let span = referenceSpan(node, reference.ordinal)
        switch problem {
        case .addsURLPart:
            error(
                "url-component", "the value of `${\(name)}` cannot stand in the host of a URL",
                hint: "it would add another part to the URL; write `${raw:\(name)}` if that is meant", at: span)
        case .controlCharacter:
            error(
                "control-character", "the value of `${\(name)}` holds a line break or NUL, which cannot stand here",
                at: span)
        case .leadingCapture: refuseLeadingCapture(reference, node)
        case .tooLong:
            error(
                "too-large", "with the value of `${\(name)}` this text is longer than 16 MiB",
                hint: "let a long text stand in a file, and name that", at: span)
        }
    }

    private func refuseLeadingCapture(_ reference: Template.Reference, _ node: NodeID) {
        forgetCaptures(in: node)
        if case .local("run", _) = reference.name {
            return error(
                "path-from-network", "`${\(reference.name.text)}` is known only in mid-run and cannot begin a path",
                hint: "put a folder or a name of your own before it", at: referenceSpan(node, reference.ordinal))
        }
        error(
            "path-from-network", "`${\(reference.name.text)}` came from the network and cannot begin a path",
            hint: "put a folder of your own before it, or `./`", at: referenceSpan(node, reference.ordinal))
    }

    // MARK: Names

    /// Returns the value of a reference; `nil` if it is unknown, which is reported.
    func value(of reference: Template.Reference, _ node: NodeID) -> Value? {
        let found: Value?
        do throws(NotText) {
            found = try lookUp(reference, node)
        } catch {
            // A default is for a variable that is not set, not for one that is no text. The value is not shown: it may
            // be a secret.
            self.error(
                "invalid-value", "the value of `${\(reference.name.text)}` is not UTF-8 text",
                at: referenceSpan(node, reference.ordinal))
            return nil
        }
        if reference.fallback != nil, case .text(let text)? = found, text.awaitsCapture, reference.isLate {
            error(
                "capture-has-no-default", "`${\(reference.name.text)}` is known only in mid-run and has no default",
                hint: "a task whose capture finds nothing fails", at: referenceSpan(node, reference.ordinal))
            return found
        }
        guard let fallback = reference.fallback else {
            if let found { return found }
            if let missing = missingValue(reference, node) { return missing }
            unknownName(reference, node)
            return nil
        }
        if let found, !found.isEmpty { return found }
        switch fallback {
        case .standard(let template): return fallbackValue(template, node)
        case .message(let template):
            let words = fallbackValue(template, node).flatMap { $0.scalar }.map { Self.words($0) } ?? ""
            if let missing = missingValue(reference, node, words) { return missing }
            error(
                "name-required", "`${\(reference.name.text)}`: \(words.isEmpty ? "it is not set or empty" : words)",
                at: referenceSpan(node, reference.ordinal))
            return nil
        }
    }

    private func fallbackValue(_ template: Template, _ node: NodeID) -> Value? {
        if let only = template.only { return value(of: only, node) }
        switch filled(template, node, .value) {
        case .text(let text): return .text(text)
        case .unknown: return .unknown
        default: return nil
        }
    }

    private static func words(_ scalar: ScalarValue) -> String {
        switch scalar {
        case .text(let text): text.redacted
        case .number(let text): text
        case .boolean(let value): "\(value)"
        case .null, .unknown: ""
        }
    }

    private func lookUp(_ reference: Template.Reference, _ node: NodeID) throws(NotText) -> Value? {
        switch reference.name {
        case .local(let name, let field): return local(name, field, reference, node)
        case .environment(let name):
            note(.environment, name, at: referenceSpan(node, reference.ordinal))
            return try resources.environment(name).map { .text(SecretText($0)) }
        case .secret(let name):
            note(.secret, name, at: referenceSpan(node, reference.ordinal))
            return names.secret(name, self, at: referenceSpan(node, reference.ordinal)).map { .text($0) }
        case .capture(let task, let name): return late(task, name, reference, node)
        }
    }

    /// Returns the stand-in for a value of mid-run: one that a task captures, its end, or one of the whole run.
    private func late(_ task: String, _ name: String, _ reference: Template.Reference, _ node: NodeID) -> Value {
        // Outside of tasks the value is refused.
        if scope.isInTask {
            scope.captureUses.append(
                CaptureUse(
                    task: task, name: name, span: referenceSpan(node, reference.ordinal),
                    isInPath: key.description == "to", isDefault: scope.isInDefaults))
        }
        return .text(SecretText(pieces: [.capture(task: task, name: name, escaping: .none)]))
    }

    private func local(_ name: String, _ field: String?, _ reference: Template.Reference, _ node: NodeID) -> Value? {
        if let binding = scope.binding(name) {
            // An index reveals nothing of the captured values.
            if case .captured(let item) = binding.value, scope.isInTask, field != "index" {
                scope.captureUses.append(
                    CaptureUse(
                        task: item.task, name: item.list, span: referenceSpan(node, reference.ordinal),
                        isInPath: key.description == "to", isDefault: scope.isInDefaults, isOfList: true))
            }
            guard let field else {
                if case .captured(let item) = binding.value, item.isMissing { return nil }
                return binding.value
            }
            if field == "index", binding.index > 0 { return .number(String(binding.index)) }
            return binding.value.field(field)
        }
        if name == "run", let field, RunEnds.RunName(rawValue: field) != nil {
            return late(RunEnds.run, field, reference, node)
        }
        guard field == nil else { return scope.unreadName }
        if let value = names.variable(name, self) { return value }
        if name == RunEnds.page, scope.hasPages || scope.isInDefaults, key.description == "to" {
            return late(RunEnds.run, RunEnds.page, reference, node)
        }
        return scope.unreadName
    }

    private func unknownName(_ reference: Template.Reference, _ node: NodeID) {
        let span = referenceSpan(node, reference.ordinal)
        let name = reference.name.text
        var hint: String?
        switch reference.name {
        case .local(let local, let field): hint = localHint(local, field)
        case .environment(let name):
            hint = "set it, or write `${env.\(name):-default}` to give it a default"
        case .secret(let name): hint = names.secretHint(name)
        case .capture: break
        }
        if let missing = missingField(reference.name) { return error("row-lacks-field", missing, at: span) }
        if names.isBroken(reference.name) { return }
        if scope.lacksForEach, case .local = reference.name { return }
        if case .secret(let name) = reference.name {
            return error("missing-value", "the secret `\(Self.short(name))` has no value", hint: hint, at: span)
        }
        if case .environment(let name) = reference.name {
            let what = "the environment variable `\(Self.short(name))` is not set"
            return error("missing-value", what, hint: hint, at: span)
        }
        error("unknown-name", "unknown name `\(Self.short(name))`", hint: hint, at: span)
    }

    /// Returns what a row of a list lacks, if that is why the name has no value.
    private func missingField(_ name: Template.Name) -> String? {
        guard case .local(let local, let field) = name,
            case .captured(let item)? = scope.binding(local)?.value, let row = item.row
        else { return nil }
        return field.map { "\(row) has no `\(Self.short($0))`" } ?? "\(row) is `null`"
    }

    /// Warns that this machine lacks a value and returns a stand-in, if the load tolerates that; else returns `nil`.
    /// `words` are the message that the job itself gives with `:?`.
    private func missingValue(_ reference: Template.Reference, _ node: NodeID, _ words: String = "") -> Value? {
        guard missingValues == .tolerated, !names.isBroken(reference.name) else { return nil }
        let (value, hint): (Value, String)
        switch reference.name {
        case .environment(let name): (value, hint) = (.missing, "the environment has no `\(name)`")
        case .secret(let name): (value, hint) = (.text(names.secretPlaceholder(name)), names.secretHint(name))
        case .local, .capture: return nil
        }
        let what = "`\(Self.short(reference.name.text))` has no value here, and a run needs one"
        warning(
            "missing-value", words.isEmpty ? what : "\(what): \(Self.short(words))", hint: hint,
            at: referenceSpan(node, reference.ordinal))
        return value
    }

    private func localHint(_ name: String, _ field: String?) -> String? {
        if let field, let binding = scope.binding(name) {
            let known = binding.value.fieldNames + ["index"]
            let close = closest(field, known).map { "did you mean `${\(name).\($0)}`?" }
            return close ?? "`\(name)` has \(known.prefix(12).map { "`\($0)`" }.joined(separator: ", "))"
        }
        if name == "run", field != nil {
            let names = RunEnds.RunName.allCases.map { "`${run.\($0.rawValue)}`" }
            return
                "of the run there is \(names.joined(separator: ", ")), in tasks with `when` and in `onFinish` at its end"
        }
        if name == RunEnds.page, field == nil {
            return "`${page}` is the number of a page, in `to` of a task with `next`"
        }
        let known = scope.bindings.map(\.name) + names.variableNames
        if let field, !known.contains(name), let meant = Self.meant(name, field) {
            return "did you mean `${\(meant)}`?"
        }
        if field != nil, known.contains(name) { return "`\(name)` is a variable and has no fields" }
        if let close = closest(name, known) { return "did you mean `${\(close)}`?" }
        if (try? resources.environment(name)) != nil { return "an environment variable is `${env.\(name)}`" }
        return known.isEmpty
            ? "no variables are defined" : "known: \(known.prefix(12).map { "`\($0)`" }.joined(separator: ", "))"
    }

    /// Returns this program's spelling of `name.field` as other tools write it; `nil` for other names.
    private static func meant(_ name: String, _ field: String) -> String? {
        switch name.lowercased() {
        case "secrets": "secret.\(field)"
        case "environment", "environ", "envs": "env.\(field)"
        case "variables", "variable", "vars", "var": field
        default: nil
        }
    }

    // MARK: What is written, whether or not it can be read

    /// Returns every name that a `${…}` below the node uses.
    func references(below node: NodeID) -> [Template.Name] {
        templates(below: node).flatMap { $0.references.map(\.name) }
    }

    /// Returns the fields of a `forEach` name that a task uses. Those in `defaults` may be of no use to it, and with a
    /// default of its own a field may be missing.
    func fields(of name: String, in task: NodeID) -> RowFields {
        var (needed, others): (Set<String>, Set<String>) = ([], [])
        for template in templates(below: task) {
            for reference in template.references {
                guard case .local(name, let field?) = reference.name, field != "index" else { continue }
                let isNeeded = template.isNeeded(reference)
                if isNeeded { needed.insert(field) } else { others.insert(field) }
            }
        }
        if let root = tree.root {
            for (key, value) in tree.entries(root) where tree.text(key, is: "defaults") {
                for case .local(name, let field?) in references(below: value) where field != "index" {
                    others.insert(field)
                }
            }
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
                guard hasDollar(next) else { continue }
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
            if isNull(value) { names = [] }
            guard tree.kind(value) == .mapping else { continue }
            for (name, list) in tree.entries(value) where tree.kind(name) == .scalar {
                if isNull(list) { names.remove(tree.text(name)) } else { names.insert(tree.text(name)) }
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
        guard let root = tree.root else { return [] }
        return tree.entries(root).filter { tree.text($0.0, is: section) }.flatMap { namedTasks(below: $0.1) }
    }

    // MARK: Places

    /// Returns the position of a reference in the file. Its `${` is found by counting, which works however the scalar
    /// is quoted or folded.
    func referenceSpan(_ node: NodeID, _ ordinal: Int) -> SourceSpan {
        let span = tree.span(node)
        var left = ordinal
        for line in span.line...max(span.endLine, span.line) {
            let first = line == span.line ? Int(span.column) : 1
            let scalars = source.scalars(
                ofLine: Int(line), from: first, to: line == span.endLine ? Int(span.endColumn) : .max)
            for place in scalars.indices.dropLast() where scalars[place] == "$" && scalars[place + 1] == "{" {
                if left == 0 { return Self.reference(in: scalars, from: place, line, first) }
                left -= 1
            }
        }
        return span
    }

    /// Returns the position of the reference that begins at `start`; `first` is the column of the first scalar.
    private static func reference(
        in scalars: [Unicode.Scalar], from start: Int, _ line: Int32, _ first: Int
    ) -> SourceSpan {
        var depth = 0
        var place = start
        while place < scalars.count {
            if scalars[place] == "{" { depth += 1 }
            if scalars[place] == "}" {
                depth -= 1
                if depth == 0 { break }
            }
            place += 1
        }
        let end = min(place + 1, scalars.count)
        return SourceSpan(line: line, column: Int32(first + start), endLine: line, endColumn: Int32(first + end))
    }
}
