package import Diagnostics
package import TransferModel
import YAMLTree

/// Reads networks.yaml, the operator's description of this machine's networks, with the checks and messages of a job
/// file.
package enum NetworkMapLoader {
    /// Reads the file. `map` is `nil` if there are errors; an empty file describes no network.
    package static func load(_ source: SourceText) -> (map: NetworkMap?, diagnostics: DiagnosticList) {
        var parsed = DiagnosticList()
        guard let tree = YAMLTree.parse(source, into: &parsed) else { return (nil, parsed) }
        let resources = Resources.nothing()
        let reader = Reader(
            tree: tree, source: source, resources: resources, baseDirectory: resources.workingDirectory,
            names: NameStore(secrets: SecretStore(resources: resources)))
        reader.problems.append(contentsOf: parsed)
        var draft = Sections.NetworkMapDraft()
        if let root = tree.root, !reader.tree.isNull(root) { Sections.networkMap.decode(root, into: &draft, reader) }
        let problems = reader.problems.list
        return (problems.hasErrors ? nil : NetworkMap(draft.entries), problems)
    }
}
