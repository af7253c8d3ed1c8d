/// What the exit status of a command, or of a list of them, depends on.
enum ScriptStatus: Hashable, Sendable {
    /// Succeeds, as `mkdir -p` nearly always does.
    case succeeds
    case fails
    /// Succeeds where all these tasks of the job did.
    case tasks([Int])
    /// Succeeds where one of these tasks failed.
    case failureOf([Int])
    /// Only the script knows it, for this reason.
    case unknown(String)

    var negated: ScriptStatus {
        switch self {
        case .succeeds: .fails
        case .fails: .succeeds
        case .tasks(let tasks): .failureOf(tasks)
        case .failureOf(let tasks): .tasks(tasks)
        case .unknown: self
        }
    }

    /// The status of `self && next`.
    func and(_ next: ScriptStatus) -> ScriptStatus {
        switch (self, next) {
        case (.succeeds, _): next
        case (.fails, _), (.unknown, _): self
        case (_, .succeeds): self
        case (.tasks(let first), .tasks(let second)): .tasks(first + second)
        case (_, .unknown), (_, .fails): next
        default: .unknown("more than one transfer decides whether it runs")
        }
    }

    /// The status of `self || next`.
    func or(_ next: ScriptStatus) -> ScriptStatus {
        switch (self, next) {
        case (.succeeds, _), (_, .succeeds): .succeeds
        case (.fails, _): next
        case (_, .fails), (.unknown, _): self
        case (_, .unknown): next
        // Two places of one file.
        case (.tasks(let first), .tasks(let second)) where first == second: self
        default: .unknown("more than one transfer decides whether it runs")
        }
    }
}

/// Under what conditions the commands at a place of a script run.
struct ScriptFlow: Hashable, Sendable {
    /// Why only the script knows whether they run; `nil` where a job can say it.
    var reason: String?
    /// Tasks that must have succeeded.
    var needed: [Int] = []
    /// Tasks of which at least one must have failed; empty if no failure is needed.
    var failed: [Int] = []

    init() {}

    /// What a command does that ends the script before.
    static let running = "it from running"
    private static let never = "the script never runs it"

    /// Where a status is success.
    init(_ status: ScriptStatus) {
        switch status {
        case .succeeds: break
        case .fails: reason = Self.never
        case .tasks(let tasks): needed = tasks
        case .failureOf(let tasks): failed = tasks
        case .unknown(let why): reason = why
        }
    }

    /// Both conditions.
    func and(_ other: ScriptFlow) -> ScriptFlow {
        var both = self
        both.reason = reason ?? other.reason
        for task in other.needed where !needed.contains(task) { both.needed.append(task) }
        if !failed.isEmpty, !other.failed.isEmpty, failed != other.failed {
            both.reason = both.reason ?? "more than one transfer decides whether it runs"
        }
        both.failed = failed.isEmpty ? other.failed : failed
        return both
    }

    /// What holds after a command, such as `exit`, that runs where this holds and ends what the others are in. `isCertain`:
    /// it always does.
    func past(_ shown: String, isCertain: Bool) -> ScriptFlow {
        if reason == Self.never { return ScriptFlow() }
        if !failed.isEmpty, reason == nil, needed.isEmpty { return ScriptFlow(.tasks(failed)) }
        let verb = isCertain && self == ScriptFlow() ? "keeps" : "may keep"
        return ScriptFlow(.unknown("\(shown) \(verb) \(Self.running)"))
    }
}

/// A list of commands, `A && B || C`, as far as it was read.
struct ScriptList: Sendable {
    /// Status of the commands so far.
    private(set) var status = ScriptStatus.succeeds
    /// When the pipe that is read runs.
    private(set) var runs = ScriptFlow()
    /// What becomes of what the transfer prints with which the pipe that is read begins.
    var pipe: ScriptImport.Pipe?
    private var sign = ";"
    private var left = ScriptStatus.succeeds

    /// Whether the command that is read is no part of a pipe or of a list.
    var isAlone: Bool { !["&&", "||", "|"].contains(sign) }

    /// Begins a command after the sign that ends the one before.
    mutating func begin(after sign: String?) {
        if sign == "|" { return }
        pipe = nil
        switch sign {
        case "&&":
            left = status
            runs = ScriptFlow(status)
        case "||":
            left = status
            runs = ScriptFlow(status.negated)
        default: runs = ScriptFlow()
        }
        self.sign = sign ?? ";"
    }

    /// Ends a command with its own status. `nil` for one after which nothing of the list runs, such as `exit`.
    mutating func end(_ own: ScriptStatus?) {
        guard let own else { return status = sign == "||" || sign == "&&" ? left : .succeeds }
        switch sign {
        case "&&": status = left.and(own)
        case "||": status = left.or(own)
        default: status = own
        }
    }
}

/// What is known of the exit status of commands that are not translated.
enum CommandStatus {
    /// Commands that a script runs for their status.
    private static let tests: Set<String> = [
        "[", "[[", "test", "grep", "false", "which", "diff", "cmp", "gpgv", "minisign",
    ]
    /// Words of programs that make them tests.
    private static let checks: [String: Set<String>] = [
        "gpg": ["--verify"], "gpg2": ["--verify"], "openssl": ["dgst", "verify"], "jq": ["-e", "--exit-status"],
        "unzip": ["-t", "-tq", "-qt"], "git": ["diff"], "cosign": ["verify-blob"],
        "tar": ["-t", "tf", "-tf", "tzf", "-tzf"],
        "gzip": ["-t"], "xz": ["-t"], "zstd": ["-t"],
    ]
    /// Commands that hardly ever fail, or whose failure changes nothing of the transfers.
    static let safe: Set<String> = [
        "rm", "chmod", "touch", "cat", "ls", "tee", "head", "tail", "wc", "cd", "pwd", "clear",
    ]

    /// Whether a script runs a command for its status.
    static func isTest(_ program: String, _ arguments: ArraySlice<ShellWord>) -> Bool {
        let words = Set(arguments.map(\.text))
        // `sha256sum -c`, `shasum -a 256 --check`.
        if program.hasSuffix("sum") { return words.contains { ["-c", "--check"].contains($0) || $0.hasPrefix("-c") } }
        return tests.contains(program) || checks[program]?.isDisjoint(with: words) == false
    }
}

/// What a failing command means to a script.
struct ShellOptions {
    /// Whether a command that fails ends the script: `set -e`.
    var endsOnError = false
    /// Whether one in a pipe does, too: `set -o pipefail`.
    var failsInPipes = false
}
