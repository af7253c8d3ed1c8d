package import TransferModel

/// Why a variable of the environment cannot be had: it is set, and is no UTF-8 text.
package typealias StrayVariable = NotText

/// Everything the loader may ask of the outside. It does no I/O of its own: the command gives it the real world,
/// `--confine` a smaller one, and tests a made-up one.
package struct Resources: Sendable {
    /// A variable of the environment; `nil` when it is not set (or not allowed).
    package var environment: @Sendable (_ name: String) throws(StrayVariable) -> String?
    /// The bytes of a regular file, refused when it holds more than `limit`.
    package var readFile: @Sendable (_ absolutePath: String, _ limit: Int) -> Result<[UInt8], FileProblem>
    /// The regular files below a folder, as paths relative to it, in any order; at most `depth` names deep.
    /// Links to files are such files, also those that lead nowhere. A folder that cannot be opened is there too, with a slash
    /// at its end. Bytes: not every name is text.
    package var listFiles: @Sendable (_ absoluteRoot: String, _ depth: Int) -> Result<[[UInt8]], FileProblem>
    /// Absolute; relative paths of the command line start here.
    package var workingDirectory: String

    package init(
        environment: @escaping @Sendable (String) throws(StrayVariable) -> String?,
        readFile: @escaping @Sendable (String, Int) -> Result<[UInt8], FileProblem>,
        listFiles: @escaping @Sendable (String, Int) -> Result<[[UInt8]], FileProblem>,
        workingDirectory: String
    ) {
        self.environment = environment
        self.readFile = readFile
        self.listFiles = listFiles
        self.workingDirectory = workingDirectory
    }

    /// No environment and no files: what a test starts from.
    package static func nothing(workingDirectory: String = "/here") -> Resources {
        Resources(
            environment: { _ in nil }, readFile: { _, _ in .failure(.notFound) },
            listFiles: { _, _ in .failure(.notFound) }, workingDirectory: workingDirectory)
    }
}

/// Why a file that a job names could not be read.
package enum FileProblem: Error, Hashable, Sendable {
    case notFound
    case notRegular
    case tooLarge(limit: Int)
    /// Outside what `--confine` allows.
    case notAllowed
    /// In the system's words, such as `Permission denied`.
    case failed(String)

    /// Follows "FILE: ".
    var words: String {
        switch self {
        case .notFound: "no such file"
        case .notRegular: "not a regular file"
        case .tooLarge(let limit): "larger than \(limit) bytes"
        case .notAllowed: "outside the folder that this run is confined to"
        case .failed(let reason): reason
        }
    }
}

/// What the command line adds to a job file. Relative paths start at the working directory.
package struct LoadOptions: Sendable {
    /// `--directory`: where the job's relative paths start instead of its own folder.
    package var directory: String?
    /// `--set`, in the order given; the last one of a name counts.
    package var set: [(name: String, value: String)]
    package var variablesFile: String?
    package var secretsFile: String?

    package init(
        directory: String? = nil, set: [(name: String, value: String)] = [], variablesFile: String? = nil,
        secretsFile: String? = nil
    ) {
        self.directory = directory
        self.set = set
        self.variablesFile = variablesFile
        self.secretsFile = secretsFile
    }
}
