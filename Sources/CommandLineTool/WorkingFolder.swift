import SystemIO

/// Checks the folder in which relative paths begin, which may have been removed under a shell.
enum WorkingFolder {
    /// Whether the folder was removed. A folder whose path is no text exists, and is rejected elsewhere.
    private static var isGone: Bool {
        do { return try Folders.working() == nil } catch { return false }
    }

    private static let hint = "go to a folder that is there, or give absolute paths"

    /// Throws when a path is relative and the working folder was removed. Call before these paths are read or written.
    static func check(_ paths: String?...) throws(UsageError) {
        guard isGone, let path = paths.compactMap({ $0 }).first(where: { !$0.hasPrefix("/") }) else {
            return
        }
        throw UsageError("`\(path)` leads nowhere: the working folder is not there any more", hint: hint)
    }

    /// Checks the paths of a job's inputs; a job from standard input begins in the working folder, too.
    static func check(_ arguments: JobArguments, job: String) throws(UsageError) {
        try check(job == "-" ? nil : job, arguments.directory, arguments.variablesFile, arguments.secretsFile)
        guard job == "-", arguments.directory == nil, isGone else { return }
        throw UsageError(
            "the working folder is not there any more, and the relative paths of a job from standard input begin in it",
            hint: "go to a folder that is there, or name one with `--directory`")
    }
}
