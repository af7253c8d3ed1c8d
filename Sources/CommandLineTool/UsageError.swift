internal import Diagnostics
import TransferModel

/// A wrong command line: the message goes to standard error, and the process ends with 2.
package struct UsageError: Error, Hashable, Sendable {
    /// What is wrong, in one line.
    package let message: String
    /// What to do instead; `nil` without a suggestion.
    package let hint: String?
    /// Text to print below the message, if any.
    package let page: String?

    package init(_ message: String, hint: String? = nil, page: String? = nil) {
        self.message = message
        self.hint = hint
        self.page = page
    }

    /// The printed text.
    package var text: String {
        "error: \(message)\n" + (hint.map { "  hint: \($0)\n" } ?? "") + (page.map { "\n\($0)" } ?? "")
    }

    static func notBuilt(_ what: String) -> UsageError {
        UsageError("\(what) is not built yet", hint: "`transfer-run help` lists what this version can do")
    }
}

/// Why a command that controls or follows a run fails.
enum CommandTrouble: Error {
    case wrong(UsageError)
    case broken(String)

    /// The printed text.
    var text: String {
        switch self {
        case .wrong(let error): error.text
        case .broken(let why): "error: \(why)\n"
        }
    }
    var status: ExitStatus { if case .wrong = self { .invalidInput } else { .runnerFailed } }
}

extension UsageError {
    static func unknownCommand(_ word: String) -> UsageError {
        let names = CommandName.allCases.map { $0.rawValue }
        let hint =
            Spelling.closest(to: word, among: names).map { "did you mean `\($0)`?" }
            ?? "`transfer-run help` lists the commands"
        return UsageError("there is no command `\(word)`", hint: hint)
    }
}
