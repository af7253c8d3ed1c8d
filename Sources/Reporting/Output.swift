internal import Glibc
internal import SystemIO

/// Somewhere that bytes go. One call is one `write(2)` where the system takes it whole.
package protocol ByteSink: AnyObject {
    func write(_ bytes: [UInt8]) throws(OutputProblem)
    /// After the last of them: nothing that was taken has been lost since.
    func confirmWrites() throws(OutputProblem)
}

extension ByteSink {
    package func confirmWrites() throws(OutputProblem) {}
}

/// Why something could not be written, in words for a person.
package struct OutputProblem: Error, Hashable, Sendable, CustomStringConvertible {
    package let message: String
    package let errno: Int32?

    package init(_ message: String, errno: Int32? = nil) {
        self.message = message
        self.errno = errno
    }

    package var description: String { message }
    /// Nobody reads the other end any more.
    package var isBrokenPipe: Bool { errno == EPIPE }
    /// Another process writes that file.
    package var isTaken: Bool { errno == EWOULDBLOCK }

    /// A signal came before its reader did.
    package var isInterrupted: Bool { errno == EINTR }

    static func unread(_ path: String) -> OutputProblem {
        OutputProblem("cannot write \(path): nobody had opened it for reading when a signal came", errno: EINTR)
    }

    static func taken(_ path: String) -> OutputProblem {
        OutputProblem("cannot write \(path): another run is writing it", errno: EWOULDBLOCK)
    }

    /// Takes the reason from what the system said last.
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

    /// Writes to a descriptor that somebody else keeps open.
    package init(descriptor: Int32, name: String) {
        self.descriptor = descriptor
        self.name = name
        isOwned = false
    }

    /// Makes or empties a file, which is this object's alone as long as that lives: of two who write at once nobody would
    /// read a whole line. A device, a pipe or a socket is opened as it is.
    package init(creating path: String) throws(OutputProblem) {
        descriptor = try Descriptor.open(path, O_CREAT)
        name = path
        isOwned = true
        var information = stat()
        guard fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFREG else { return }
        // Where a filesystem knows no locks, nobody is kept out.
        if flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK { throw .taken(path) }
        guard ftruncate(descriptor, 0) == 0 else { throw .system("empty", path) }
    }

    deinit { if isOwned { close(descriptor) } }

    package static var standardOutput: DescriptorSink { DescriptorSink(descriptor: 1, name: "standard output") }
    package static var standardError: DescriptorSink { DescriptorSink(descriptor: 2, name: "standard error") }

    package func write(_ bytes: [UInt8]) throws(OutputProblem) {
        do {
            try Descriptor.writeAll(bytes, to: descriptor, name: name)
            wholeLength += off_t(bytes.count)
        } catch {
            // What was written of the last piece goes again, so that a full disk leaves whole lines only.
            if isOwned { ftruncate(descriptor, wholeLength) }
            throw error
        }
    }

    package func confirmWrites() throws(OutputProblem) { try Descriptor.confirmWrites(descriptor, name: name) }
}

enum Descriptor {
    /// What was written may have been lost since: some file systems say so to nobody but who closes the file.
    static func confirmWrites(_ descriptor: Int32, name: String) throws(OutputProblem) {
        do throws(SystemError) {
            try SystemIO.Descriptor.confirmWrites(descriptor)
        } catch {
            throw OutputProblem("cannot write \(name): \(error.reason)", errno: error.errno)
        }
    }

    /// A pipe with a name waits for its reader, but not for ever: signals that are held must be able to end that.
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

    /// Goes on after partial writes and interruptions, and waits for a descriptor that would block.
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
