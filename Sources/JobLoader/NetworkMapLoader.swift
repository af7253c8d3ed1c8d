package import Diagnostics
package import TransferModel
import YAMLTree

/// Reads networks.yaml, the operator's description of this machine's networks, with the checks and messages of a job
/// file.
package enum NetworkMapLoader {
    /// Reads the file. `map` is `nil` if there are errors; an empty file describes no network.
    package static func load(_ source: SourceText) -> (map: NetworkMap?, diagnostics: DiagnosticList) {
        var parsed = DiagnosticList()
        guard let reader = Reader(ofNoJob: source, &parsed) else { return (nil, parsed) }
        var draft = Sections.NetworkMapDraft()
        if let root = reader.tree.root, !reader.tree.isNull(root) {
            Sections.networkMap.decode(root, into: &draft, reader)
        }
        let problems = reader.problems.list
        return (problems.hasErrors ? nil : NetworkMap(draft.entries), problems)
    }
}
