import TransferModel

/// How a load treats a secret or an environment variable that has no value.
package enum MissingValues: Sendable {
    /// A missing value is an error: nothing can be run without it.
    case refused
    /// A missing value is a warning: the job is only checked, on a machine that need not hold its secrets.
    case tolerated
}

/// The text that replaces a missing value, so that everything around it can still be checked.
enum MissingValue {
    /// Valid in a header, a body, a host name and a URL's path and query.
    static let placeholder = "value-missing-in-this-check"

    /// Returns whether a text contains the placeholder: a fault of the text may then come from the placeholder.
    static func stands(in text: String) -> Bool {
        let (text, placeholder) = (Array(text.utf8), Array(placeholder.utf8))
        guard text.count >= placeholder.count else { return false }
        return (0...(text.count - placeholder.count)).contains {
            text[$0..<($0 + placeholder.count)].elementsEqual(placeholder)
        }
    }
}
