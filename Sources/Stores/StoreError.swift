import Glibc
import SystemIO

/// Why a database could not be read or written.
package struct StoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Class of the failure, which decides what the caller does.
    package enum Kind: Hashable, Sendable {
        /// The folder or a file in it belongs to another user, or others may write to it.
        case notPrivate
        /// A later version of the program wrote it.
        case newerVersion(found: Int, known: Int)
        /// Another process held the lock longer than this one waits.
        case busy
        /// The file is damaged: the next `open` checks it whole and puts it aside.
        case damaged
        /// The file is another program's; `open` puts it aside.
        case foreign
        /// Another process met damage in the file and put it aside while it was open here.
        case putAside
        /// The file system or the user's quota is full.
        case diskFull
        /// The process, or the machine, has no descriptor or thread left.
        case processLimit
        /// The key of an encrypted input is gone: it can never be read again.
        case sealedForEver
        case other

        /// Whether the cause may go away by itself or be removed by a person; nothing is lost until then.
        package var mayPass: Bool {
            switch self {
            case .diskFull, .processLimit, .busy, .notPrivate: true
            case .newerVersion, .damaged, .foreign, .putAside, .sealedForEver, .other: false
            }
        }
    }
    /// Class of the failure.
    package let kind: Kind
    /// One plain sentence with the path in it.
    package let description: String

    init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    /// The class of a failed opening or making of a file.
    static func kind(of error: SystemError) -> Kind {
        if error.errno == ENOSPC || error.errno == EDQUOT { return .diskFull }
        return error.isOfProcessLimit ? .processLimit : .other
    }
}

/// A file that was put aside because it could not be used. It is never deleted: its owner may want it back.
package struct Quarantine: Hashable, Sendable {
    /// Its path now.
    package let path: String
    /// Why it could not be used, as a sentence without its full stop.
    package let reason: String

    /// A sentence for people: the reason and the new path.
    package var sentence: String { "\(reason): it was put aside as \(path)" }
}
