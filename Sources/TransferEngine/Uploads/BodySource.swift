import CurlCore
import Digests
import TransferModel

/// One sending of a body, or of the rest of it: libcurl reads it piece by piece.
final class BodySource {
    private let plan: PlannedBody
    /// The first byte that it sends.
    let start: Int64
    /// How many bytes it sends; `nil` when that shows at its end.
    let length: Int64?
    private var sections = Sections()
    private(set) var stream: BodyStream?
    /// So many were handed over.
    private(set) var sent: Int64 = 0
    /// Something was handed over, were it only the end.
    private var wasRead = false
    /// That this is all was handed over.
    private var saidEnd = false
    /// What chunked encoding has put around what was handed over.
    private var framing: Int64 = 0
    /// Bytes that the transport has sent; known when the request is over.
    private(set) var uploaded: Int64 = 0
    /// Somebody was told that this was all.
    var wasToldSent = false
    /// Digests of what was handed over: for what the server tells of it, and for the next run.
    private var digests: [StreamingDigest] = []
    /// Whoever reads may be told to come again: the loop never waits for a disk where the transfer can stand still.
    var canPause = false
    /// What has to be fetched from the disk before the next byte can be had.
    private var wanted: Wanted?
    /// So far it was fetched; where it went out of memory again it is waited for.
    private var fetched: (section: Int, end: Int64)?
    struct Wanted {
        let path: String
        let range: Range<Int64>
    }
    private static let fetchedAtOnce: Int64 = 1 << 20
    /// Why sending had to stop: nothing that could be taken for the whole was sent then.
    private(set) var failure: TransferError?

    /// `range` is of a body that can be read anywhere; `stream` is there for one that cannot.
    init(_ plan: PlannedBody, range: Range<Int64>? = nil, stream: BodyStream? = nil) {
        self.plan = plan
        self.stream = stream
        start = range?.lowerBound ?? 0
        length = range.map { $0.upperBound - $0.lowerBound } ?? plan.length
    }

    deinit { close() }

    /// Nothing more of it is wanted; so much of it, with all that goes around it, was sent.
    func end(uploaded: Int64) {
        self.uploaded = uploaded
        close()
    }

    /// Nothing more of it is wanted.
    func close() {
        stream?.leave()
        sections = Sections()
    }

    /// A command's output of which nobody was handed anything: as good for the next request.
    func takeUntouchedStream() -> BodyStream? {
        guard !wasRead else { return nil }
        defer { stream = nil }
        return stream
    }

    /// There is something to send, and nobody came for it.
    var isUntouched: Bool { !wasRead && length != 0 }

    /// The request is over, and not all of the body went out: what was handed over last may not have been sent.
    func wasCut(isChunked: Bool) -> Bool {
        if let length { return min(sent, uploaded) < length }
        return !saidEnd || uploaded < sent + (isChunked ? framing + Self.framing(ofChunk: 0) : 0)
    }

    /// Its length in hexadecimal digits, and two ends of lines.
    private static func framing(ofChunk count: Int) -> Int64 {
        Int64(max(1, (Int.bitWidth - count.leadingZeroBitCount + 3) / 4)) + 4
    }

    /// Whether all of it was handed over.
    var isSent: Bool { saidEnd || length.map { sent >= $0 } ?? false }

    /// Whether it is made by a command that has nothing to give at the moment, or may not have.
    var waitsForCommand: Bool { stream != nil && !isSent }

    /// Length of the whole body; `nil` if unknown.
    var total: Int64? { plan.length }

    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> BodyFill {
        do throws(TransferError) {
            let filled: BodyFill
            switch plan.content {
            case .sections(let list, let starts):
                let count = try read(list, starts, into: buffer)
                filled = count == 0 && wanted != nil ? .pause : .bytes(count)
            case .stream: filled = try stream?.read(into: buffer, left: length.map { $0 - sent }) ?? .stop
            }
            if case .bytes(let count) = filled {
                (wasRead, saidEnd) = (true, count == 0)
                sent += Int64(count)
                if length == nil, count > 0 { framing += Self.framing(ofChunk: count) }
                for digest in digests { digest.update(UnsafeRawBufferPointer(rebasing: buffer[..<count])) }
            }
            return filled
        } catch {
            (failure, wasRead) = (error, true)
            return .stop
        }
    }

    /// What kept it from going on, once.
    func takeWanted() -> Wanted? {
        defer { wanted = nil }
        return wanted
    }

    /// As many as there are, over the ends of sections, and as far as they can be had now.
    private func read(
        _ list: [PlannedBody.Section], _ starts: [Int64], into buffer: UnsafeMutableRawBufferPointer
    ) throws(TransferError) -> Int {
        var done = 0
        let end = start + (length ?? 0)
        while done < buffer.count, start + sent + Int64(done) < end {
            let place = start + sent + Int64(done)
            sections.move(to: place, starts)
            let index = sections.index
            let offset = place - starts[index]
            let count = Int(min(Int64(buffer.count - done), list[index].length - offset, end - place))
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done..<done + count])
            switch list[index] {
            case .bytes(let bytes):
                bytes.withUnsafeBytes { rest.copyMemory(from: .init(rebasing: $0[Int(offset)..<Int(offset) + count])) }
                done += count
            case .file(let file):
                let waits = !canPause || fetched.map { $0.section == index && offset < $0.end } == true
                guard let count = try sections.open(file).read(into: rest, at: offset, waiting: waits) else {
                    // What there is goes first.
                    if done > 0 { return done }
                    let end = min(offset + Self.fetchedAtOnce, list[index].length)
                    wanted = Wanted(path: file.path, range: offset..<end)
                    fetched = (index, end)
                    return 0
                }
                done += count
            }
        }
        return done
    }

    func rewind(to offset: Int64) -> Bool {
        // A command that was not asked for anything yet is at its beginning.
        guard stream == nil || sent == 0 && offset == 0, (0...(length ?? 0)).contains(offset) else { return false }
        (sent, saidEnd, framing) = (offset, false, 0)
        if offset == 0 { for digest in digests { digest.restart() } } else { digests = [] }
        return true
    }

    /// From its first byte on.
    func sum(by algorithm: DigestAlgorithm) throws(TransferError) { digests.append(try StreamingDigest(algorithm)) }

    /// Returns the sums of the whole body; none when it did not all go out, or nobody asked.
    func takeSums() -> [Checksum] {
        defer { digests = [] }
        return length == nil || sent == length ? digests.map { $0.finish() } : []
    }

    /// Where it reads, and the one file that is open for it.
    private struct Sections {
        var index = 0
        private var file: (index: Int, open: OpenBodyFile)?

        /// To the last section that begins there or before and is not empty.
        mutating func move(to place: Int64, _ starts: [Int64]) {
            if place < starts[index] { index = 0 }
            while index + 1 < starts.count, starts[index + 1] <= place { index += 1 }
        }

        mutating func open(_ plan: BodyFile) throws(TransferError) -> OpenBodyFile {
            if let file, file.index == index { return file.open }
            file = nil
            let open = try plan.open()
            file = (index, open)
            return open
        }
    }
}
