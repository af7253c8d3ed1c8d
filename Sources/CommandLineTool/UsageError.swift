internal import Diagnostics
import TransferModel

/// A command line with which nothing is done: the message goes to standard error, and the process ends with `status`.
package struct UsageError: Error, Hashable, Sendable {
    /// What is wrong, in one line.
    package let message: String
    /// What to do instead; `nil` without a suggestion.
    package let hint: String?
    /// Lines to print below the message; empty for none.
    private let usage: String
    /// The exit status: that of a wrong command line, unless the fault is the machine's.
    let status: ExitStatus

    package init(_ message: String, hint: String? = nil) {
        self.init(message, hint: hint, status: .invalidInput)
    }

    init(_ message: String, hint: String? = nil, status: ExitStatus) {
        self.message = message
        self.hint = hint
        self.status = status
        usage = ""
    }

    private init(_ message: String, usage: String) {
        self.message = message
        hint = nil
        status = .invalidInput
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
    var status: ExitStatus { if case .wrong(let error) = self { error.status } else { .runnerFailed } }
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
