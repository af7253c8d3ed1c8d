import Diagnostics

/// Builds the tree from a document's events in order; independent of libyaml.
struct TreeBuilder {
    private(set) var tree: YAMLTree
    private let limits: YAMLTree.Limits
    private var problems: ProblemCollector
    private var open: [Frame] = []
    private var anchors: [String: Anchor] = [:]
    /// Indices of aliases that were already reported as unresolved.
    private var brokenAliases: Set<UInt32> = []
    /// Nodes so far, with each alias counted in full.
    private var expandedNodes = 0
    /// End of the last node, where the collections around it end in block style.
    private var lastEnd: (line: Int32, column: Int32) = (1, 1)

    private struct Frame {
        let number: Int
        let isFlow: Bool
        var children: UInt32 = 0
        var isMerging = false
        let anchor: String?
        let expandedBefore: Int
    }

    private struct Anchor {
        let number: UInt32
        /// `nil` while the anchored collection is still open: an alias to it would contain itself.
        var expandedNodes: Int?
    }

    init(source: SourceText, limits: YAMLTree.Limits, problems: ProblemCollector) {
        tree = YAMLTree(source: source)
        self.limits = limits
        self.problems = problems
        // About what a file of flow mappings needs; memory that is never touched costs nothing.
        tree.nodes.reserveCapacity(source.bytes.count / 10 + 16)
        tree.heap.reserveCapacity(source.bytes.count)
    }

    /// Ends the building and hands over what it found.
    consuming func finish() -> (tree: YAMLTree, problems: ProblemCollector) {
        let source = tree.source
        if source.bytes.last.map({ $0 != UInt8(ascii: "\n") }) ?? false {
            let lines = source.lineCount
            for index in tree.nodes.indices where tree.nodes[index].span.endLine > lines {
                tree.nodes[index].span = tree.nodes[index].span.clamped(to: source)
            }
        }
        if let root = tree.root, tree.isPlain(root), tree.nodes[0].size == 0 { tree.root = nil }
        return (tree, problems)
    }

    var isOverLimit: Bool { problems.isFatal }

    mutating func fail(_ code: String, _ message: String, hint: String?, at span: SourceSpan?) {
        problems.fatal(code, message, hint: hint, at: span)
    }

    // MARK: Events

    mutating func scalar(
        _ text: UnsafeBufferPointer<UInt8>, span: SourceSpan, isPlain: Bool, anchor: String?, tag: String?
    ) {
        let number = tree.nodes.count
        var node = NodeRecord(.scalar, span: span, number: number)
        node.isPlain = isPlain
        node.value = UInt32(tree.heap.count)
        node.size = UInt32(text.count)
        unsafe tree.heap.append(contentsOf: text)
        if isPlain, text.count == 2, !open.isEmpty, unsafe text[0] == 0x3C && text[1] == 0x3C { noteMergeKey() }
        add(node, anchor: anchor, tag: tag)
        if let anchor { anchors[anchor] = Anchor(number: UInt32(number), expandedNodes: 1) }
    }

    mutating func alias(_ name: String, span: SourceSpan) {
        let number = tree.nodes.count
        var node = NodeRecord(.alias, span: span, number: number)
        if let anchor = anchors[name], let size = anchor.expandedNodes {
            node.value = anchor.number
            expandedNodes += size - 1
        } else {
            problems.badAlias(name, at: span, isOpen: anchors[name] != nil, known: Array(anchors.keys))
            node.form = .scalar
            node.isPlain = true
            brokenAliases.insert(UInt32(number))
        }
        add(node, anchor: nil, tag: nil)
    }

    mutating func begin(
        _ form: NodeRecord.Form, isFlow: Bool, span: SourceSpan, anchor: String?, tag: String?
    ) {
        let number = tree.nodes.count
        let before = expandedNodes
        add(NodeRecord(form, span: span, number: number), anchor: anchor, tag: tag)
        if let anchor { anchors[anchor] = Anchor(number: UInt32(number), expandedNodes: nil) }
        open.append(Frame(number: number, isFlow: isFlow, anchor: anchor, expandedBefore: before))
        if open.count > limits.depth { problems.tooDeep(limits.depth, at: span) }
    }

    /// Ends a collection. `end` counts for flow style only: in block style libyaml reports an end past blank lines and
    /// comments.
    mutating func endCollection(at end: (line: Int32, column: Int32)) {
        guard let frame = open.popLast() else { return }
        let isMapping = tree.nodes[frame.number].form == .mapping
        tree.nodes[frame.number].next = UInt32(tree.nodes.count)
        tree.nodes[frame.number].size = isMapping ? frame.children / 2 : frame.children
        if frame.isFlow { lastEnd = end }
        tree.nodes[frame.number].span.endLine = lastEnd.line
        tree.nodes[frame.number].span.endColumn = lastEnd.column
        if isMapping {
            checkKeys(of: frame.number)
            if frame.isMerging { applyMerge(to: frame.number) }
        }
        if let anchor = frame.anchor {
            anchors[anchor] = Anchor(number: UInt32(frame.number), expandedNodes: expandedNodes - frame.expandedBefore)
        }
    }

    // MARK: Pieces

    private var isAtKey: Bool {
        guard let frame = open.last, tree.nodes[frame.number].form == .mapping else { return false }
        return frame.children % 2 == 0
    }

    private mutating func noteMergeKey() {
        if isAtKey { open[open.count - 1].isMerging = true }
    }

    @inline(__always)
    private mutating func add(_ node: NodeRecord, anchor: String?, tag: String?) {
        if let tag { addTag(tag, of: node) }
        if open.isEmpty {
            tree.root = YAMLTree.NodeID(raw: UInt32(tree.nodes.count))
        } else {
            open[open.count - 1].children += 1
        }
        tree.nodes.append(node)
        lastEnd = (node.span.endLine, node.span.endColumn)
        expandedNodes += 1
        if expandedNodes > limits.expandedNodes { problems.tooManyNodes(limits.expandedNodes, at: node.span) }
    }

    private mutating func addTag(_ tag: String, of node: NodeRecord) {
        tree.tags[UInt32(tree.nodes.count)] = tag
        let text = node.form == .scalar ? Array(tree.heap[node.textRange]) : []
        problems.checkTag(tag, form: node.form, text: text, at: node.span)
    }

    private mutating func checkKeys(of mapping: Int) {
        for id in tree.collectionKeys(of: mapping) { problems.keyNotScalar(at: tree.span(id)) }
        for (first, second) in tree.duplicateKeys(of: mapping) {
            problems.duplicateKey(tree.text(second), at: tree.span(second), first: tree.span(first))
        }
    }

    private mutating func applyMerge(to mapping: Int) {
        let (entries, notMappings) = tree.mergeKeys(of: mapping)
        for id in notMappings where !brokenAliases.contains(id.raw) { problems.mergeNotMapping(at: tree.span(id)) }
        tree.nodes[mapping].value = UInt32(tree.mergedEntries.count)
        tree.nodes[mapping].isMerging = true
        tree.mergedEntries.append(entries)
    }
}
