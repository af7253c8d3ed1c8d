import TextFormats

/// The job language as a JSON Schema (draft 2020-12), generated from the table of keys, for editors to check a job
/// while it is typed.
///
/// The schema refuses what the loader refuses as far as a schema can express it, and nothing that the loader accepts.
/// It is built so that a validator reports a fault at its position: a value has the keywords of all its possible types
/// side by side, and rules between keys are conditions, so that there are no alternatives that each fail in their own
/// way.
package enum JobSchema {
    /// Returns the schema as indented JSON.
    package static func json() -> [UInt8] {
        var schema = SchemaWriter()
        schema.writeDocument()
        return schema.finish()
    }
}

struct SchemaWriter {
    var json = JSONWriter(reserving: 1 << 16)

    /// Returns the schema with line breaks, so that a diff of it is readable.
    func finish() -> [UInt8] { JSONLayout.indented(json.bytes) }

    mutating func writeDocument() {
        json.beginObject()
        json.member("$schema", "https://json-schema.org/draft/2020-12/schema")
        json.member("title", "transfer-run job")
        json.member(
            "description", "A batch of transfers. The same table of keys writes this, the reference and the loader.")
        json.member("type", "object")
        json.member("$ref", "#/$defs/job")
        json.key("$defs")
        json.beginObject()
        for section in Catalog.sections { write(section) }
        for task in Catalog.undefaulted + [Catalog.taskWithSession] {
            json.key(task.name)
            json.beginObject()
            writeRules(task.rules)
            json.endObject()
        }
        json.endObject()
        json.endObject()
    }

    private mutating func write(_ section: SectionDocument) {
        json.key(section.name)
        json.beginObject()
        if !section.introduction.isEmpty { json.member("description", section.introduction) }
        json.key("properties")
        json.beginObject()
        for key in section.keys {
            json.key(key.name.description)
            write(key, in: section)
        }
        json.endObject()
        json.member("additionalProperties", false)
        let required = section.keys.filter { isRequired($0, in: section) }.map(\.name.description)
        if !required.isEmpty { strings("required", required) }
        writeRules(section.rules, isJob: section.name == Sections.job.name)
        json.endObject()
    }

    /// Returns whether every map of the section must have the key. A key of some task types only may be missing in the
    /// others, and `null` removes a default.
    private func isRequired(_ key: KeyDocument, in section: SectionDocument) -> Bool {
        key.isRequired && key.types == .all && section.name != Catalog.defaults.name
    }

    private mutating func write(_ key: KeyDocument, in section: SectionDocument) {
        json.beginObject()
        var words = key.meaning
        if !key.isRequired { words += " (default: \(key.standard))" }
        if key.types != .all { words += "; for: \(key.types.words)" }
        switch key.state {
        case .built: break
        case .partly(let built): words += "; built so far: \(built)"
        case .later: words += "; not built yet"
        }
        json.member("description", words)
        writeKeywords(key.shape, mayBeNull: !isRequired(key, in: section))
        json.endObject()
    }

    // MARK: Rules

    private mutating func writeRules(_ rules: [SectionDocument.Rule], isJob: Bool = false) {
        guard !rules.isEmpty || isJob else { return }
        json.key("allOf")
        json.beginArray()
        for rule in rules { write(rule) }
        if isJob { writeTaskRules() }
        json.endArray()
    }

    private mutating func object(_ write: (inout SchemaWriter) -> Void) {
        json.beginObject()
        write(&self)
        json.endObject()
    }

    private mutating func write(_ rule: SectionDocument.Rule) {
        switch rule {
        case .exactlyOne(let names):
            object { $0.write(.needsOne(of: names)) }
            writeExclusions(names)
        case .atMostOne(let names): writeExclusions(names)
        case .when(let condition, let demand):
            object { writer in
                writer.json.key("if")
                writer.write(condition)
                writer.json.key("then")
                writer.object { $0.write(demand) }
            }
        case .always(let demand): object { $0.write(demand) }
        }
    }

    private mutating func writeExclusions(_ names: [String]) {
        for (place, name) in names.enumerated().dropLast() {
            write(.when(.has(name), .excludes(Array(names[(place + 1)...]))))
        }
    }

    private mutating func write(_ condition: SectionDocument.Condition) {
        object { writer in
            switch condition {
            case .has(let name): writer.writeHas([name], isMap: true)
            case .lacks(let name):
                writer.json.key("not")
                writer.object { $0.writeHas([name], isMap: true) }
            case .isOne(let name, let words):
                writer.strings("required", [name])
                writer.property(name) { $0.strings("enum", words) }
            case .isTrue(let name):
                writer.strings("required", [name])
                writer.property(name) { $0.json.member("const", true) }
            case .isNotTrue(let name):
                writer.property(name) { writer in
                    writer.json.key("enum")
                    writer.json.beginArray()
                    writer.json.bool(false)
                    writer.json.null()
                    writer.json.endArray()
                }
            case .all(let conditions):
                writer.json.key("allOf")
                writer.json.beginArray()
                for condition in conditions { writer.write(condition) }
                writer.json.endArray()
            }
        }
    }

