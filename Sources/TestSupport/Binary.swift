internal import Glibc
package import TransferModel

/// Runs the built program as a user would: with arguments, an environment, a working folder, and a home folder that is
/// deleted with this object, so that no test sees files of another test or of the machine's user.
package final class Binary: Sendable {
    /// The working folder, where job files are written and reports appear.
    package let folder: TemporaryTree
    /// `$HOME`, which also holds the state, cache and runtime folders.
    package let home: TemporaryTree
    private let program: String

    /// Takes a new working folder if none is given. `program` replaces the built program: for tools, and for tests of
    /// this class.
    package init(in folder: TemporaryTree? = nil, program: String? = nil) throws {
        self.folder = try folder ?? TemporaryTree("work")
        home = try TemporaryTree("home")
        self.program = try program ?? Self.locate()
    }

    /// Whether the program has been built, for tests that are skipped without it.
    package static var isBuilt: Bool { (try? locate()) != nil }

    /// The folder that holds Package.swift.
    package static var packageRoot: String {
        var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        parts.removeLast(3)
        return parts.joined(separator: "/")
    }

    /// Returns the newer of the release and the debug build: the other may be of older source. `TRANSFER_RUN_BINARY`
    /// names another program.
    package static func locate() throws -> String {
        if let named = Environment["TRANSFER_RUN_BINARY"] { return named }
        let built = ["release", "debug"].map { "\(packageRoot)/.build/\($0)/transfer-run" }
        guard let newest = built.filter({ changed($0) != nil }).max(by: { changed($0) ?? 0 < changed($1) ?? 0 }) else {
            throw SystemFailure("find transfer-run (build it or set TRANSFER_RUN_BINARY)", ENOENT)
        }
        return newest
    }

    private static func changed(_ path: String) -> Int? {
        var information = stat()
        return stat(path, &information) == 0 ? information.st_mtim.tv_sec : nil
    }

    /// Runs the program to its end. When `timeout` passes, the program is killed and the result says so.
    package func run(
        _ arguments: String..., environment: [String: String] = [:], input: String = "",
        timeout: TimeSpan = .seconds(120)
    ) throws -> Result {
        try start(arguments, environment: environment, input: input, timeout: timeout).wait()
    }

    /// Runs the program with arguments given as an array, otherwise as above.
    package func run(
        arguments: [String], environment: [String: String] = [:], input: String = "",
        timeout: TimeSpan = .seconds(120)
    ) throws -> Result {
        try start(arguments, environment: environment, input: input, timeout: timeout).wait()
    }

    /// Starts and returns at once; `wait()` must follow. `wrapper` is a command, such as `strace -f`, that is given the
    /// program and its arguments.
    package func start(
        _ arguments: [String], environment: [String: String] = [:], input: String = "",
        timeout: TimeSpan = .seconds(120), under wrapper: [String] = []
    ) throws -> RunningProgram {
        var variables = [
            "PATH": Environment["PATH"] ?? "/usr/bin:/bin", "HOME": home.path, "LANG": "C.UTF-8", "TZ": "UTC",
            "XDG_STATE_HOME": home.path("state"), "XDG_CACHE_HOME": home.path("cache"),
            "XDG_RUNTIME_DIR": home.path("runtime"),
        ]
        if let library = Environment["LD_LIBRARY_PATH"] { variables["LD_LIBRARY_PATH"] = library }
        variables.merge(environment) { $1 }
        let words = wrapper + [program] + arguments
        return try RunningProgram(
            words[0], Array(words.dropFirst()), environment: variables, folder: folder.path,
            input: Array(input.utf8), timeout: timeout)
    }

    /// What a program left behind: how it ended, its output and its running time.
    package struct Result: Sendable {
        /// How a program ended.
        package enum Ending: Hashable, Sendable {
            case exit(Int32)
            case signal(Int32)
            /// Killed by the test because it ran longer than allowed.
            case timedOut
        }
        /// How the program ended.
        package let ending: Ending
        /// All of standard output.
        package let output: [UInt8]
        /// All of standard error.
        package let errorOutput: [UInt8]
        /// Time from the start to the end of the process.
        package let duration: TimeSpan

        /// The exit status; `nil` if a signal or the timeout ended the program.
        package var exitStatus: Int32? { if case .exit(let status) = ending { status } else { nil } }
        /// Standard output as UTF-8.
        package var outputText: String { String(decoding: output, as: UTF8.self) }
        /// Standard error as UTF-8.
        package var errorText: String { String(decoding: errorOutput, as: UTF8.self) }
    }
}
