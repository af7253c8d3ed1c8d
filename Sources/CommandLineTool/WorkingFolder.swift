import SystemIO

/// The folder in which relative paths begin. It may have been removed under a shell that stands in it.
enum WorkingFolder {
    /// One that is no text is there, and refused elsewhere.
    private static var isGone: Bool {
        do { return try Folders.working() == nil } catch { return false }
    }

    private static let hint = "go to a folder that is there, or give absolute paths"

    /// Before anything is read from or written to these paths.
    static func check(_ paths: String?...) throws(UsageError) {
        guard isGone, let path = paths.compactMap({ $0 }).first(where: { !$0.hasPrefix("/") }) else {
            return
        }
        throw UsageError("`\(path)` leads nowhere: the working folder is not there any more", hint: hint)
    }

    /// Those of a job that has no file begin there too.
    static func check(_ arguments: JobArguments, job: String) throws(UsageError) {
        try check(job == "-" ? nil : job, arguments.directory, arguments.variablesFile, arguments.secretsFile)
        guard job == "-", arguments.directory == nil, isGone else { return }
        throw UsageError(
            "the working folder is not there any more, and the relative paths of a job from standard input begin in it",
            hint: "go to a folder that is there, or name one with `--directory`")
    }
}
