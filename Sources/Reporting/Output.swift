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
    /// Whether the process, or the machine, had no descriptor left to open the output.
    package var isOfProcessLimit: Bool { errno == EMFILE || errno == ENFILE }
    /// Whether another process is writing the file.
    package var isTaken: Bool { errno == EWOULDBLOCK }

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
    /// The file that this object opened; `nil` for a descriptor of the caller's.
    private let file: SystemIO.Descriptor?
    /// Whether the file was empty at first, so that it can be cut back to what was written whole.
    private let isOwn: Bool
    /// The length up to the last whole write, of a file that is this object's own.
    private var wholeLength: off_t = 0

    /// Writes to a descriptor that the caller keeps open.
    package init(descriptor: Int32, name: String) {
        self.descriptor = descriptor
        self.name = name
        file = nil
        isOwn = false
    }

    /// Creates or empties a file, and locks it against other runs until this object is released: of two writers no
    /// reader would get whole lines. Missing folders above it are made. A device, and what this process was given open,
    /// is written to as it is.
    package init(creating path: String) throws(OutputProblem) {
        let place = try OutputPlace(path)
        let opened = try place.openForWriting(place.isReplaced ? O_CREAT : 0)
        do throws(SystemError) {
            if place.isReplaced {
                // A file system without locks keeps no other run out.
                if (try? opened.tryLock()) == false { throw SystemError(call: "flock", errno: EWOULDBLOCK) }
                try opened.cut(at: 0)
            }
        } catch {
            throw error.errno == EWOULDBLOCK ? .taken(path) : place.problem(error)
        }
        (name, descriptor, isOwn) = (path, opened.raw, place.isReplaced)
        file = consume opened
    }

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
            if isOwn { ftruncate(descriptor, wholeLength) }
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
