/// Resolves merge keys (`<<`) when their mapping ends: the mappings they name precede them in the file, so these are
/// complete and their own merges are flat already.
extension YAMLTree {
    /// Returns the mapping's own entries in the order of the file, then the merged ones in order; an earlier entry
    /// wins.
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

    /// The mappings that a merge key names: one, or a list of them.
    private func mergeSources(_ value: NodeID, notMappings: inout [NodeID]) -> [NodeID] {
        let candidates = kind(value) == .sequence ? Array(children(value)) : [value]
        notMappings += candidates.filter { kind($0) != .mapping }
        return candidates.filter { kind($0) == .mapping }
    }
}
