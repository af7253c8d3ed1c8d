import TransferModel

/// Collects the files that a job reads and runs, each once, while its values are read. A task's `to` may name one of
/// them, since one task brings what another one sends; a name that a server chose must not.
struct UsedFiles {
    /// The files that `forEach` has read, each once.
    var lists: [String] = []
    private var keys: [ExactText: StaticString?] = [:]

    /// Adds a file that the value of `key` names; folders are left out.
    mutating func add(_ path: String, readAs key: StaticString) {
        guard path.utf8.last != UInt8(ascii: "/") else { return }
        if keys[ExactText(path)] == nil { keys[ExactText(path)] = .some(key) }
    }

    /// Adds the file that a command's word may name: the program, a script for it, or the value of an option. Which words
    /// are paths only the program knows.
    mutating func add(word: String, in folder: String) {
        let isOption = word.utf8.first == UInt8(ascii: "-")
        let text = isOption ? word.split(separator: "=", maxSplits: 1).dropFirst().first : word[...]
        guard let text, !text.isEmpty, text.utf8.count < 4096, !text.utf8.contains(0) else { return }
        let path = ExactText(Paths.resolvingDots(Paths.absolute(String(text), in: folder)))
        if keys[path] == nil { keys[path] = .some(nil) }
    }

    /// The files, in the order of their paths.
    var reserved: [Job.Reserved] {
        keys.map { path, key in
            let what = key.map { "what the job reads as `\($0)`" } ?? "what a command of the job runs or reads"
            return Job.Reserved(path: path.text, what: what, mayBeNamed: true)
        }.sorted { ExactText($0.path) < ExactText($1.path) }
    }
}
