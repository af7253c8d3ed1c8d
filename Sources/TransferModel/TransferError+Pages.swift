// Failures of the second and later pages of a task with `next`: their URLs do not stand in the job.

extension TransferError {
    /// Returns the error of a page after the first, which says which page it was and where its URL came from.
    package func ofPage(_ number: Int, _ task: String, _ next: NextPage) -> TransferError {
        var error = self
        let source =
            switch next.way {
            case .url: "whose URL page \(number - 1) named"
            case .cursor(_, let parameter): "whose `\(parameter)` page \(number - 1) named"
            case .count(let count): "whose `\(count.parameter)`\(Self.countedWords)"
            }
        error.message += "\(Self.pageWords)\(number) of `\(task)`, \(source)"
        return error
    }

    private static let pageWords = "; it was page "
    private static let countedWords = " was counted by `next`"

    /// The message without the note about its page, and that page's number; `nil` without such a note.
    private var pageNote: (message: String, number: Int)? {
        guard let note = message.ranges(of: Self.pageWords).last,
            let number = Int(message[note.upperBound...].prefix { $0.isASCII && $0.isNumber })
        else { return nil }
        return (String(message[..<note.lowerBound]), number)
    }

    /// Returns the message without the note about a page.
    static func withoutPage(_ message: String) -> String {
        TransferError(.unknown, message).pageNote?.message ?? message
    }

    /// What helps against the failure of a page after the first, whose URL does not stand in the job; `nil` for any other
    /// error. `advice` gives what helps against the error without the note about the page.
    func pageAdvice(_ advice: (TransferError) -> String) -> String? {
        guard let (bare, number) = pageNote else { return nil }
        var error = self
        error.message = bare
        guard error.isOfURL else { return advice(error) }
        return message.hasSuffix(Self.countedWords)
            ? "Correct `next`: its `until` did not end with page \(number - 1)."
            : "See what page \(number - 1) named as the next one, and `next` in the job."
    }
}
