import Diagnostics

/// One node in 32 bytes. Children follow their parent directly, so `next` suffices to walk the tree.
struct NodeRecord: Hashable, Sendable {
    enum Form: UInt8 {
        case scalar, sequence, mapping, alias
    }

    var span: SourceSpan
    /// Index of the first node that is not inside this one.
    var next: UInt32
    /// Scalar: start of its text in the heap. Alias: index of the node it stands for (never an alias itself). Mapping
    /// with a merge key: index of its list of merged entries.
    var value: UInt32
    /// Scalar: bytes of text. Sequence: elements. Mapping: entries as written.
    var size: UInt32
    var form: Form
    var isPlain: Bool
    var isMerging: Bool

    init(_ form: Form, span: SourceSpan, number: Int) {
        self.form = form
        self.span = span
        next = UInt32(number + 1)
        value = 0
        size = 0
        isPlain = false
        isMerging = false
    }

    var textRange: Range<Int> { Int(value)..<Int(value) + Int(size) }
}
