import CPCRE2

/// A regular expression (PCRE2, in UTF-8) that cannot run away: a match that takes too long is an error, not a hang.
///
/// The compiled pattern is never changed after `init`, and PCRE2 lets any number of threads match with it, each with
/// match data of its own; that is why it may be shared although its pointer is not `Sendable`.
package final class Regex: @unchecked Sendable {
    /// Why a pattern cannot be compiled or matched.
    package struct Problem: Error, Equatable, Sendable {
        /// PCRE2's message, or one of this type's own.
        package let message: String
        /// Position of the fault in the pattern, in bytes; `nil` if matching failed and not compiling.
        package let offset: Int?
    }

    /// The expression as it was given.
    package let pattern: String
    private let code: OpaquePointer

    /// Largest amount of work for one match, in PCRE2's units: about a second at worst.
    private static let matchLimit: UInt32 = 2_000_000
    private static let heapLimitInKiB: UInt32 = 32 << 10

    package init(_ pattern: String) throws(Problem) {
        // `\C` could split a character; bytes that are no UTF-8 (a response's body) simply do not match.
        let options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C
        var text = pattern
        var number: Int32 = 0
        var offset = 0
        let code = text.withUTF8 { text -> OpaquePointer? in
            var nothing: UInt8 = 0
            return withUnsafePointer(to: &nothing) { nothing in
                pcre2_compile_8(text.baseAddress ?? nothing, text.count, options, &number, &offset, nil)
            }
        }
        guard let code else { throw Problem(message: Regex.message(number), offset: offset) }
        self.pattern = pattern
        self.code = code
    }

    deinit { pcre2_code_free_8(code) }

    /// Number of capture groups, whether or not they take part in a match.
    package var groupCount: Int {
        var count: UInt32 = 0
        pcre2_pattern_info_8(code, UInt32(PCRE2_INFO_CAPTURECOUNT), &count)
        return Int(count)
    }

    /// Returns the first match and its groups as ranges of bytes (`nil` for a group that took no part), or `nil` if
    /// nothing matches. Throws if the match exceeds a limit: the text might still match.
    package func firstMatch(in bytes: [UInt8]) throws(Problem) -> [Range<Int>?]? {
        guard let data = pcre2_match_data_create_from_pattern_8(code, nil),
            let context = pcre2_match_context_create_8(nil)
        else { throw Problem(message: "there is not enough memory to match", offset: nil) }
        defer {
            pcre2_match_data_free_8(data)
            pcre2_match_context_free_8(context)
        }
        pcre2_set_match_limit_8(context, Regex.matchLimit)
        pcre2_set_heap_limit_8(context, Regex.heapLimitInKiB)
        let count = bytes.withUnsafeBufferPointer { bytes in
            var nothing: UInt8 = 0
            return withUnsafePointer(to: &nothing) { nothing in
                pcre2_match_8(code, bytes.baseAddress ?? nothing, bytes.count, 0, 0, data, context)
            }
        }
        if count == PCRE2_ERROR_NOMATCH { return nil }
        guard count > 0 else { throw Problem(message: Regex.message(count), offset: nil) }
        return groups(data, matched: Int(count))
    }

    private func groups(_ data: OpaquePointer, matched: Int) -> [Range<Int>?] {
        let total = Int(pcre2_get_ovector_count_8(data))
        guard let offsets = pcre2_get_ovector_pointer_8(data) else { return [] }
        return (0..<total).map { group in
            let (start, end) = (offsets[2 * group], offsets[2 * group + 1])
            // Groups past the last that matched, and those PCRE2 marks as unset, took no part. With `\K` in a
            // look-ahead a match can even end before it starts.
            guard group < matched, start >= 0 else { return nil }
            return start <= end ? Int(start)..<Int(end) : Int(end)..<Int(end)
        }
    }

    private static func message(_ number: Int32) -> String {
        let text = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 256) { buffer in
            let length = pcre2_get_error_message_8(number, buffer.baseAddress, buffer.count)
            return length > 0 ? String(decoding: buffer.prefix(Int(length)), as: UTF8.self) : ""
        }
        return text.isEmpty ? "PCRE2 error \(number)" : text
    }
}
