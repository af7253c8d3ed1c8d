import Diagnostics
import TransferModel
import YAMLTree

/// The job's variables and secrets, each evaluated on first use.
final class NameStore {
    private enum State {
        case written(NodeID)
        case known(Value)
        /// Reported at its definition; uses need no report of their own.
        case broken
    }

    private var variables: [String: State] = [:]
    private(set) var variableNames: [String] = []
    let secrets: SecretStore

    init(secrets: SecretStore) { self.secrets = secrets }

    // MARK: Variables

    func define(_ name: String, as node: NodeID) {
        if variables[name] == nil { variableNames.append(name) }
        variables[name] = .written(node)
    }

    func define(_ name: String, as value: Value) {
        if variables[name] == nil { variableNames.append(name) }
        variables[name] = .known(value)
    }

    /// Whether the job has a variable of that name.
    func defines(_ name: String) -> Bool { variables[name] != nil }

    func variable(_ name: String, _ reader: Reader) -> Value? {
        switch variables[name] {
        case .known(let value): return value
        case .written: break
        case .broken, nil: return nil
        }
        let owner = reader.owner
        reader.owner = "`variables`"
        resolve(name, reader)
        reader.owner = owner
        if case .known(let value) = variables[name] { return value }
        return nil
    }

    func isBroken(_ name: Template.Name) -> Bool {
        switch name {
        case .local(let name, nil): if case .broken = variables[name] { true } else { false }
        case .secret(let name): secrets.isBroken(name)
        default: false
        }
    }

    /// Returns the variables that the report shows, in the order of the file.
    func shown() -> [Job.Variable] {
        variableNames.compactMap { name in
            guard case .known(let value) = variables[name], let scalar = value.scalar else { return nil }
            return Job.Variable(name: name, value: Self.shown(scalar))
        }
    }

    private static func shown(_ scalar: ScalarValue) -> PlainValue {
        switch scalar {
        case .null, .unknown: .null
        case .boolean(let value): .boolean(value)
        case .number(let text): .number(text)
        case .text(let text): .string(text.redacted)
        }
    }

    /// Evaluates a variable after those that it uses. Keeps a list of open variables instead of recursing: a chain may
    /// be as long as a file.
    private func resolve(_ name: String, _ reader: Reader) {
        var underWay = [name]
        while let current = underWay.last {
            guard case .written(let node) = variables[current] else {
                underWay.removeLast()
                continue
            }
            let missing = unresolved(in: node, reader)
            guard let next = missing.first else {
                variables[current] = Self.read(node, reader).map { .known($0) } ?? .broken
                underWay.removeLast()
                continue
            }
            if let start = underWay.firstIndex(of: next.name) {
                reportCycle(Array(underWay[start...]) + [next.name], node, next.ordinal, reader)
                for name in underWay { variables[name] = .broken }
                return
            }
            underWay.append(next.name)
        }
    }

    private func unresolved(in node: NodeID, _ reader: Reader) -> [(name: String, ordinal: Int)] {
        guard reader.tree.kind(node) == .scalar, reader.tree.hasDollar(node),
            let template = Interpolation(reader: reader).template(node)
        else { return [] }
        return template.references.compactMap { reference in
            guard case .local(let name, nil) = reference.name, case .written = variables[name] else { return nil }
            return (name, reference.ordinal)
        }
    }

    private func reportCycle(_ names: [String], _ node: NodeID, _ ordinal: Int, _ reader: Reader) {
        let circle = names.count <= 8 ? names : Array(names.prefix(4)) + ["..."] + Array(names.suffix(3))
        reader.error(
            "variable-cycle", "variables are made of each other: \(circle.joined(separator: " -> "))",
            at: reader.referenceSpan(node, ordinal))
    }

    private static func read(_ node: NodeID, _ reader: Reader) -> Value? {
        guard reader.tree.kind(node) == .scalar else {
            return reader.error(
                "wrong-type", "a variable must be text, a number or a boolean, not \(reader.describe(node))",
                at: reader.beginning(node))
        }
        switch reader.scalar(node, .scalar) {
        case .boolean(let value): return .boolean(value)
        case .number(let text): return .number(text)
        case .text(let text): return .text(text)
        case .unknown: return .unknown
        case .null:
            return reader.error("wrong-type", "a variable must be text, a number or a boolean, not nothing", node)
        case nil: return nil
        }
    }
}
