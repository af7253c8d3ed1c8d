import Diagnostics
package import TransferModel

/// Why a variable of the environment cannot be used: it is set, but is not UTF-8 text.
package typealias StrayVariable = NotText

/// The loader's access to the machine. The loader does no I/O of its own: the command gives it the real machine,
/// in which a confined process sees a part, and tests an invented one.
package struct Resources: Sendable {
    /// Returns a variable of the environment; `nil` if it is not set.
    package var environment: @Sendable (_ name: String) throws(StrayVariable) -> String?
    /// Returns the bytes of a regular file, or a problem if it holds more than `limit`.
    package var readFile: @Sendable (_ absolutePath: String, _ limit: Int) -> Result<[UInt8], FileProblem>
    /// Returns the same of a file that another user could have put there: one whose owner is not the user or root is a
    /// problem.
    package var readOwnFile: @Sendable (_ absolutePath: String, _ limit: Int) -> Result<[UInt8], FileProblem>
    /// Returns the regular files below a folder, as paths relative to it, in any order; at most `depth` names deep.
    /// Links to files are included, also those that lead nowhere. A folder that cannot be opened is included with a
    /// slash at its end. Paths are bytes: not every name is text.
    package var listFiles: @Sendable (_ absoluteRoot: String, _ depth: Int) -> Result<[[UInt8]], FileProblem>
    /// The working directory, an absolute path; relative paths of the command line start here.
    package var workingDirectory: String
    /// Where relative paths of reports start; `nil` for the working directory.
    var reportFolder: String?

    package init(
        environment: @escaping @Sendable (String) throws(StrayVariable) -> String?,
        readFile: @escaping @Sendable (String, Int) -> Result<[UInt8], FileProblem>,
        readOwnFile: (@Sendable (String, Int) -> Result<[UInt8], FileProblem>)? = nil,
        listFiles: @escaping @Sendable (String, Int) -> Result<[[UInt8]], FileProblem>,
        workingDirectory: String
    ) {
        self.environment = environment
        self.readFile = readFile
        self.readOwnFile = readOwnFile ?? readFile
        self.listFiles = listFiles
        self.workingDirectory = workingDirectory
    }

    /// Returns `` did you mean `lists/a.txt`? `` where the folder of a missing file has one of a similar name; `text` is the
    /// path as it is written.
    func fileMeant(by text: String, at absolutePath: String) -> String? {
        guard let slash = absolutePath.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
        let name = String(absolutePath[absolutePath.utf8.index(after: slash)...])
        let folder = slash == absolutePath.startIndex ? "/" : String(absolutePath[..<slash])
        guard text.hasSuffix(name), case .success(let files) = listFiles(folder, 1) else { return nil }
        let names = files.compactMap { String(validating: $0, as: UTF8.self) }.filter { !$0.hasPrefix(".") }.sorted()
        return Spelling.closest(to: name, among: names, lettersOnly: true)
            .map { "did you mean `\(Reader.short(text.dropLast(name.count) + $0))`?" }
    }

    /// Returns resources without environment and files, for tests to start from.
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
    /// The file is outside of the folder that `--confine` allows.
    case notAllowed
    /// The system's reason, such as `Permission denied`.
    case failed(String)

    /// The problem in words that follow "FILE: ".
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

/// The command line's additions to a job file. Relative paths start at the working directory.
package struct LoadOptions: Sendable {
    /// `--directory`: where the job's relative paths start; `nil` for the job's own folder.
    package var directory: String?
    /// `--set`, in the order given; the last one of a name counts.
    package var set: [(name: String, value: String)]
    /// `--variables-file`: path of a file with further variables; `nil` without one.
    package var variablesFile: String?
    /// `--secrets-file`: path of a file with secrets; `nil` without one.
    package var secretsFile: String?
    /// `--confine`: the room of a job that is not trusted; `nil` without one.
    package var room: JobRoom?
    /// `--policy`: an operator's rules; `nil` without any.
    package var policy: LoadedPolicy?
    /// Whether relative paths of reports start where the job's own do, because a service will have its working folder there.
    package var reportsStartAtJob = false

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
