import Glibc
import TransferModel

/// A failed system call: which one, and why.
package struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The call's name, or the program that could not be started.
    package let call: String
    /// The error number that the call left.
    package let errno: Int32
    /// The link of another user that was not followed; `nil` of any other failure.
    package let foreignLink: String?
    /// The path that leads out of the room of this process, see `Confinement`; `nil` of any other failure.
    package let leadsOut: String?

    package init(call: String, errno: Int32, foreignLink: String? = nil, leadsOut: String? = nil) {
        self.call = call
        self.errno = errno
        self.foreignLink = foreignLink
        self.leadsOut = leadsOut
    }

    /// `open: No such file or directory`
    package var description: String { "\(call): \(reason)" }
    /// The system's text for the error number, or which path was not followed and why.
    package var reason: String {
        if let foreignLink { return Self.isForeign(foreignLink) }
        if let leadsOut { return "\(leadsOut) leads out of the folder that this run is confined to" }
        var buffer = [CChar](repeating: 0, count: 256)
        guard unsafe strerror_r(errno, &buffer, buffer.count) == 0 else { return "error \(errno)" }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Whether an opening or a start failed because the process, or the machine, had no descriptor, thread or process left:
    /// the same may succeed when others have ended. To be asked of openings and starts alone: of a read or a write EAGAIN
    /// means something else.
    package var isOfProcessLimit: Bool { [EMFILE, ENFILE, EAGAIN, ENOMEM].contains(errno) }

    /// A sentence about a link that is not followed.
    package static func isForeign(_ link: String) -> String {
        "\(link)\(TransferError.foreignLinkWords)and is not followed"
    }
}

/// Runs system calls: repeats them after an interrupt, and reads `errno` before anything can change it.
enum Syscall {
    @discardableResult
    static func check(_ call: String, _ body: () -> Int32) throws(SystemError) -> Int32 {
        while true {
            let result = body()
            if result != -1 { return result }
            let code = errno
            if code != EINTR { throw SystemError(call: call, errno: code) }
        }
    }

    static func count(_ call: String, _ body: () -> Int) throws(SystemError) -> Int {
        while true {
            let result = body()
            if result != -1 { return result }
            let code = errno
            if code != EINTR { throw SystemError(call: call, errno: code) }
        }
    }
}
