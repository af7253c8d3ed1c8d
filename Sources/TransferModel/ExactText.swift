/// A text that is equal only to one of the same bytes. Swift takes an `é` of one scalar and one of two for the same;
/// for a folder, for a server's validators and in a secret they are not.
package struct ExactText: Hashable, Comparable, Sendable, ExpressibleByStringLiteral {
    /// The text itself.
    package let text: String

    package init(_ text: String) { self.text = text }
    package init(stringLiteral value: String) { text = value }

    /// Compares bytes.
    package static func == (left: ExactText, right: ExactText) -> Bool { left.text.isExactly(right.text) }

    /// Orders by bytes.
    package static func < (left: ExactText, right: ExactText) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    /// Hashes the bytes.
    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // A byte that no UTF-8 has, so that two texts never hash as one longer text.
        hasher.combine(0xFF as UInt8)
    }
}

extension String {
    /// Decides whether both texts have the same bytes.
    package func isExactly(_ other: String) -> Bool {
        let (own, others) = (utf8.span, other.utf8.span)
        guard own.count == others.count else { return false }
        for index in own.indices where own[index] != others[index] { return false }
        return true
    }
}

extension Optional<String> {
    /// Decides whether both are `nil`, or have the same bytes.
    package func isExactly(_ other: String?) -> Bool {
        switch (self, other) {
        case (nil, nil): true
        case (let own?, let other?): own.isExactly(other)
        default: false
        }
    }
}
