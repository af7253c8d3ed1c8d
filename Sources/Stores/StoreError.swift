/// Why the state could not be kept or read.
package struct StoreError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// The folder or a file in it is not ours alone.
        case notPrivate
        /// A later version of the program wrote it.
        case newerVersion(found: Int, known: Int)
        /// Another process held it longer than we wait.
        case busy
        /// It broke while it was open: the next `open` checks it whole and puts it aside.
        case damaged
        /// It is another program's file; `open` puts it aside.
        case foreign
        /// Another process met damage in it and put it aside while it was open here.
        case putAside
        case diskFull
        /// The key to what was sealed is gone: nobody will ever read it.
        case sealedForEver
        case other

        /// It may be over by itself, or by somebody who makes room: then nothing was lost.
        package var mayPass: Bool {
            switch self {
            case .diskFull, .busy, .notPrivate: true
            case .newerVersion, .damaged, .foreign, .putAside, .sealedForEver, .other: false
            }
        }
    }
    package let kind: Kind
    /// One plain sentence with the path in it.
    package let description: String

    init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}

/// A file that was put aside because it could not be used. Never silently dropped: somebody may want it back.
package struct Quarantine: Hashable, Sendable {
    /// Where it lies now.
    package let path: String
    package let reason: String

    /// For people.
    package var sentence: String { "\(reason): it was put aside as \(path)" }
}
