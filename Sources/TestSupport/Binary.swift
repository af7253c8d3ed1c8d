internal import Glibc
package import TransferModel

/// Runs the built program as a user would: with arguments, an environment, a working folder, and a home that is
/// gone with this object, so that no test meets what another left or what the machine's user has.
package final class Binary: Sendable {
    /// The working folder, where job files are written and reports appear.
    package let folder: TemporaryTree
    /// `$HOME`, and above the state, cache and runtime folders.
    package let home: TemporaryTree
    private let program: String

    /// Another program than ours is for testing this class.
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

    /// Of a release and a debug build the newer one: the other may be of last week's source.
    private static func locate() throws -> String {
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

    /// Runs to the end. When `timeout` passes the program is killed and the result says so.
    package func run(
        _ arguments: String..., environment: [String: String] = [:], input: String = "",
        timeout: TimeSpan = .seconds(120)
    ) throws -> Result {
        try start(arguments, environment: environment, input: input, timeout: timeout).wait()
    }

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

    /// What a program left behind.
    package struct Result: Sendable {
        package enum Ending: Hashable, Sendable {
            case exit(Int32)
            case signal(Int32)
            /// Killed by the test because it ran longer than allowed.
            case timedOut
        }
        package let ending: Ending
        package let output: [UInt8]
        package let errorOutput: [UInt8]
        package let duration: TimeSpan

        package var exitStatus: Int32? { if case .exit(let status) = ending { status } else { nil } }
        package var outputText: String { String(decoding: output, as: UTF8.self) }
        package var errorText: String { String(decoding: errorOutput, as: UTF8.self) }
    }
}
