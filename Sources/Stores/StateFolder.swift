/// Folders of a user's state, cache and sockets, computed from the given environment without touching a file.
package struct StateFolder: Hashable, Sendable {
    /// Absolute path of the folder with store and journal.
    package var state: String
    /// Absolute path of the folder with cached bodies.
    package var cache: String
    /// Absolute path of the folder with the service's socket.
    package var runtime: String
    /// Whether `--state-dir` named the folder.
    package let isNamed: Bool

    /// Why no folder could be determined.
    package struct Problem: Error, Hashable, Sendable, CustomStringConvertible {
        /// One sentence for people.
        package let description: String

        package init(description: String) { self.description = description }
    }

    /// `directory` is the value of `--state-dir`; it puts everything under one folder. Without it the XDG variables
    /// count, if they are absolute as their standard demands; without those, `$HOME`.
    package init(
        directory: String?, workingDirectory: String?, environment: (String) -> String?
    ) throws(Problem) {
        isNamed = directory != nil
        if let directory {
            guard !directory.isEmpty else { throw Problem(description: "the state folder has an empty name") }
            guard let path = directory.hasPrefix("/") ? directory : workingDirectory.map({ "\($0)/\(directory)" })
            else {
                throw Problem(
                    description: "the state folder `\(directory)` would begin in the working folder, which is not "
                        + "there any more: go to another folder, or give an absolute path")
            }
            let folder = Self.withoutSlash(path)
            state = folder.isEmpty ? "/" : folder
            cache = folder + "/cache"
            runtime = folder + "/runtime"
            return
        }
        func folder(_ variable: String, home fallback: String) throws(Problem) -> String {
            if let base = Self.absolute(environment(variable)) { return base + "/transfer-run" }
            guard let home = Self.absolute(environment("HOME")) else {
                throw Problem(description: "there is no place for state: set HOME, \(variable) or --state-dir")
            }
            return "\(home)/\(fallback)/transfer-run"
        }
        state = try folder("XDG_STATE_HOME", home: ".local/state")
        cache = try folder("XDG_CACHE_HOME", home: ".cache")
        // There is no lasting fallback for sockets in the standard; beside the state they are at least private.
        runtime = Self.absolute(environment("XDG_RUNTIME_DIR")).map { $0 + "/transfer-run" } ?? state + "/runtime"
    }

    private static func absolute(_ path: String?) -> String? {
        guard let path, path.hasPrefix("/") else { return nil }
        return withoutSlash(path)
    }

    private static func withoutSlash(_ path: String) -> String {
        var path = path
        while path.utf8.count > 1, path.hasSuffix("/") { path.removeLast() }
        return path == "/" ? "" : path
    }
}
