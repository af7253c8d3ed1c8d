/// How long a body may and must be: of what is written or told, after it was unpacked.
package struct SizeBounds: Hashable, Sendable {
    package var maximum: Int64?
    /// `expect.size`.
    package var exact: Int64?
    /// `expect.minimumSize`.
    package var least: Int64?

    package init(maximum: Int64? = nil, exact: Int64? = nil, least: Int64? = nil) {
        self.maximum = maximum
        self.exact = exact
        self.least = least
    }

    /// Why a body of that length is not the one wanted; `verb` says how the length is known.
    package func misfit(_ length: Int64, verb: String) -> TransferError? {
        if let maximum, length > maximum { return Self.tooLong(maximum) }
        if let exact, length != exact {
            return TransferError(.unexpectedResponse, "expected \(exact) bytes, \(verb) \(length)")
        }
        if let least, length < least {
            return TransferError(.unexpectedResponse, "expected at least \(least) bytes, \(verb) \(length)")
        }
        return nil
    }

    package static func tooLong(_ maximum: Int64) -> TransferError {
        TransferError(.dataLengthExceedsMaximum, "the answer is longer than `maximumSize`, \(maximum) bytes")
    }
}
