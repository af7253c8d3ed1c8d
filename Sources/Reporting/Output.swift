internal import Glibc
internal import SystemIO

/// A destination for bytes. One call is one `write(2)` where the system takes it whole.
package protocol ByteSink: AnyObject {
    /// Writes all the bytes, or throws.
    func write(_ bytes: [UInt8]) throws(OutputProblem)
    /// Throws if bytes that were written have been lost since; to be called after the last of them.
    func confirmWrites() throws(OutputProblem)
}

extension ByteSink {
    /// Does nothing: for sinks whose writes cannot be lost later.
    package func confirmWrites() throws(OutputProblem) {}
}

/// Why an output could not be written, in words for people.
package struct OutputProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// One sentence with the output's name in it.
    package let message: String
    /// Error number of the system; `nil` where it gave none.
    package let errno: Int32?
    /// What to do about it; `nil` without a suggestion.
    private var hint: String?

    package init(_ message: String, errno: Int32? = nil) {
        self.message = message
        self.errno = errno
    }

    /// The message, and in a second line the hint.
    package var description: String { hint.map { "\(message)\n  hint: \($0)" } ?? message }

    /// Returns the problem with a hint.
    package func hinting(_ hint: String) -> OutputProblem {
        var problem = self
        problem.hint = hint
        return problem
    }
    /// Whether the reader of the pipe is gone.
    package var isBrokenPipe: Bool { errno == EPIPE }
    /// Whether another process is writing the file.
    package var isTaken: Bool { errno == EWOULDBLOCK }

    /// Whether a signal came before a reader opened the pipe.
    package var isInterrupted: Bool { errno == EINTR }

    static func unread(_ path: String) -> OutputProblem {
        OutputProblem("cannot write \(path): nobody had opened it for reading when a signal came", errno: EINTR)
    }

    static func taken(_ path: String) -> OutputProblem {
        OutputProblem("cannot write \(path): another run is writing it", errno: EWOULDBLOCK)
    }

    /// Makes a problem from the current `errno`.
    static func system(_ action: String, _ path: String) -> OutputProblem {
        let code = Glibc.errno
        return OutputProblem("cannot \(action) \(path): \(String(cString: strerror(code)))", errno: code)
    }
}

/// An open descriptor: standard output, standard error, or a file that is this object's own.
package final class DescriptorSink: ByteSink {
    private let descriptor: Int32
    private let name: String
    private let isOwned: Bool
    /// The length up to the last whole write, of a file that is this object's own.
    private var wholeLength: off_t = 0

    /// Writes to a descriptor that the caller keeps open.
    package init(descriptor: Int32, name: String) {
        self.descriptor = descriptor
        self.name = name
        isOwned = false
    }

    /// Creates or empties a file, and locks it against other runs until this object is released: of two writers no
    /// reader would get whole lines. A device, a pipe or a socket is opened as it is.
    package init(creating path: String) throws(OutputProblem) {
        descriptor = try Descriptor.open(path, O_CREAT)
        name = path
        isOwned = true
        var information = stat()
        guard fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFREG else { return }
        // A file system without locks keeps no other run out.
        if flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK { throw .taken(path) }
        guard ftruncate(descriptor, 0) == 0 else { throw .system("empty", path) }
    }

    deinit { if isOwned { close(descriptor) } }

    /// The process's standard output, not closed by the sink.
    package static var standardOutput: DescriptorSink { DescriptorSink(descriptor: 1, name: "standard output") }
    /// The process's standard error, not closed by the sink.
    package static var standardError: DescriptorSink { DescriptorSink(descriptor: 2, name: "standard error") }

    /// Writes all the bytes; after a failure an own file is cut back to its last whole write.
    package func write(_ bytes: [UInt8]) throws(OutputProblem) {
        do {
            try Descriptor.writeAll(bytes, to: descriptor, name: name)
            wholeLength += off_t(bytes.count)
        } catch {
            // Removes the partly written piece, so that a full disk leaves whole lines only.
            if isOwned { ftruncate(descriptor, wholeLength) }
            throw error
        }
    }

    /// Throws if the file system reports that written bytes were lost.
    package func confirmWrites() throws(OutputProblem) { try Descriptor.confirmWrites(descriptor, name: name) }
}

enum Descriptor {
    /// Throws if written bytes were lost: some file systems report that only when a descriptor of the file is closed.
    static func confirmWrites(_ descriptor: Int32, name: String) throws(OutputProblem) {
        do throws(SystemError) {
            try SystemIO.Descriptor.confirmWrites(descriptor)
        } catch {
            throw OutputProblem("cannot write \(name): \(error.reason)", errno: error.errno)
        }
    }

    /// Opens a file for writing. A named pipe waits for its reader until a held signal arrives.
    static func open(_ path: String, _ more: Int32 = 0) throws(OutputProblem) -> Int32 {
        while true {
            let flags = O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | more
            let opened = Glibc.open(path, flags, 0o666 & ~0o022)
            if opened >= 0 {
                _ = fcntl(opened, F_SETFL, 0)
                return opened
            }
            guard errno == ENXIO, isPipe(path) else { throw .system("write", path) }
            guard Signals.pause(milliseconds: 100) == nil else { throw .unread(path) }
        }
    }

    private static func isPipe(_ path: String) -> Bool {
        let code = errno
        defer { errno = code }
        var information = stat()
        return stat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFIFO
    }

    /// Continues after partial writes and interruptions, and waits for a descriptor that would block.
    static func writeAll(_ bytes: [UInt8], to descriptor: Int32, name: String) throws(OutputProblem) {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress! + written, $0.count - written) }
            if count >= 0 {
                written += count
            } else if errno == EAGAIN {
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&ready, 1, -1)
            } else if errno != EINTR {
                throw .system("write", name)
            }
        }
    }
}
