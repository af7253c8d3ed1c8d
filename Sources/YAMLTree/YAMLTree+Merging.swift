/// Merge keys (`<<`), resolved when their mapping ends: what they name stands before them in the file, so it is
/// complete and its own merges are flat already.
extension YAMLTree {
    /// Own entries in the order of the file, then what is merged, in order; an earlier entry wins.
    func mergeKeys(of mapping: Int) -> (entries: [Entry], notMappings: [NodeID]) {
        var entries: [Entry] = []
        var merged: [NodeID] = []
        for (key, value) in Entries(nodes: nodes, number: UInt32(mapping + 1), end: nodes[mapping].next, merged: []) {
            if isMergeKey(key) { merged.append(value) } else { entries.append((key, value)) }
        }
        var notMappings: [NodeID] = []
        let sources = merged.flatMap { mergeSources($0, notMappings: &notMappings) }
        var names = Set(entries.map { text($0.key) })
        for source in sources {
            for entry in self.entries(source) where names.insert(text(entry.key)).inserted {
                entries.append(entry)
            }
        }
        return (entries, notMappings)
    }

    private func isMergeKey(_ key: NodeID) -> Bool {
        let node = nodes[Int(key.raw)]
        return node.form == .scalar && node.isPlain && node.size == 2 && text(key, is: "<<")
    }

    /// A mapping, or a list of mappings.
    private func mergeSources(_ value: NodeID, notMappings: inout [NodeID]) -> [NodeID] {
        let candidates = kind(value) == .sequence ? Array(children(value)) : [value]
        notMappings += candidates.filter { kind($0) != .mapping }
        return candidates.filter { kind($0) == .mapping }
    }
}
