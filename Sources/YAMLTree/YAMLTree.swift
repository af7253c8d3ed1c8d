package import Diagnostics

/// A YAML document as a located tree: one flat array of nodes in the order of the file, and one heap for the text of
/// all scalars. Values of YAML 1.2's core schema; aliases are followed and merge keys applied while walking.
package struct YAMLTree: Sendable {
    /// A node of this tree, as written: an alias has an id and a span of its own.
    package struct NodeID: Hashable, Sendable {
        /// Index of the node in the tree's array.
        package let raw: UInt32
        package init(raw: UInt32) { self.raw = raw }
    }

    /// The kinds of nodes, after aliases are followed.
    package enum Kind: UInt8, Sendable {
        case scalar, sequence, mapping
    }

    /// Bounds of the documents that are accepted.
    package struct Limits: Sendable {
        /// Length of the file in bytes.
        package var bytes: Int
        /// Depth to which collections may be nested.
        package var depth: Int
        /// Nodes, with each alias counted in full: accepts a million tasks that share their defaults and stops an alias
        /// bomb.
        package var expandedNodes: Int

        package init(bytes: Int = 64 << 20, depth: Int = 64, expandedNodes: Int = 32_000_000) {
            self.bytes = bytes
            self.depth = depth
            self.expandedNodes = expandedNodes
        }

        /// The bounds for job files: 64 MiB, depth 64, 32 million nodes.
        package static let standard = Limits()
    }

    /// Text that the tree was read from.
    package let source: SourceText
    /// The document's node; `nil` when the document is empty.
    package internal(set) var root: NodeID?
    var nodes: [NodeRecord] = []
    var heap: [UInt8] = []
    /// Tags of the few nodes that have one, by index.
    var tags: [UInt32: String] = [:]
    /// The entries of each mapping that has a merge key, merged ones included.
    var mergedEntries: [[Entry]] = []

    init(source: SourceText) { self.source = source }

    /// Reads one document. Problems that let the parse continue (duplicate keys, unknown anchors and tags) are added to
    /// `diagnostics` beside a tree; `nil` when the text does not parse or exceeds a limit.
    package static func parse(
        _ source: SourceText, limits: Limits = .standard, into diagnostics: inout DiagnosticList
    ) -> YAMLTree? {
        EventReader.read(source, limits: limits, into: &diagnostics)
    }

    /// The kind of a node; an alias has the kind of its target.
    package func kind(_ id: NodeID) -> Kind {
        switch record(id).form {
        case .sequence: .sequence
        case .mapping: .mapping
        case .scalar, .alias: .scalar
        }
    }

    /// Where the node is written; for an alias, the alias.
    package func span(_ id: NodeID) -> SourceSpan { nodes[Int(id.raw)].span }

    /// Whether a scalar is unquoted and untagged, so that it may be null, a boolean or a number.
    package func isPlain(_ id: NodeID) -> Bool { record(id).isPlain }

    /// The node's tag as YAML resolves it: `!!str` is `tag:yaml.org,2002:str`. `nil` where none is written.
    package func tag(_ id: NodeID) -> String? { tags[resolved(id)] }

    /// A scalar's value; empty for a sequence or a mapping.
    package func text(_ id: NodeID) -> String {
        let node = record(id)
        return node.form == .scalar ? String(decoding: heap[node.textRange], as: UTF8.self) : ""
    }

    /// Calls `body` with a scalar's value without a copy.
    package func withUTF8<R>(_ id: NodeID, _ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
        let node = record(id)
        let range = node.form == .scalar ? node.textRange : 0..<0
        return unsafe heap.withUnsafeBufferPointer { unsafe body(UnsafeBufferPointer(rebasing: $0[range])) }
    }

    /// Whether the scalar's value is this word.
    package func text(_ id: NodeID, is word: StaticString) -> Bool {
        unsafe withUTF8(id) { text in
            word.withUTF8Buffer { word in
                unsafe text.count == word.count && text.elementsEqual(word)
            }
        }
    }

    /// Elements of a sequence, entries of a mapping (merged ones included), 0 for a scalar.
    package func count(_ id: NodeID) -> Int {
        let node = record(id)
        switch node.form {
        case .sequence: return Int(node.size)
        case .mapping: return node.isMerging ? mergedEntries[Int(node.value)].count : Int(node.size)
        case .scalar, .alias: return 0
        }
    }

    /// Index of the node that an alias stands for, else its own.
    func resolved(_ id: NodeID) -> UInt32 {
        let node = nodes[Int(id.raw)]
        return node.form == .alias ? node.value : id.raw
    }

    @inline(__always)
    func record(_ id: NodeID) -> NodeRecord {
        let node = nodes[Int(id.raw)]
        return node.form == .alias ? nodes[Int(node.value)] : node
    }
}
