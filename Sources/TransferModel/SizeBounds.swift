/// Bounds for the length of a body after unpacking, in bytes; `nil` for none.
package struct SizeBounds: Hashable, Sendable {
    /// The task's `maximumSize`.
    package var maximum: Int64?
    /// The length by `expect.size`.
    package var exact: Int64?
    /// The least length by `expect.minimumSize`.
    package var least: Int64?

    package init(maximum: Int64? = nil, exact: Int64? = nil, least: Int64? = nil) {
        self.maximum = maximum
        self.exact = exact
        self.least = least
    }

    /// Returns why a body of that length is not the one wanted, or `nil` if it is; `verb` says how the length is known.
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

    /// Returns the error of a body that is longer than `maximumSize`.
    package static func tooLong(_ maximum: Int64) -> TransferError {
        TransferError(.dataLengthExceedsMaximum, "the answer is longer than `maximumSize`, \(maximum) bytes")
    }
}
