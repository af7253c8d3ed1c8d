extension YAMLTree {
    /// An entry of a mapping.
    package typealias Entry = (key: NodeID, value: NodeID)

    /// The elements of a sequence; none for other nodes.
    package func children(_ sequence: NodeID) -> Children {
        let number = resolved(sequence)
        let node = nodes[Int(number)]
        return Children(nodes: nodes, number: number + 1, end: node.form == .sequence ? node.next : number + 1)
    }

    /// The entries of a mapping in the order of the file, then those its merge keys add; none for other nodes.
    package func entries(_ mapping: NodeID) -> Entries {
        let number = resolved(mapping)
        let node = nodes[Int(number)]
        guard node.form == .mapping else { return Entries(nodes: nodes, number: 0, end: 0, merged: []) }
        if node.isMerging { return Entries(nodes: nodes, number: 0, end: 0, merged: mergedEntries[Int(node.value)]) }
        return Entries(nodes: nodes, number: number + 1, end: node.next, merged: [])
    }

    /// Iterates over the elements of a sequence.
    package struct Children: Sequence, IteratorProtocol, Sendable {
        let nodes: [NodeRecord]
        var number: UInt32
        let end: UInt32

        /// The next element, or `nil` at the end.
        package mutating func next() -> NodeID? {
            guard number < end else { return nil }
            defer { number = nodes[Int(number)].next }
            return NodeID(raw: number)
        }
    }

    /// Iterates over the entries of a mapping, merged ones last.
    package struct Entries: Sequence, IteratorProtocol, Sendable {
        let nodes: [NodeRecord]
        var number: UInt32
        let end: UInt32
        let merged: [Entry]
        var mergedIndex = 0

        /// The next entry, or `nil` at the end.
        package mutating func next() -> Entry? {
            guard number < end else { return nextMerged() }
            let value = nodes[Int(number)].next
            defer { number = nodes[Int(value)].next }
            return (NodeID(raw: number), NodeID(raw: value))
        }

        private mutating func nextMerged() -> Entry? {
            guard mergedIndex < merged.count else { return nil }
            defer { mergedIndex += 1 }
            return merged[mergedIndex]
        }
    }
}
