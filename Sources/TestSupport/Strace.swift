internal import Glibc

/// strace as a saboteur: it ends a program at a chosen system call, or makes that call fail.
///
/// Calls are counted for each thread by itself, as strace does. With `paths`, only calls count that name one of these
/// paths, or have it open.
package struct Strace: Sendable {
    package enum Deed: Hashable, Sendable {
        /// SIGKILL before the call does anything.
        case kill
        /// The call does nothing and says this, such as `ENOSPC`.
        case error(String)
        /// The call waits so long before it does anything.
        case delay(milliseconds: Int)
    }

    package struct Injection: Hashable, Sendable, CustomStringConvertible {
        package let call: String
        package let deed: Deed
        /// The number of the call, from 1; `3+` is that one and all later ones, `1..2` the first two.
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

    package var injections: [Injection]
    package var paths: [String]

    package init(_ injections: [Injection] = [], paths: [String] = []) {
        self.injections = injections
        self.paths = paths
    }

    /// The command that runs a program so, every thread of it. The traced calls go to the file `trace`.
    package func command(trace: String = "/dev/null", calls: [String]) -> [String] {
        [Self.program ?? "strace", "-f"] + options(trace, calls)
    }

    /// The same for one thread that runs already; calls are counted from here on. It says `attached` when it is so far.
    package func attach(to thread: Int32, calls: [String]) -> [String] {
        [Self.program ?? "strace", "-p", "\(thread)"] + options("/dev/null", calls)
    }

    private func options(_ trace: String, _ calls: [String]) -> [String] {
        // A name with `?` before it may be one that this machine's processor has no call for.
        var words = ["-o", trace, "-e", "trace=" + calls.map { "?\($0)" }.joined(separator: ",")]
        for path in paths { words += ["-P", path] }
        for injection in injections { words += ["-e", "inject=\(injection)"] }
        return words
    }
}

extension Strace {
    /// Where it is; `nil` where it is not, or may not trace.
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

    /// For `.enabled(if:)`; says why not.
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

    /// The calls by which a program reads and changes what is in folders and files.
    package static let fileCalls = [
        "chmod", "chown", "close", "copy_file_range", "creat", "fallocate", "fchmod", "fchmodat", "fchmodat2", "fchown",
        "fchownat", "fdatasync", "flock", "fstat", "fsync", "ftruncate", "getdents64", "lchown", "link", "linkat",
        "lseek", "lstat", "mkdir", "mkdirat", "newfstatat", "open", "openat", "pread64", "pwrite64", "pwritev",
        "pwritev2", "read", "readlink", "readlinkat", "rename", "renameat", "renameat2", "rmdir", "stat", "statfs",
        "statx", "symlink", "symlinkat", "sync_file_range", "syncfs", "truncate", "unlink", "unlinkat", "utimensat",
        "write", "writev",
    ]

    /// One moment of a traced run: the thread that makes its `number`th such call first.
    package struct Moment: Hashable, Sendable, CustomStringConvertible {
        package let call: String
        package let number: Int
        package var description: String { "\(call) \(number)" }
    }

    /// Every moment of a trace at which an injection can strike, in the order in which they came, from the first line
    /// on that holds `start`.
    ///
    /// A thread's tenth `write` is no moment of its own when another thread had made ten before it: strace would strike
    /// there.
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

    /// `17 write(3, …` begins a call; `17 <... write resumed>`, signals and ends do not.
    private static func begun(_ line: Substring) -> (thread: String, call: String)? {
        let parts = line.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, let bracket = parts[1].firstIndex(of: "(") else { return nil }
        let call = parts[1][..<bracket].drop { $0 == " " }
        let isName = call.utf8.allSatisfy { $0 == 0x5F || (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) }
        return isName && !call.isEmpty ? (String(parts[0]), String(call)) : nil
    }
}
