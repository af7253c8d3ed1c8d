/// Checks of a mapping's keys as written, made once when the mapping ends.
extension YAMLTree {
    /// Keys that are sequences or mappings themselves: legal YAML, but no name can be compared with them.
    func collectionKeys(of mapping: Int) -> [NodeID] {
        var found: [NodeID] = []
        forEachKey(of: mapping) { key in
            let id = NodeID(raw: UInt32(key))
            if kind(id) != .scalar { found.append(id) }
        }
        return found
    }

    /// Each repeated key, with the first occurrence of its text. Keys are the same when their text is: `1` and `"1"`
    /// too.
    func duplicateKeys(of mapping: Int) -> [(first: NodeID, second: NodeID)] {
        let count = Int(nodes[mapping].size)
        if count < 2 { return [] }
        return count <= 12 ? fewDuplicates(of: mapping) : manyDuplicates(of: mapping, count: count)
    }

    @inline(__always)
    private func forEachKey(of mapping: Int, _ body: (Int) -> Void) {
        var key = mapping + 1
        let end = Int(nodes[mapping].next)
        while key < end {
            body(key)
            key = Int(nodes[Int(nodes[key].next)].next)
        }
    }

    /// Compares every pair: for the few keys of almost every mapping nothing is quicker, and nothing is allocated.
    private func fewDuplicates(of mapping: Int) -> [(first: NodeID, second: NodeID)] {
        var found: [(first: NodeID, second: NodeID)] = []
        forEachKey(of: mapping) { second in
            var first = mapping + 1
            while first < second {
                if haveSameText(first, second) {
                    found.append((NodeID(raw: UInt32(first)), NodeID(raw: UInt32(second))))
                    break
                }
                first = Int(nodes[Int(nodes[first].next)].next)
            }
        }
        return found
    }

    /// Sorts the keys by text, so that a hostile file cannot cause quadratic time as it could with a hash table.
    private func manyDuplicates(of mapping: Int, count: Int) -> [(first: NodeID, second: NodeID)] {
        var keys: [Int] = []
        keys.reserveCapacity(count)
        forEachKey(of: mapping) { keys.append($0) }
        keys.sort { left, right in
            let order = compareText(left, right)
            return order == 0 ? left < right : order < 0
        }
        var found: [(first: NodeID, second: NodeID)] = []
        var first = 0
        for index in keys.indices.dropFirst() {
            if haveSameText(keys[first], keys[index]) {
                found.append((NodeID(raw: UInt32(keys[first])), NodeID(raw: UInt32(keys[index]))))
            } else {
                first = index
            }
        }
        return found.sorted { $0.second.raw < $1.second.raw }
    }

    private func haveSameText(_ left: Int, _ right: Int) -> Bool {
        let (left, right) = (record(NodeID(raw: UInt32(left))), record(NodeID(raw: UInt32(right))))
        guard left.form == .scalar, right.form == .scalar, left.size == right.size else { return false }
        return heap[left.textRange].elementsEqual(heap[right.textRange])
    }

    /// Orders by length, then by bytes; a key that is no scalar has no text and comes first.
    private func compareText(_ left: Int, _ right: Int) -> Int {
        let (left, right) = (record(NodeID(raw: UInt32(left))), record(NodeID(raw: UInt32(right))))
        let (leftSize, rightSize) = (left.form == .scalar ? left.size : 0, right.form == .scalar ? right.size : 0)
        if leftSize != rightSize { return leftSize < rightSize ? -1 : 1 }
        if left.form != right.form { return left.form == .scalar ? 1 : -1 }
        if left.form != .scalar { return 0 }
        if heap[left.textRange].elementsEqual(heap[right.textRange]) { return 0 }
        return heap[left.textRange].lexicographicallyPrecedes(heap[right.textRange]) ? -1 : 1
    }
}
