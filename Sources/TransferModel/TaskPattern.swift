/// The id of a task, or a pattern of ids: `*` stands for any run of characters, the empty one included.
package struct TaskPattern: Hashable, Sendable, CustomStringConvertible {
    /// The pattern as it was written.
    package let description: String
    private let bytes: [UInt8]
    private let isExact: Bool

    package init(_ text: String) {
        description = text
        bytes = Array(text.utf8)
        isExact = !bytes.contains(UInt8(ascii: "*"))
    }

    /// Decides whether the pattern matches all of `id`.
    package func matches(_ id: String) -> Bool {
        if isExact { return id.utf8.elementsEqual(bytes) }
        var id = id
        return id.withUTF8 { Self.matches($0[...], bytes[...]) }
    }

    /// Matches without recursion: only the last `*` is ever returned to.
    private static func matches(_ text: Slice<UnsafeBufferPointer<UInt8>>, _ pattern: ArraySlice<UInt8>) -> Bool {
        var text = text
        var pattern = pattern
        var retry: (text: Slice<UnsafeBufferPointer<UInt8>>, pattern: ArraySlice<UInt8>)?
        while true {
            if pattern.first == UInt8(ascii: "*") {
                pattern = pattern.dropFirst()
                retry = (text, pattern)
            } else if let next = pattern.first, next == text.first {
                text = text.dropFirst()
                pattern = pattern.dropFirst()
            } else if text.isEmpty, pattern.isEmpty {
                return true
            } else if let again = retry, !again.text.isEmpty {
                text = again.text.dropFirst()
                pattern = again.pattern
                retry = (text, pattern)
            } else {
                return false
            }
        }
    }
}
