// Errors of captured values that cannot stand where a task puts them.

extension TransferError {
    /// Part of the message about a value that would make a host's name longer.
    static let afterHostWords = " right after the host "
    /// Part of the message about a value that would end the part of the URL in which it stands.
    static let otherPartWords = " another part to the URL"
    private static let valueWords = ": its value is "

    /// Returns the error of a value that cannot stand in its place: `problem`, and the value unless it is secret.
    static func unplaced(_ problem: String, _ value: CapturedValue) -> TransferError {
        let shown = value.isSecret ? "`***`" : ForeignText.quoted(value.text)
        return TransferError(.captureUnusable, problem + valueWords + shown)
    }

    /// The value that such a message shows; empty where it shows none.
    var placedValue: Substring { message.firstRange(of: Self.valueWords).map { message[$0.upperBound...] } ?? "" }

    /// Returns such a message without the value and the number of its row, in which the tasks of one template differ.
    static func withoutRow(_ message: String) -> String {
        let end = message.firstRange(of: valueWords)?.lowerBound ?? message.endIndex
        var text = ""
        var isNumber = false
        for character in message[..<end] {
            let isDigit = character.isASCII && character.isNumber
            if !isDigit { text.append(character) } else if !isNumber { text.append("…") }
            isNumber = isDigit
        }
        return text
    }
}
