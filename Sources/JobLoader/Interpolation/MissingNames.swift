import TransferModel
import YAMLTree

/// Reports names of `${…}` that have no value, with what would help.
struct MissingNames {
    let reader: Reader

    func unknownName(_ reference: Template.Reference, _ node: NodeID) {
        let span = reader.referenceSpan(node, reference.ordinal)
        let name = reference.name.text
        var hint: String?
        switch reference.name {
        case .local(let local, let field): hint = localHint(local, field)
        case .environment(let name):
            hint = "set it, or write `${env.\(name):-default}` to give it a default"
        case .secret(let name): hint = reader.names.secrets.hint(name)
        case .capture: break
        }
        if let missing = missingField(reference.name) {
            return reader.error("row-lacks-field", missing.words, hint: missing.hint, at: span)
        }
        if reader.names.isBroken(reference.name) { return }
        if reader.scope.lacksForEach, case .local = reference.name { return }
        if case .secret(let name) = reference.name {
            return reader.error(
                "missing-value", "the secret `\(Reader.short(name))` has no value", hint: hint, at: span)
        }
        if case .environment(let name) = reference.name {
            let what = "the environment variable `\(Reader.short(name))` is not set"
            return reader.error("missing-value", what, hint: hint, at: span)
        }
        reader.error("unknown-name", "unknown name `\(Reader.short(name))`", hint: hint, at: span)
    }

    /// Returns what a row of a list lacks, if that is why the name has no value.
    private func missingField(_ name: Template.Name) -> (words: String, hint: String)? {
        guard case .local(let local, let field?) = name,
            case .captured(let item)? = reader.scope.binding(local)?.value, let row = item.row
        else { return nil }
        // Rows that a task brings have the fields in use only, of which none is another's misspelling.
        let known = item.rows == nil && !field.contains(".") ? item.fieldNames : []
        let near = reader.closest(field, known).map { "did you mean `${\(local).\($0)}`?" }
        let hint = near ?? "write `${\(name.text):-…}` if some have none"
        return ("\(row) has no `\(Reader.short(field))`", hint)
    }

    /// Warns that this machine lacks a value and returns a stand-in, if the load tolerates that; else returns `nil`.
    /// `words` are the message that the job itself gives with `:?`.
    func missingValue(_ reference: Template.Reference, _ node: NodeID, _ words: String = "") -> Value? {
        guard reader.missingValues == .tolerated, !reader.names.isBroken(reference.name) else { return nil }
        let (value, hint): (Value, String)
        switch reference.name {
        case .environment(let name): (value, hint) = (.missing, "the environment has no `\(name)`")
        case .secret(let name):
            (value, hint) = (.text(reader.names.secrets.placeholder(name)), reader.names.secrets.hint(name))
        case .local, .capture: return nil
        }
        let what = "`\(Reader.short(reference.name.text))` has no value here, and a run needs one"
        reader.warning(
            "missing-value", words.isEmpty ? what : "\(what): \(Reader.short(words))", hint: hint,
            at: reader.referenceSpan(node, reference.ordinal))
        return value
    }

    private func localHint(_ name: String, _ field: String?) -> String? {
        if let field, let binding = reader.scope.binding(name) {
            let known = binding.value.fieldNames + ["index"]
            let close = reader.closest(field, known).map { "did you mean `${\(name).\($0)}`?" }
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
        let known = reader.scope.bindings.map(\.name) + reader.names.variableNames
        if let field, !known.contains(name), let meant = Self.meant(name, field) {
            return "did you mean `${\(meant)}`?"
        }
        if field != nil, known.contains(name) { return "`\(name)` is a variable and has no fields" }
        if let close = reader.closest(name, known) { return "did you mean `${\(close)}`?" }
        if (try? reader.resources.environment(name)) != nil { return "an environment variable is `${env.\(name)}`" }
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
}
