internal import Glibc

/// Injects faults with strace: ends a program at a chosen system call, or makes that call fail.
///
/// Calls are counted for each thread by itself, as strace does. With `paths`, only calls count that name one of these
/// paths, or have it open.
package struct Strace: Sendable {
    /// What happens at a call.
    package enum Deed: Hashable, Sendable {
        /// SIGKILL before the call takes effect.
        case kill
        /// The call has no effect and fails with this error, such as `ENOSPC`.
        case error(String)
        /// The call is delayed by this time before it takes effect.
        case delay(milliseconds: Int)
    }

    /// A fault at certain occurrences of a call.
    package struct Injection: Hashable, Sendable, CustomStringConvertible {
        /// Name of the system call.
        package let call: String
        /// What happens at the call.
        package let deed: Deed
        /// Number of the occurrence, from 1; `3+` for that one and all later ones, `1..2` for the first two.
        package let when: String

        package init(_ call: String, _ deed: Deed, when: String = "1+") {
            self.call = call
            self.deed = deed
            self.when = when
        }

        package var description: String {
            switch deed {
            case .kill: "\(call):signal=KILL:when=\(when)"
            case .error(let name): "\(call):error=\(name):when=\(when)"
            case .delay(let milliseconds): "\(call):delay_enter=\(milliseconds * 1_000):when=\(when)"
            }
        }
    }

    /// The faults to inject.
    package var injections: [Injection]
    /// Paths to which traced calls are limited; empty for all calls.
    package var paths: [String]

    package init(_ injections: [Injection] = [], paths: [String] = []) {
        self.injections = injections
        self.paths = paths
    }

    /// Returns the command that runs a program with the faults, in all of its threads. The traced calls are written to
    /// the file `trace`.
    package func command(trace: String = "/dev/null", calls: [String]) -> [String] {
        [Self.program ?? "strace", "-f"] + options(trace, calls)
    }

    /// Returns the command that injects the faults into one running thread; calls are counted from then on. It prints
    /// `attached` when it has begun.
    package func attach(to thread: Int32, calls: [String]) -> [String] {
        [Self.program ?? "strace", "-p", "\(thread)"] + options("/dev/null", calls)
    }

    private func options(_ trace: String, _ calls: [String]) -> [String] {
        // A `?` before a name lets strace accept calls that this machine's processor does not have.
        var words = ["-o", trace, "-e", "trace=" + calls.map { "?\($0)" }.joined(separator: ",")]
        for path in paths { words += ["-P", path] }
        for injection in injections { words += ["-e", "inject=\(injection)"] }
        return words
    }
}

extension Strace {
    /// Path of strace; `nil` where it is missing, or may not trace.
    package static let program: String? = {
        for folder in (Environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":") {
            let path = "\(folder)/strace"
            guard access(path, X_OK) == 0 else { continue }
            let result = try? Binary(program: path).run("-f", "-o", "/dev/null", "/bin/true")
            if result?.exitStatus == 0 { return path }
            print("strace may not trace here: \(result?.errorText ?? "")")
            return nil
        }
        print("there is no strace: what it would prove is not tested")
        return nil
    }()

    /// Whether strace works here, for `.enabled(if:)`; the reason against it is printed.
    package static var isUsable: Bool { program != nil }

    /// Whether this user may attach to a program that runs already.
    package static let mayAttach: Bool = {
        guard isUsable, let target = try? Binary(program: "/bin/sleep").start(["60"]) else { return false }
        defer {
            target.send(signal: SIGKILL)
            _ = target.wait()
        }
        let words = Strace().attach(to: target.processID, calls: ["read"])
        guard let saboteur = try? Binary(program: words[0]).start(Array(words.dropFirst())) else { return false }
        let isAttached = saboteur.waitForOutput("attached")
        target.send(signal: SIGKILL)
        _ = saboteur.wait()
        return isAttached
    }()

    /// Names of the calls by which a program reads and changes files and folders.
    package static let fileCalls = [
        "chmod", "chown", "close", "copy_file_range", "creat", "fallocate", "fchmod", "fchmodat", "fchmodat2", "fchown",
        "fchownat", "fdatasync", "flock", "fstat", "fsync", "ftruncate", "getdents64", "lchown", "link", "linkat",
        "lseek", "lstat", "mkdir", "mkdirat", "newfstatat", "open", "openat", "openat2", "pread64", "pwrite64",
        "pwritev", "pwritev2", "read", "readlink", "readlinkat", "rename", "renameat", "renameat2", "rmdir", "stat",
        "statfs", "statx", "symlink", "symlinkat", "sync_file_range", "syncfs", "truncate", "unlink", "unlinkat",
        "utimensat", "write", "writev",
    ]

    /// One moment of a traced run: when a thread first makes its `number`th call of this name.
    package struct Moment: Hashable, Sendable, CustomStringConvertible {
        /// Name of the system call.
        package let call: String
        /// Number of the occurrence in its thread, from 1.
        package let number: Int
        package var description: String { "\(call) \(number)" }
    }

    /// Returns every moment of a trace at which an injection can take effect, in their order, from the first line on
    /// that contains `start`.
    ///
    /// A thread's tenth `write` is no moment of its own when another thread made ten before it, because strace would
    /// strike at that one.
    package static func moments(of trace: String, from start: String) -> [Moment] {
        var counts: [String: Int] = [:]
        var highest: [String: Int] = [:]
        var moments: [Moment] = []
        var hasBegun = false
        for line in trace.split(separator: "\n") {
            hasBegun = hasBegun || line.contains(start)
            guard let (thread, call) = begun(line) else { continue }
            let number = counts["\(thread) \(call)", default: 0] + 1
            counts["\(thread) \(call)"] = number
            guard number > highest[call, default: 0] else { continue }
            highest[call] = number
            if hasBegun { moments.append(Moment(call: call, number: number)) }
        }
        return moments
    }

    /// Parses a line that begins a call, `17 write(3, …`; `nil` for `17 <... write resumed>`, signals and ends.
    private static func begun(_ line: Substring) -> (thread: String, call: String)? {
        let parts = line.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, let bracket = parts[1].firstIndex(of: "(") else { return nil }
        let call = parts[1][..<bracket].drop { $0 == " " }
        let isName = call.utf8.allSatisfy { $0 == 0x5F || (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) }
        return isName && !call.isEmpty ? (String(parts[0]), String(call)) : nil
    }
}
