/// A simple command of a script. Brackets of the shell's grammar, `(`, `)` and `name()`, are commands of their own.
struct ShellCommand: Sendable {
    /// A `>`, `<` or `<<` with its word.
    struct Redirection: Sendable {
        let sign: String
        let word: ShellWord
    }
    var line: Int
    var words: [ShellWord] = []
    var redirections: [Redirection] = []
    /// Text of a here-document.
    var input: ShellWord?
    /// What ends it: `;`, `\n`, `&&`, `||`, `|` or `&`.
    var end = "\n"
    /// The transfers in command substitutions of its words.
    var hidden: [HiddenTransfer] = []
    /// The variables that curl, wget and aria2c obey and that it sets, where it does nothing else.
    var assigned: [(name: String, value: ShellWord, isExported: Bool)] = []
    /// Whether it sets variables and does nothing else.
    var isAssignment = false
    /// What it ends the script for if it is empty, where it is a guard and nothing else.
    var guarded: ScriptGuard?
    /// The file without which it runs.
    var unlessThere: ShellWord?
    /// The files that it verifies.
    var check: ChecksumTest?
    /// The function in whose definition it stands.
    var function: String?
    /// The value that the script takes out of what it prints.
    var answer: AnswerValue?
}

extension ShellCommand {
    /// Words before a command's name that run the same command, such as `time`.
    static let prefixes: Set<String> = ["sudo", "exec", "command", "time", "nohup", "env", "!"]
    /// Words of the shell's grammar after which a command may follow.
    static let grammar: Set<String> = steps.union(openers)
    /// Words of the shell's grammar within a compound command, after which a command may follow.
    static let steps: Set<String> = ["do", "then", "else", "elif", "in"]
    /// Words with which a compound command begins, and after which a command may follow.
    private static let openers: Set<String> = ["if", "while", "until", "{", "!"]
    /// Programs that name a transfer's and do not run them.
    private static let namers: Set<String> = [
        "echo", "printf", "which", "type", "hash", "test", "[", "[[", "apt", "apt-get", "apk", "yum", "dnf", "brew",
        "pacman", "zypper", "snap", "pip", "npm", "man", "grep", "-v", "export", "alias", "for", "select", "case",
    ]

    /// `curl`, `wget` or `aria2c`, where the command runs it, by itself or through another program such as `ssh` or `eval`.
    var transfer: String? {
        if let program = ownTransfer { return program }
        let words = afterPrefixes
        guard let first = words.first else { return nil }
        guard !Self.namers.contains(first.text) else { return nil }
        for word in words.dropFirst() {
            for part in word.text.split(whereSeparator: { " \t\n;&|()`\"'".contains($0) }) {
                if let program = Self.transfer(String(part)) { return program }
            }
        }
        return nil
    }

    /// `curl`, `wget` or `aria2c`, where the command is one of them.
    var ownTransfer: String? { afterPrefixes.first.flatMap { Self.transfer($0.text) } }

    /// Name of the program, or the word of the shell's grammar; empty where only the shell knows it, and without one.
    var programName: String {
        let name = afterPrefixes.first?.text ?? ""
        return name.split(separator: "/").last.map { String($0) } ?? name
    }

    /// Whether a script runs it for its status, or for what it prints.
    var isCheck: Bool {
        let words = afterPrefixes.dropFirst()
        let asks = ["describe", "rev-parse", "log", "status", "diff", "show", "config", "remote", "branch", "tag"]
        return CommandStatus.isTest(programName, words)
            || programName == "git" && words.first.map { asks.contains($0.text) } == true
    }

    private var afterPrefixes: ArraySlice<ShellWord> {
        words.drop { word in
            !word.isQuoted
                && (Self.steps.contains(word.text) || Self.openers.contains(word.text)
                    || Self.prefixes.contains(word.text)
                    || ShellScript.assignment(word) != nil)
        }
    }

    /// `curl`, `wget` or `aria2c`, where a word is it or a path of it.
    private static func transfer(_ word: String) -> String? {
        guard !word.contains(":") else { return nil }
        let name = word.split(separator: "/").last.map { String($0) }
        return name == "curl" || name == "wget" || name == "aria2c" ? name : nil
    }
}

extension ShellWord {
    /// Whether it names no file of the script's, after a `>`: a device, or another stream.
    var isNoFile: Bool { unknown == nil && (text.hasPrefix("/dev/") || ["1", "2", "-"].contains(text)) }
}
