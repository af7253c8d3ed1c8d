/// Finds every occurrence of many patterns in one pass over the bytes (Aho and Corasick's automaton).
///
/// Edges are lists of siblings, not tables of 256: a few long secrets in all their encodings stay small, and all
/// but the first steps of a pattern have one edge.
struct SecretMatcher: Sendable {
    /// A pattern, and whether the match includes a neighbouring character: a character of base64 that holds bits of the
    /// secret and bits of its neighbour.
    struct Pattern: Hashable, Sendable {
        var bytes: [UInt8]
        var blursStart = false
        var blursEnd = false
    }

    private struct Node: Sendable {
        var firstChild: Int32 = 0
        var sibling: Int32 = 0
        var failure: Int32 = 0
        /// Length of the longest pattern that ends here, including its blurred start; 0 when none does.
        var matched: Int32 = 0
        var blursEnd = false
        var byte: UInt8 = 0
    }

    private var nodes: [Node] = [Node()]
    /// The root's edges, by byte, in a table: nearly all bytes of a text are looked up here.
    private var starts = [Int32](repeating: 0, count: 256)

    init(_ patterns: some Sequence<Pattern>) {
        for pattern in patterns where !pattern.bytes.isEmpty { insert(pattern) }
        link()
    }

    var isEmpty: Bool { nodes.count == 1 }

    private mutating func insert(_ pattern: Pattern) {
        var state: Int32 = 0
        for byte in pattern.bytes {
            let known = edge(state, byte)
            state = known == 0 ? addNode(byte, under: state) : known
        }
        let length = Int32(pattern.bytes.count) + (pattern.blursStart ? 1 : 0)
        nodes[Int(state)].matched = max(nodes[Int(state)].matched, length)
        nodes[Int(state)].blursEnd = nodes[Int(state)].blursEnd || pattern.blursEnd
    }

    private mutating func addNode(_ byte: UInt8, under parent: Int32) -> Int32 {
        let index = Int32(nodes.count)
        var node = Node()
        node.byte = byte
        if parent == 0 {
            starts[Int(byte)] = index
        } else {
            node.sibling = nodes[Int(parent)].firstChild
            nodes[Int(parent)].firstChild = index
        }
        nodes.append(node)
        return index
    }

    /// Returns the state after `byte`, following one pattern from its beginning; 0 when there is none.
    func edge(_ state: Int32, _ byte: UInt8) -> Int32 {
        if state == 0 { return starts[Int(byte)] }
        var child = nodes[Int(state)].firstChild
        while child != 0, nodes[Int(child)].byte != byte { child = nodes[Int(child)].sibling }
        return child
    }

    /// Decides whether a pattern ends in this state.
    func isEnd(_ state: Int32) -> Bool { nodes[Int(state)].matched > 0 }

    /// Links the nodes level by level, so that a node's failure edge is complete before it is followed.
    private mutating func link() {
        var queue = starts.filter { $0 != 0 }
        var next = 0
        while next < queue.count {
            let state = queue[next]
            next += 1
            var child = nodes[Int(state)].firstChild
            while child != 0 {
                linkChild(child, of: state)
                queue.append(child)
                child = nodes[Int(child)].sibling
            }
        }
    }

    private mutating func linkChild(_ child: Int32, of state: Int32) {
        let failure = step(from: nodes[Int(state)].failure, nodes[Int(child)].byte)
        nodes[Int(child)].failure = failure
        let inherited = nodes[Int(failure)]
        nodes[Int(child)].matched = max(nodes[Int(child)].matched, inherited.matched)
        nodes[Int(child)].blursEnd = nodes[Int(child)].blursEnd || inherited.blursEnd
    }

    private func step(from start: Int32, _ byte: UInt8) -> Int32 {
        var state = start
        while true {
            let next = edge(state, byte)
            if next != 0 || state == 0 { return next }
            state = nodes[Int(state)].failure
        }
    }

    /// Returns the ranges to hide, by their ends; overlapping ones are merged.
    func matches(in text: Span<UInt8>) -> [Range<Int>] {
        var found: [Range<Int>] = []
        var state: Int32 = 0
        for index in text.indices {
            state = state == 0 ? starts[Int(text[index])] : step(from: state, text[index])
            let node = nodes[Int(state)]
            guard node.matched > 0 else { continue }
            let start = max(0, index + 1 - Int(node.matched))
            let end = min(text.count, index + 1 + (node.blursEnd ? 1 : 0))
            Self.add(start..<end, to: &found)
        }
        return found
    }

    /// Appends a range, merged with those before it that it touches.
    private static func add(_ range: Range<Int>, to found: inout [Range<Int>]) {
        var merged = range
        while let last = found.last, last.upperBound >= merged.lowerBound {
            merged = min(last.lowerBound, merged.lowerBound)..<max(last.upperBound, merged.upperBound)
            found.removeLast()
        }
        found.append(merged)
    }
}
