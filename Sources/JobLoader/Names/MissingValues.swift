import TransferModel

/// What a load does about a secret or an environment variable that has no value.
package enum MissingValues: Sendable {
    /// It is an error: nothing can be run without the value.
    case refused
    /// It is a warning: the job is only looked at, on a machine that need not hold its secrets.
    case tolerated
}

/// The text that takes the place of a missing value, so that everything around it can still be checked.
enum MissingValue {
    /// Fits a header, a body, a host name and a URL's path and query.
    static let placeholder = "value-missing-in-this-check"

    /// Whether a text was made with the placeholder: what is wrong with the text may then be the placeholder's fault.
    static func stands(in text: String) -> Bool {
        let (text, placeholder) = (Array(text.utf8), Array(placeholder.utf8))
        guard text.count >= placeholder.count else { return false }
        return (0...(text.count - placeholder.count)).contains {
            text[$0..<($0 + placeholder.count)].elementsEqual(placeholder)
        }
    }
}
