import FileDelivery
import Glibc
import SystemIO
import TestSupport
import Testing
import TransferModel

/// Whichever way it is written, a file holds what was written.
struct BodyWriterTests {
    /// One that is certain that nothing should stay in memory.
    private func passing() -> BodyWriter {
        var bypass = CacheBypass()
        while bypass.way(256 << 10) == .kept { bypass.wasKept(256 << 10, took: .milliseconds(10)) }
        bypass.proved(256 << 10, took: .zero)
        return BodyWriter(assuming: bypass)
    }

    /// One that looks at the disk with the first piece.
    private func proving() -> BodyWriter {
        var bypass = CacheBypass()
        while bypass.way(256 << 10) == .kept { bypass.wasKept(256 << 10, took: .milliseconds(10)) }
        return BodyWriter(assuming: bypass)
    }

    private func write(_ bytes: ArraySlice<UInt8>, at offset: Int, of file: borrowing Descriptor, _ writer: BodyWriter)
        throws
    {
        let device = try file.facts().device
        var failure: SystemError?
        bytes.withUnsafeBytes { buffer in
            do throws(SystemError) {
                try writer.write(buffer, at: Int64(offset), of: file, on: device)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
    }

    /// `/dev/shm` keeps everything in memory, and cannot do without.
    @Test(arguments: ["passing", "proving", "new"], [nil, "/dev/shm"])
    func piecesOfAnyLengthMakeTheFile(_ kind: String, _ folder: String?) throws {
        var random = Seeded("piecesOfAnyLengthMakeTheFile")
        let tree = try TemporaryTree("writer")
        for round in 0..<Rounds.scaled(4) {
            let path = folder.map { "\($0)/transfer-run-test-\(getpid())-\(kind)-\(round)" } ?? tree.path("f\(round)")
            let file = try Descriptor.open(path, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
            defer { unlink(path) }
            let writer = kind == "new" ? BodyWriter() : kind == "passing" ? passing() : proving()
            let body = random.bytes(3_000_000 + random.below(10_000))
            var done = 0
            while done < body.count {
                let count = min(body.count - done, random.pick([1, 4095, 65_536, 65_537, 200_000, 262_144]))
                try write(body[done..<(done + count)], at: done, of: file, writer)
                done += count
            }
            #expect(try file.facts().size == Int64(body.count))
            var read = [UInt8](repeating: 0, count: body.count + 1)
            let length = try read.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
            #expect(length == body.count && read.dropLast().elementsEqual(body))
        }
    }

    /// How many bytes of the file lie in memory.
    private func resident(_ file: borrowing Descriptor, _ size: Int) throws -> Int {
        let place = mmap(nil, size, PROT_READ, MAP_SHARED, file.raw, 0)
        let start = try #require(place != MAP_FAILED ? place : nil)
        defer { munmap(start, size) }
        var pages = [UInt8](repeating: 0, count: (size + 4095) / 4096)
        try #require(mincore(start, size, &pages) == 0)
        return pages.count { $0 & 1 == 1 } * 4096
    }

    @Test func whatPassesLeavesTheMemory() throws {
        let tree = try TemporaryTree("writer")
        let piece = [UInt8](repeating: 7, count: 256 << 10)
        let size = 32 * piece.count
        let kept = try Descriptor.open(tree.path("kept"), O_RDWR | O_CREAT, mode: 0o600)
        let passed = try Descriptor.open(tree.path("passed"), O_RDWR | O_CREAT, mode: 0o600)
        let isKnown = try piece.withUnsafeBytes { try passed.writeThrough($0, at: 0) } != nil
        guard isKnown else { return print("this kernel or filesystem cannot write so: not tested") }
        let writer = passing()
        for number in 0..<32 {
            try piece.withUnsafeBytes { try writer.keep($0, at: Int64(number * piece.count), of: kept) }
            try write(piece[...], at: number * piece.count, of: passed, writer)
        }
        try passed.writeOut()
        #expect(try resident(kept, size) == size)
        #expect(try resident(passed, size) < size / 2)
    }

    @Test func aWriteThatFailsIsToldByEitherWay() throws {
        let tree = try TemporaryTree("writer")
        try tree.write("f", "")
        let file = try Descriptor.open(tree.path("f"), O_RDONLY)
        let piece = [UInt8](repeating: 7, count: 256 << 10)
        for writer in [BodyWriter(), passing(), proving()] {
            #expect(throws: SystemError(call: "write", errno: EBADF)) {
                try write(piece[...], at: 0, of: file, writer)
            }
        }
    }
}
