internal import Glibc
package import Reporting
internal import SystemIO

/// An open report file, whose bytes can be read at any offset and more than once.
package final class ReportFile {
    /// Name of the report in messages: its path, or `standard input`.
    package let name: String
    private let file: SystemIO.Descriptor

    /// Opens a report by its path. `-` is standard input, which is copied to a file without a name first, and so is a
    /// pipe: some exports need members of the report that stand after the tasks.
    package init(_ path: String) throws(ReportProblem) {
        name = path == "-" ? "standard input" : path
        do throws(SystemError) {
            let opened =
                path == "-"
                ? SystemIO.Descriptor(owning: dup(0)) : try SystemIO.Descriptor.open(path, O_RDONLY | O_NOCTTY)
            let facts = try opened.facts()
            if facts.isFolder { throw SystemError(call: "read", errno: EISDIR) }
            file = facts.isRegular && path != "-" ? opened : try Self.copy(opened)
        } catch {
            throw ReportProblem("cannot read \(name): \(error.errno == ENOENT ? "no such file" : error.reason)")
        }
    }

    /// Creates a file without a name and lets `write` write the report into it, for a report that has no file of its
    /// own.
    package init(name: String, _ write: (any ByteSink) throws(OutputProblem) -> Void) throws(OutputProblem) {
        self.name = name
        let file: SystemIO.Descriptor
        do throws(SystemError) { file = try Self.unnamed() } catch {
            throw OutputProblem("cannot make a temporary file for \(name): \(error.reason)", errno: error.errno)
        }
        let sink = DescriptorSink(descriptor: file.raw, name: name)
        try write(sink)
        self.file = file
    }

    private static func copy(_ source: borrowing SystemIO.Descriptor) throws(SystemError) -> SystemIO.Descriptor {
        let target = try unnamed()
        var buffer = [UInt8](repeating: 0, count: 256 << 10)
        while true {
            let count = read(source.raw, &buffer, buffer.count)
            if count == 0 { return target }
            if count < 0 {
                if errno == EINTR { continue }
                throw SystemError(call: "read", errno: errno)
            }
            try target.writeAll(Array(buffer[..<count]))
        }
    }

    /// Opens a private file without a name in the folder for temporary files; it is gone when this process ends.
    private static func unnamed() throws(SystemError) -> SystemIO.Descriptor {
        let place = try SystemIO.Descriptor.openFolder(CurrentProcess.temporaryFolder())
        do throws(SystemError) { return try place.openUnnamed(mode: 0o600) } catch {
            // The file system supports no files without a name.
            let name = ".transfer-run-\(getpid())-\(UInt32.random(in: 0 ... .max)).tmp"
            let file = try place.open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
            try place.unlink(name)
            return file
        }
    }

    /// Length of the file in bytes; 0 if it cannot be read.
    package var size: Int64 { (try? file.facts().size) ?? 0 }

    /// Returns up to `count` bytes from `offset`; none at the end of the file, or if they cannot be read.
    package func bytes(_ count: Int, from offset: Int64) -> [UInt8] {
        var bytes: [UInt8] = []
        let got = try? append(count, from: offset, to: &bytes)
        return got == nil ? [] : bytes
    }

    /// Appends up to `count` bytes from `offset` to `bytes` and returns how many it appended: 0 at the end of the file.
    func append(_ count: Int, from offset: Int64, to bytes: inout [UInt8]) throws(ReportProblem) -> Int {
        var failure: SystemError?
        let piece = [UInt8](unsafeUninitializedCapacity: count) { buffer, got in
            do throws(SystemError) {
                got = try file.read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
            } catch {
                failure = error
            }
        }
        if let failure { throw ReportProblem("cannot read \(name): \(failure.reason)") }
        bytes += piece
        return piece.count
    }

    /// Returns the position of the byte at `offset`: line and column in Unicode scalars, both from 1.
    func place(of offset: Int64) -> (line: Int, column: Int) {
        var (line, column, at) = (1, 1, Int64(0))
        var piece: [UInt8] = []
        while at < offset {
            piece.removeAll(keepingCapacity: true)
            guard let count = try? append(Int(min(1 << 20, offset - at)), from: at, to: &piece), count > 0 else {
                break
            }
            at += Int64(count)
            for byte in piece {
                if byte == 0x0A {
                    (line, column) = (line + 1, 1)
                } else if byte & 0xC0 != 0x80 {
                    column += 1
                }
            }
        }
        return (line, column)
    }
}

/// Why a report cannot be used: one sentence that names the file, and its line and column where the text is at fault.
package struct ReportProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// The sentence for people.
    package let message: String
    init(_ message: String) { self.message = message }
    /// Returns the problem with what would help.
    package func adding(_ words: String) -> ReportProblem { ReportProblem("\(message); \(words)") }
    /// Equals `message`.
    package var description: String { message }
}
