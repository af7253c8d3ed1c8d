import Glibc
import SystemIO
import TextFormats

/// The log in the state folder: a background process without a terminal has its standard error there.
package enum ServiceLog {
    /// Size in bytes above which the log is cut when a process begins; its last `kept` bytes stay.
    static let limit: Int64 = 1 << 20
    private static let kept = 256 << 10

    /// Opens the log for appending, for the command that starts the process; lines of several processes do not
    /// overwrite each other.
    static func open(_ place: ServicePlace) throws(ServiceTrouble) -> Descriptor {
        do throws(PrivacyProblem) {
            let folder = try PrivateFolder.make(place.state)
            // The file is made and checked first: it must belong to this user alone.
            _ = try PrivateFolder.file(ServicePlace.logName, in: folder, at: place.state)
            do throws(SystemError) {
                return try folder.open(ServicePlace.logName, O_WRONLY | O_APPEND | O_NOFOLLOW)
            } catch {
                throw PrivacyProblem(kind: .system(error), path: place.log)
            }
        } catch {
            throw ServiceTrouble(error.description)
        }
    }

    /// Cuts a log that is too long. Only the holder of the lock may call this: no other process writes then, except a
    /// last line of one that ends again because the lock was taken.
    static func cut(_ place: ServicePlace) {
        guard let facts = try? FileFacts.of(place.log), facts.isRegular, facts.size > limit,
            let folder = try? PrivateFolder.open(place.state),
            let file = try? PrivateFolder.file(ServicePlace.logName, in: folder, at: place.state)
        else { return }
        var end = tail(file, from: facts.size - Int64(kept))
        if let line = end.firstIndex(of: 0x0A) { end.removeFirst(line + 1) }
        do {
            try file.cut(at: 0)
            try file.writeAll(end)
        } catch {
            // A full disk must not keep the process from transferring to other places.
        }
    }

    private static func tail(_ file: borrowing Descriptor, from offset: Int64) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: kept)
        let count = (try? bytes.withUnsafeMutableBytes { try file.read(into: $0, at: offset) }) ?? 0
        return Array(bytes.prefix(count))
    }

    static func size(_ place: ServicePlace) -> Int64 { (try? FileFacts.of(place.log).size) ?? 0 }

    /// Returns the last line written from `offset` on, for an error message.
    static func lastLine(_ place: ServicePlace, from offset: Int64) -> String? {
        guard let file = try? WholeFile.open(place.log) else { return nil }
        let lines = tail(file, from: offset).split(separator: 0x0A)
        return lines.last.map { String(decoding: $0.prefix(500), as: UTF8.self) }
    }

    /// Returns a log line with the time and this process's number in front of the text.
    package static func line(_ text: String) -> [UInt8] {
        var line: [UInt8] = []
        RFC3339.append(Clocks.wall(), to: &line)
        return line + Array(" [\(CurrentProcess.processID())] \(text)\n".utf8)
    }

    /// Writes a log line to standard error.
    package static func write(_ text: String) {
        let bytes = line(text)
        _ = bytes.withUnsafeBytes { Glibc.write(2, $0.baseAddress, $0.count) }
    }
}
