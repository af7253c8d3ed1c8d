package import SystemIO
package import TransferModel

/// A file of this machine and what a list or a report says about it.
package struct ExpectedFile: Sendable {
    /// The name as the report or the list has it.
    package let name: RawName
    /// The path to open.
    package let path: RawName
    /// Length in bytes; `nil` where the list does not say.
    package let bytes: Int64?
    /// Digest of the content; `nil` where none is written.
    package let checksum: Checksum?
    /// Id of the task that wrote the file; `nil` for a line of a list.
    package let task: String?

    package init(name: RawName, path: RawName, bytes: Int64?, checksum: Checksum?, task: String? = nil) {
        self.name = name
        self.path = path
        self.bytes = bytes
        self.checksum = checksum
        self.task = task
    }

    /// Makes the file of a name that is relative to a folder, or absolute.
    package init(_ name: RawName, in folder: String, bytes: Int64?, checksum: Checksum?, task: String? = nil) {
        let isAbsolute = name.bytes.first == UInt8(ascii: "/")
        let path = isAbsolute || folder.isEmpty ? name : RawName(folder).appending(name)
        self.init(name: name, path: path, bytes: bytes, checksum: checksum, task: task)
    }
}

/// A file that is not as the list or the report says.
package struct Difference: Sendable {
    /// What is wrong with the file.
    package enum Kind: String, CaseIterable, Sendable {
        case missing, short, long, wrong, unreadable
    }
    /// What is wrong with the file.
    package let kind: Kind
    /// The file, and what the list or report says about it.
    package let file: ExpectedFile
    /// Length of the file in bytes; `nil` where it could not be learnt.
    package let bytes: Int64?
    /// Digest of the content, where it was worked out.
    package let checksum: Checksum?
    /// Why the file could not be read; `nil` otherwise.
    package let reason: String?

    init(_ kind: Kind, _ file: ExpectedFile, bytes: Int64? = nil, checksum: Checksum? = nil, reason: String? = nil) {
        self.kind = kind
        self.file = file
        self.bytes = bytes
        self.checksum = checksum
        self.reason = reason
    }
}

/// The result of a verification, in numbers.
package struct VerificationCounts: Hashable, Sendable {
    /// Files that were looked at.
    package var files = 0
    /// Files that are as it is written.
    package var right = 0
    /// Files that are right as far as is known: only their length is written.
    package var sizeOnly = 0
    /// Files that an interrupted verification had found right, which were not read again.
    package var remembered = 0
    /// Files that differ, by kind.
    package var differences: [Difference.Kind: Int] = [:]
    /// Bytes that were read.
    package var bytesRead: Int64 = 0

    package init() {}

    /// Number of files that differ.
    package var differing: Int { differences.values.reduce(0, +) }

    mutating func count(_ outcome: FileOutcome) {
        files += 1
        switch outcome {
        case .right(let read):
            right += 1
            bytesRead += read
        case .sizeIsRight:
            right += 1
            sizeOnly += 1
        case .remembered:
            right += 1
            remembered += 1
        case .differs(let difference, let read):
            differences[difference.kind, default: 0] += 1
            bytesRead += read
        }
    }
}

/// The result for one file; `read` is the number of bytes that were read.
enum FileOutcome: Sendable {
    case right(read: Int64)
    case sizeIsRight
    case remembered
    case differs(Difference, read: Int64)
}
