internal import Diagnostics
import TransferModel

/// A wrong command line: the message goes to standard error, and the process ends with 2.
package struct UsageError: Error, Hashable, Sendable {
    /// What is wrong, in one line.
    package let message: String
    /// What to do instead; `nil` without a suggestion.
    package let hint: String?
    /// Lines to print below the message; empty for none.
    private let usage: String

    package init(_ message: String, hint: String? = nil) {
        self.message = message
        self.hint = hint
        usage = ""
    }

    private init(_ message: String, usage: String) {
        self.message = message
        hint = nil
        self.usage = usage
    }

    /// The error of a file that the command line names: its diagnostics, as they are printed.
    init(_ message: String, diagnostics: String) { self.init(message, usage: diagnostics) }

    /// The error of a command line without a word.
    static let noJob = UsageError(
        "no job file is named",
        usage: """
              usage: transfer-run JOB…
              `transfer-run --help` lists the commands, `transfer-run init URL` writes a first job file

            """)

    /// The printed text.
    package var text: String {
        "error: \(message)\n" + (hint.map { "  hint: \($0)\n" } ?? "") + usage
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