    /// Writes that a map has these keys with values other than `null`. With `isMap` the value must be a map; without,
    /// values of other types pass.
    private mutating func writeHas(_ names: [String], isMap: Bool) {
        if isMap { json.member("type", "object") }
        strings("required", names)
        properties(names) { writer in
            writer.json.key("not")
            writer.object { $0.json.member("type", "null") }
        }
    }

    private mutating func writeHasOne(of names: [String], isMap: Bool) {
        json.key("anyOf")
        json.beginArray()
        for name in names { object { $0.writeHas([name], isMap: isMap) } }
        json.endArray()
    }

    private mutating func write(_ demand: SectionDocument.Demand) {
        switch demand {
        case .needs(let names): writeHas(names, isMap: false)
        case .needsOne(let names): writeHasOne(of: names, isMap: false)
        case .excludes(let names): properties(names) { $0.json.member("type", "null") }
        case .differs(let name, let words):
            property(name) { writer in
                writer.json.key("not")
                writer.object { $0.strings("enum", words) }
            }
        case .matches(let name, let pattern):
            property(name) { $0.json.member("pattern", "\(Self.interpolation)|(?:\(pattern))") }
        case .filled(let names):
            properties(names) {
                $0.json.member("minItems", 1)
                $0.json.member("minProperties", 1)
            }
        case .hollow(let name):
            property(name) { writer in
                writer.json.key("additionalProperties")
                writer.object { $0.json.member("type", "null") }
            }
        case .empty(let name): property(name) { $0.json.member("maxItems", 0) }
        case .isNotTrue(let name): property(name) { $0.excludesBoolean(true) }
        case .isNotFalse(let name): property(name) { $0.excludesBoolean(false) }
        case .named(let names, let pattern):
            properties(names) { writer in
                writer.json.key("propertyNames")
                writer.object { $0.json.member("pattern", pattern) }
            }
        case .inside(let name, let rule):
            property(name) { writer in
                writer.json.key("allOf")
                writer.json.beginArray()
                writer.write(rule)
                writer.json.endArray()
            }
        }
    }

    private mutating func excludesBoolean(_ value: Bool) {
        json.key("not")
        object { $0.json.member("const", value) }
    }

    private mutating func property(_ name: String, _ write: (inout SchemaWriter) -> Void) {
        properties([name], write)
    }

    private mutating func properties(_ names: [String], _ write: (inout SchemaWriter) -> Void) {
        json.key("properties")
        object { writer in
            for name in names {
                writer.json.key(name)
                writer.object(write)
            }
        }
    }

    // MARK: Tasks and what `defaults` say for them

    private mutating func writeTaskRules() {
        for task in Catalog.undefaulted {
            object { writer in
                writer.json.key("if")
                writer.object { $0.writeNoDefault(of: task.keys) }
                writer.json.key("then")
                writer.writeEachTask(task)
            }
        }
        object { writer in
            writer.json.key("if")
            writer.object { writer in
                writer.strings("required", ["sessions"])
                writer.json.key("properties")
                writer.object { writer in
                    writer.writeMemberWithoutDefault(of: Catalog.taskWithSession.keys)
                    writer.json.key("sessions")
                    writer.object { writer in
                        writer.json.member("type", "object")
                        writer.json.member("minProperties", 2)
                        writer.json.key("not")
                        writer.object { $0.strings("required", ["default"]) }
                    }
                }
            }
            writer.json.key("then")
            writer.writeEachTask(Catalog.taskWithSession)
        }
    }

    private mutating func writeNoDefault(of names: [String]) {
        json.key("properties")
        object { $0.writeMemberWithoutDefault(of: names) }
    }

    private mutating func writeMemberWithoutDefault(of names: [String]) {
        json.key("defaults")
        object { writer in
            writer.json.key("not")
            writer.object { $0.writeHasOne(of: names, isMap: true) }
        }
    }

    private mutating func writeEachTask(_ task: Catalog.TaskRules) {
        object { writer in
            writer.property("tasks") { writer in
                writer.json.key("items")
                writer.object { $0.json.member("$ref", "#/$defs/\(task.name)") }
            }
        }
    }

    mutating func strings(_ name: StaticString, _ values: [String]) {
        json.key(name)
        json.beginArray()
        for value in values { json.string(value) }
        json.endArray()
    }
}
