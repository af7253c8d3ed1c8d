package import Diagnostics

/// A YAML document as a located tree: one flat array of nodes in the order of the file, and one heap for the text of
/// all scalars. Values of YAML 1.2's core schema; aliases are followed and merge keys applied while walking.
package struct YAMLTree: Sendable {
    /// A node of this tree, as written: an alias has an id and a place of its own.
    package struct NodeID: Hashable, Sendable {
        package let raw: UInt32
        package init(raw: UInt32) { self.raw = raw }
    }

    package enum Kind: UInt8, Sendable {
        case scalar, sequence, mapping
    }

    package struct Limits: Sendable {
        package var bytes: Int
        package var depth: Int
        /// Nodes counted with each alias in full: lets a million tasks that share their defaults through and stops an
        /// alias bomb.
        package var expandedNodes: Int

        package init(bytes: Int = 64 << 20, depth: Int = 64, expandedNodes: Int = 32_000_000) {
            self.bytes = bytes
            self.depth = depth
            self.expandedNodes = expandedNodes
        }

        package static let standard = Limits()
    }

    package let source: SourceText
    /// nil: the document is empty.
    package internal(set) var root: NodeID?
    var nodes: [NodeRecord] = []
    var heap: [UInt8] = []
    /// The few nodes with a tag, by their number.
    var tags: [UInt32: String] = [:]
    /// The entries of each mapping that has a merge key, with what it merges.
    var mergedEntries: [[Entry]] = []

    init(source: SourceText) { self.source = source }

    /// Reads one document. Everything that is wrong but lets the parse go on (duplicate keys, unknown anchors and tags)
    /// is collected beside a tree; nil when it does not parse or goes over a limit.
    package static func parse(
        _ source: SourceText, limits: Limits = .standard, into diagnostics: inout DiagnosticList
    ) -> YAMLTree? {
        EventReader.read(source, limits: limits, into: &diagnostics)
    }

    package func kind(_ id: NodeID) -> Kind {
        switch record(id).form {
        case .sequence: .sequence
        case .mapping: .mapping
        case .scalar, .alias: .scalar
        }
    }

    /// Where the node is written; of an alias, the alias.
    package func span(_ id: NodeID) -> SourceSpan { nodes[Int(id.raw)].span }

    /// Unquoted and untagged: a scalar that may be null, a boolean or a number.
    package func isPlain(_ id: NodeID) -> Bool { record(id).isPlain }

    /// As YAML resolves it: `!!str` is `tag:yaml.org,2002:str`. nil where none is written.
    package func tag(_ id: NodeID) -> String? { tags[resolved(id)] }

    /// A scalar's value; empty for a sequence or a mapping.
    package func text(_ id: NodeID) -> String {
        let node = record(id)
        return node.form == .scalar ? String(decoding: heap[node.textRange], as: UTF8.self) : ""
    }

    /// A scalar's value without a copy.
    package func withUTF8<R>(_ id: NodeID, _ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
        let node = record(id)
        let range = node.form == .scalar ? node.textRange : 0..<0
        return unsafe heap.withUnsafeBufferPointer { unsafe body(UnsafeBufferPointer(rebasing: $0[range])) }
    }

    /// Is the scalar's value this word?
    package func text(_ id: NodeID, is word: StaticString) -> Bool {
        unsafe withUTF8(id) { text in
            word.withUTF8Buffer { word in
                unsafe text.count == word.count && text.elementsEqual(word)
            }
        }
    }

    /// Elements of a sequence, entries of a mapping (merged ones included), 0 of a scalar.
    package func count(_ id: NodeID) -> Int {
        let node = record(id)
        switch node.form {
        case .sequence: return Int(node.size)
        case .mapping: return node.isMerging ? mergedEntries[Int(node.value)].count : Int(node.size)
        case .scalar, .alias: return 0
        }
    }

    /// The number of the node that an alias stands for, else its own.
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
