internal import CTestShims
internal import Glibc

/// A pipe whose ends close once each.
final class Pipe: Sendable {
    let read: Int32
    let write: Int32
    private let isOpen = Monitor((read: true, write: true))

    init() throws {
        var ends: [Int32] = [0, 0]
        guard tr_test_pipe(&ends) == 0 else { throw SystemFailure("pipe") }
        (read, write) = (ends[0], ends[1])
    }

    func closeRead() {
        isOpen.with {
            if $0.read { close(read) }
            $0.read = false
        }
    }

    func closeWrite() {
        isOpen.with {
            if $0.write { close(write) }
            $0.write = false
        }
    }
}

/// The streams of a program, and a pipe that ends when it does.
struct Pipes: Sendable {
    let input: Pipe
    let output: Pipe
    let errorOutput: Pipe
    let wake: Pipe

    init() throws {
        (input, output, errorOutput, wake) = (try Pipe(), try Pipe(), try Pipe(), try Pipe())
        // Writing to a program that has stopped reading is not the test's end.
        signal(SIGPIPE, SIG_IGN)
    }

    func closeChildEnds() {
        input.closeRead()
        output.closeWrite()
        errorOutput.closeWrite()
    }

    /// The write end of `wake` is closed by the thread that waits.
    func closeAll() {
        input.closeWrite()
        output.closeRead()
        errorOutput.closeRead()
        wake.closeRead()
    }
}

enum Spawn {
    /// Starts a program with the default answer to every signal and no descriptor but its three streams.
    static func spawn(
        _ program: String, _ arguments: [String], environment: [String: String], folder: String, pipes: Pipes
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, pipes.input.read, 0)
        posix_spawn_file_actions_adddup2(&actions, pipes.output.write, 1)
        posix_spawn_file_actions_adddup2(&actions, pipes.errorOutput.write, 2)
        tr_test_spawn_in_folder(&actions, folder)
        // Whatever a library opened without close-on-exec stays here.
        tr_test_spawn_close_from(&actions, 3)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        for number in [SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT] { sigaddset(&signals, number) }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for pointer in words + variables { free(pointer) } }
        var processID = pid_t()
        let code = posix_spawn(&processID, program, &actions, &attributes, &words, &variables)
        guard code == 0 else { throw SystemFailure("posix_spawn \(program)", code) }
        return processID
    }
}
