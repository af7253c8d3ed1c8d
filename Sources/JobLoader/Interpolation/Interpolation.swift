import Diagnostics
import TransferModel
import YAMLTree

/// Fills in the `${…}` of scalars with the values of their names.
struct Interpolation {
    let reader: Reader

    /// Returns the template of a scalar that contains a `$`; `nil` if it is malformed, which is reported.
    func template(_ node: NodeID) -> Template? {
        if let known = reader.templates[node] { return known }
        do {
            let template = try TemplateParser.parse(reader.tree.withUTF8(node) { Array($0) })
            reader.templates[node] = template
            return template
        } catch {
            return reader.error(
                "bad-interpolation", error.message, hint: error.hint, at: reader.referenceSpan(node, error.ordinal))
        }
    }

    func interpolated(_ node: NodeID, _ place: Place) -> ScalarValue? {
        guard let template = template(node) else { return nil }
        if let only = template.only {
            guard let scalar = scalar(of: only, node, place) else { return nil }
            if case .text(let text) = scalar, place == .path, text.awaitsCapture, !text.begins(withPage: true) {
                refuseLeadingCapture(only, node)
            }
            return scalar
        }
        return filled(template, node, place)
    }

    /// Returns the value of a scalar that is one whole `${name}`, lists and maps included; `nil` for any other scalar.
    func wholeValue(_ node: NodeID) -> Value? {
        guard reader.tree.kind(node) == .scalar, reader.tree.hasDollar(node), let only = template(node)?.only else {
            return nil
        }
        return value(of: only, node)
    }

    private func scalar(of reference: Template.Reference, _ node: NodeID, _ place: Place) -> ScalarValue? {
        guard let value = value(of: reference, node) else { return nil }
        if let scalar = value.scalar(in: place) { return scalar }
        let name = reference.name.text
        let fields = value.fieldNames.prefix(8).map { "`${\(name).\($0)}`" }
        var (row, what) = ("", fields.isEmpty ? "a list" : "a map")
        var hint = fields.isEmpty ? nil : "name one of its fields: \(fields.joined(separator: ", "))"
        if case .captured(let item) = value {
            row = item.row.map { "\($0): " } ?? ""
            if item.isNull { (what, hint) = ("null", "write `${\(name):-…}` with what stands for null") }
        }
        return reader.error(
            "wrong-type", "\(row)`${\(name)}` is \(what), no text", hint: hint,
            at: reader.referenceSpan(node, reference.ordinal))
    }

    // MARK: Filling in

