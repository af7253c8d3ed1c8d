/// Searches bodies for one text in time linear in the body (Knuth, Morris and Pratt): `Collection`'s own search takes
/// seconds for 16 MiB.
struct TextSearch: Sendable {
    private let needle: [UInt8]
    /// For each matched length, the length that still matches when the next byte does not.
    private let fallback: [Int]

    init(_ needle: [UInt8]) {
        self.needle = needle
        var fallback = [0]
        var fitting = 0
        for byte in needle.dropFirst() {
            while fitting > 0, needle[fitting] != byte { fitting = fallback[fitting - 1] }
            if needle[fitting] == byte { fitting += 1 }
            fallback.append(fitting)
        }
        self.fallback = fallback
    }

    func finds(in text: [UInt8]) -> Bool {
        guard let first = needle.first else { return true }
        let text = text.span
        let (needle, fallback) = (needle.span, fallback.span)
        var fitting = 0
        for index in text.indices {
            let byte = text[index]
            if fitting == 0 {
                if byte != first { continue }
            } else {
                while fitting > 0, needle[fitting] != byte { fitting = fallback[fitting - 1] }
            }
            if needle[fitting] == byte { fitting += 1 }
            if fitting == needle.count { return true }
        }
        return false
    }
}
