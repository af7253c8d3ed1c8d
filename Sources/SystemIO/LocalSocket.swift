internal import CLinuxShims
import Glibc

/// Unix stream sockets with a name in a folder. No call here blocks.
package enum LocalSocket {
    /// Listens under `name` with mode 0600. The name appears only once the socket listens, so that a socket that does
    /// not answer was left by a dead process; this call replaces it.
    package static func listen(
        _ name: String, in folder: borrowing Descriptor, at path: String, backlog: Int32 = 64
    ) throws(SystemError) -> Descriptor {
        let beginning = ".\(name)"
        let socket = try bind(beginning, in: folder, at: path)
        do throws(SystemError) {
            let (raw, directory) = (socket.raw, folder.raw)
            try Syscall.check("chmod") { unsafe fchmodat(directory, beginning, 0o600, 0) }
            try Syscall.check("listen") { Glibc.listen(raw, backlog) }
            try folder.rename(beginning, to: name)
        } catch {
            try? folder.unlink(beginning)
            throw error
        }
        return socket
    }

    private static func bind(
        _ name: String, in folder: borrowing Descriptor, at path: String
    ) throws(SystemError) -> Descriptor {
        let place = place(name, in: folder, at: path)
        do throws(SystemError) {
            return Descriptor(owning: try Syscall.check("bind") { unsafe tr_local_bind(place) })
        } catch {
            // Left by a process that died before the rename.
            guard error.errno == EADDRINUSE else { throw error }
            try folder.unlink(name)
            return Descriptor(owning: try Syscall.check("bind") { unsafe tr_local_bind(place) })
        }
    }

    /// Connects to the socket `name`; throws EAGAIN when its queue is full.
    package static func connect(
        _ name: String, in folder: borrowing Descriptor, at path: String
    ) throws(SystemError) -> Descriptor {
        let place = place(name, in: folder, at: path)
        return Descriptor(owning: try Syscall.check("connect") { unsafe tr_local_connect(place) })
    }

    /// Returns the path to use: a socket's path has 107 bytes at most, and a longer one is reached through the folder's
    /// descriptor.
    private static func place(_ name: String, in folder: borrowing Descriptor, at path: String) -> String {
        let full = "\(path)/\(name)"
        return unsafe tr_local_path_fits(full) != 0 ? full : "/proc/self/fd/\(folder.raw)/\(name)"
    }

    /// Accepts the next connection; `nil` when none waits.
    package static func accept(_ listener: borrowing Descriptor) throws(SystemError) -> Caller? {
        let raw = listener.raw
        let socket: Descriptor
        do throws(SystemError) {
            socket = Descriptor(owning: try Syscall.check("accept") { tr_local_accept(raw) })
        } catch {
            // The other side has closed the connection again.
            if error.errno == EAGAIN || error.errno == ECONNABORTED { return nil }
            throw error
        }
        var user: UInt32 = 0
        let connection = socket.raw
        try Syscall.check("getsockopt") { unsafe tr_local_peer(connection, &user) }
        return Caller(socket: socket, user: user)
    }

    /// Returns the bytes that have come, at most 16 KiB; empty at the end, `nil` when none are there yet.
    package static func receive(_ socket: borrowing Descriptor) throws(SystemError) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 16 << 10)
        let raw = socket.raw
        do throws(SystemError) {
            let count = try Syscall.count("read") { unsafe recv(raw, &bytes, bytes.count, 0) }
            bytes.removeLast(bytes.count - count)
            return bytes
        } catch {
            if error.errno == EAGAIN { return nil }
            throw error
        }
    }

    /// Sends bytes and returns how many were sent; 0 when that would have to wait.
    package static func send(_ bytes: ArraySlice<UInt8>, _ socket: borrowing Descriptor) throws(SystemError) -> Int {
        let raw = socket.raw
        do throws(SystemError) {
            return try Syscall.count("write") {
                unsafe bytes.withUnsafeBytes { unsafe Glibc.send(raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            }
        } catch {
            if error.errno == EAGAIN { return 0 }
            throw error
        }
    }
}

/// An accepted connection.
package struct Caller: ~Copyable, Sendable {
    /// The connection's socket.
    package let socket: Descriptor
    /// The user number of the process at the other end, when it connected.
    package let user: UInt32

    /// Whether that user may talk to this process.
    package var isAdmitted: Bool { Admission.admits(user) }

    /// Returns the socket alone.
    package consuming func release() -> Descriptor { socket }
}

/// Decides which users may talk to the program's processes.
package enum Admission {
    /// Returns whether `uid` is this process's user or root.
    package static func admits(_ uid: UInt32, own: UInt32 = CurrentProcess.userID()) -> Bool { uid == own || uid == 0 }
}