    private func filled(_ template: Template, _ node: NodeID, _ place: Place) -> ScalarValue? {
        var filling = Filling(place: place)
        var isWhole = true
        for (number, segment) in template.segments.enumerated() {
            switch segment {
            case .literal(let text): filling.append(literal: text)
            case .reference(let reference):
                guard let scalar = scalar(of: reference, node, place) else {
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
            reader.filledBytes += filling.length
            guard reader.filledBytes <= Filling.mostOfLong else {
                return reader.error(
                    "too-large", "the texts that this file makes of variables come to more than 256 MiB",
                    hint: "let a long text stand in a file, and name that", node)
            }
        }
        if place == .path, filling.hasNewParentSegment {
            return reader.error(
                "path-escape",
                "an interpolated value adds a `..` segment to the path `\(Reader.short(filling.text.finish().redacted))`",
                hint: "only the beginning of a path may be chosen freely", node)
        }
        return .text(filling.text.finish())
    }

    private func report(_ problem: Filling.Problem, _ reference: Template.Reference, _ node: NodeID) {
        let name = reference.name.text
        let span = reader.referenceSpan(node, reference.ordinal)
        switch problem {
        case .addsURLPart:
            reader.error(
                "url-component", "the value of `${\(name)}` cannot stand in the host of a URL",
                hint: "it would add another part to the URL; write `${raw:\(name)}` if that is meant", at: span)
        case .controlCharacter:
            reader.error(
                "control-character", "the value of `${\(name)}` holds a line break or NUL, which cannot stand here",
                at: span)
        case .leadingCapture: refuseLeadingCapture(reference, node)
        case .tooLong:
            reader.error(
                "too-large", "with the value of `${\(name)}` this text is longer than 16 MiB",
                hint: "let a long text stand in a file, and name that", at: span)
        }
    }

    private func refuseLeadingCapture(_ reference: Template.Reference, _ node: NodeID) {
        reader.forgetCaptures(in: node)
        if case .local("run", _) = reference.name {
            return reader.error(
                "path-from-network", "`${\(reference.name.text)}` is known only in mid-run and cannot begin a path",
                hint: "put a folder or a name of your own before it", at: reader.referenceSpan(node, reference.ordinal))
        }
        reader.error(
            "path-from-network", "`${\(reference.name.text)}` came from the network and cannot begin a path",
            hint: "put a folder of your own before it, or `./`", at: reader.referenceSpan(node, reference.ordinal))
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
            return reader.error(
                "invalid-value", "the value of `${\(reference.name.text)}` is not UTF-8 text",
                at: reader.referenceSpan(node, reference.ordinal))
        }
        if reference.fallback != nil, case .text(let text)? = found, text.awaitsCapture, reference.isLate {
            reader.error(
                "capture-has-no-default", "`${\(reference.name.text)}` is known only in mid-run and has no default",
                hint: "a task whose capture finds nothing fails", at: reader.referenceSpan(node, reference.ordinal))
            return found
        }
        guard let fallback = reference.fallback else {
            if let found { return found }
            if let missing = MissingNames(reader: reader).missingValue(reference, node) { return missing }
            MissingNames(reader: reader).unknownName(reference, node)
            return nil
        }
        if let found, !found.isEmpty { return found }
        switch fallback {
        case .standard(let template): return fallbackValue(template, node)
        case .message(let template):
            let words = fallbackValue(template, node).flatMap { $0.scalar }.map { Self.words($0) } ?? ""
            if let missing = MissingNames(reader: reader).missingValue(reference, node, words) { return missing }
            return reader.error(
                "name-required", "`${\(reference.name.text)}`: \(words.isEmpty ? "it is not set or empty" : words)",
                at: reader.referenceSpan(node, reference.ordinal))
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
            reader.record(.environment, name, at: reader.referenceSpan(node, reference.ordinal))
            // What is not for the job is not shown either, in a message about the text that it would be a part of.
            guard reader.room?.allows(variable: name) ?? true else { return .missing }
            return try reader.resources.environment(name).map { .text(SecretText($0)) }
        case .secret(let name):
            reader.record(.secret, name, at: reader.referenceSpan(node, reference.ordinal))
            return reader.names.secrets.value(name, reader, at: reader.referenceSpan(node, reference.ordinal)).map {
                .text($0)
            }
        case .capture(let task, let name): return late(task, name, reference, node)
        }
    }

    /// Returns the stand-in for a value of mid-run: one that a task captures, its end, or one of the whole run.
    private func late(_ task: String, _ name: String, _ reference: Template.Reference, _ node: NodeID) -> Value {
        // Outside of tasks the value is refused.
        if reader.scope.isInTask {
            reader.scope.captureUses.append(
                CaptureUse(
                    task: task, name: name, span: reader.referenceSpan(node, reference.ordinal),
                    isInPath: reader.key.description == "to", isDefault: reader.scope.isInDefaults))
        }
        return .text(SecretText(pieces: [.capture(task: task, name: name, escaping: .none)]))
    }

    private func local(_ name: String, _ field: String?, _ reference: Template.Reference, _ node: NodeID) -> Value? {
        if let binding = reader.scope.binding(name) {
            // An index reveals nothing of the captured values.
            if case .captured(let item) = binding.value, reader.scope.isInTask, field != "index" {
                reader.scope.captureUses.append(
                    CaptureUse(
                        task: item.task, name: item.list, span: reader.referenceSpan(node, reference.ordinal),
                        isInPath: reader.key.description == "to", isDefault: reader.scope.isInDefaults, isOfList: true))
            }
            guard let field else { return binding.value }
            if field == "index", binding.index > 0 { return .number(String(binding.index)) }
            return binding.value.field(field)
        }
        if name == "run", let field, RunEnds.RunName(rawValue: field) != nil {
            return late(RunEnds.run, field, reference, node)
        }
        guard field == nil else { return reader.scope.unreadName }
        if let value = reader.names.variable(name, reader) { return value }
        if name == RunEnds.page, reader.scope.hasPages || reader.scope.isInDefaults, reader.key.description == "to" {
            return late(RunEnds.run, RunEnds.page, reference, node)
        }
        return reader.scope.unreadName
    }
}
