import Digests
import Glibc
import SystemIO
package import TransferModel

/// A partial file that another program left under a download's final name, and how its copy begins a new body.
package struct ForeignFile: Sendable {
    /// The file's path.
    package let path: String
    /// The file's stamp when the server was asked about it.
    package let stamp: FileStamp
    /// The download's destination.
    package let destination: Destination
    /// Returns why the file's first bytes are not those of the wanted file; `nil` when they may be.
    package let objection: @Sendable (_ start: [UInt8]) -> String?

    package init(
        path: String, stamp: FileStamp, destination: Destination,
        objection: @escaping @Sendable (_ start: [UInt8]) -> String?
    ) {
        self.path = path
        self.stamp = stamp
        self.destination = destination
        self.objection = objection
    }
}

/// Copies a foreign file into a body's staging, a slice at a time, so that other files do not wait for it. The file
/// itself is only read: it stays as it is until the whole body is verified.
final class PartCopy {
    let id: StagingID
    let task: TaskIndex
    private let foreign: ForeignFile
    private let file: Descriptor
    private var offset: Int64 = 0

    private static let slice: Int64 = 4 << 20
    private static let piece = 256 << 10

    /// Why the file is not adopted, for people.
    struct Problem: Error { let reason: String }

    /// `path` is where the file is now: a member of a group may be kept elsewhere.
    init(_ id: StagingID, _ task: TaskIndex, _ foreign: ForeignFile, at path: String) throws(Problem) {
        (self.id, self.task, self.foreign) = (id, task, foreign)
        do throws(SystemError) {
            file = try Descriptor.openOfJob(path, O_RDONLY | O_NONBLOCK)
        } catch {
            throw Problem(reason: "\(foreign.path) cannot be opened: \(error.reason)")
        }
        guard isUnchanged else { throw Problem(reason: "\(foreign.path) is being changed") }
    }

    /// The copy's size in bytes, once it is whole.
    var size: Int64 { offset }

    private var isUnchanged: Bool { (try? file.identified()).map { FileStamp($0) == foreign.stamp } ?? false }

    /// Copies the next slice through `append`, which returns why that failed. Returns `true` when the whole file was
    /// copied.
    func proceed(_ append: ([UInt8]) -> TransferError?) throws(Problem) -> Bool {
        let end = min(foreign.stamp.size, offset + Self.slice)
        var buffer = [UInt8](repeating: 0, count: Self.piece)
        while offset < end {
            let count: Int
            do throws(SystemError) {
                count = min(try LocalFiles.readPiece(file, &buffer, offset), Int(end - offset))
            } catch {
                throw Problem(reason: "reading \(foreign.path) failed: \(error.reason)")
            }
            guard count > 0 else { throw Problem(reason: "\(foreign.path) is being changed") }
            let bytes = Array(buffer[..<count])
            if offset == 0, let objection = foreign.objection(bytes) { throw Problem(reason: objection) }
            if let error = append(bytes) { throw Problem(reason: error.message) }
            offset += Int64(count)
        }
        guard offset == foreign.stamp.size else { return false }
        // Another program may still be writing to it.
        guard isUnchanged else { throw Problem(reason: "\(foreign.path) is being changed") }
        return true
    }
}

extension Publisher {
    /// Begins the copy of a foreign file; returns an answer at once when the file is of no use.
    func adopt(_ id: StagingID, _ task: TaskIndex, _ foreign: ForeignFile) -> DeliveryReport? {
        do throws(PartCopy.Problem) {
            let path = keptMembers.path(foreign.path, foreign.destination.member)
            copies.append((try PartCopy(id, task, foreign, at: path), BodyPlacement(foreign.destination)))
            return nil
        } catch {
            return .adopted(task, .useless(error.reason))
        }
    }

    /// Copies a slice of the first foreign file that is being adopted.
    func copySome() -> DeliveryReport? {
        guard let (copy, placement) = copies.first else { return nil }
        do throws(PartCopy.Problem) {
            let body = body(copy.id)
            let isWhole = try copy.proceed { bytes in
                _ = append(.bytes(bytes), to: body, placement, sums: true)
                return body.failure
            }
            guard isWhole else { return nil }
            copies.removeFirst()
            return .adopted(copy.task, .taken(size: copy.size, beyond: []))
        } catch {
            copies.removeFirst()
            return .adopted(copy.task, .useless(error.reason))
        }
    }
}
