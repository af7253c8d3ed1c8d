import TransferModel
import YAMLTree

/// Reads values that stand at the top level of a job and nowhere else.
struct JobKeyReader {
    let reader: Reader

    func version(_ node: NodeID) {
        guard let text = reader.text(node, .integer(1...1)) else { return }
        guard text == "1" else {
            return reader.error(
                "unknown-version", "version `\(Reader.short(text))` of the job language is not known",
                hint: "the only one known is 1", node)
        }
    }

    func report(_ node: NodeID, into plan: inout ReportPlan) {
        if reader.tree.kind(node) == .mapping { return Sections.report.decode(node, into: &plan, reader) }
        if reader.tree.isWord(node, "none") { return plan.json = .none }
        guard reader.tree.kind(node) == .scalar else {
            return reader.wrongType(node, .either([.path, .object("report")]))
        }
        if let path = outputPath(node) { plan.json = .path(path) }
    }

    /// Reads a report's path. It is relative to the working folder and not to the job's, whose folder may not be
    /// writable.
    func outputPath(_ node: NodeID) -> String? {
        guard let text = reader.text(node, .path, place: .path) else { return nil }
        guard !text.isEmpty, !text.utf8.contains(0), text != "-", !text.hasSuffix("/") else {
            let hint = text == "-" ? "standard output is asked for on the command line, as `--report -`" : nil
            return reader.error(
                "invalid-value", "`\(reader.key)` must be a path of a file, not `\(Reader.short(text))`", hint: hint,
                node)
        }
        let path = Paths.absolute(text, in: reader.resources.reportFolder ?? reader.resources.workingDirectory)
        reader.recordFile(.write, path, node)
        return path
    }
}
