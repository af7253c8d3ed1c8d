import Diagnostics

/// One node in 32 bytes. Children follow their parent at once, so `next` is all it takes to walk.
struct NodeRecord: Hashable, Sendable {
    enum Form: UInt8 {
        case scalar, sequence, mapping, alias
    }

    var span: SourceSpan
    /// The number of the first node that is not inside this one.
    var next: UInt32
    /// Scalar: where its text starts in the heap. Alias: the node it stands for (never an alias itself). Mapping with
    /// a merge key: which list of merged entries is its own.
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
