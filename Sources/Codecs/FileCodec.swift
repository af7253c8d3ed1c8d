import TransferModel

/// Decodes a file by what its first bytes say that it is: gzip, zstd or xz. Any other file passes as it is.
final class FileCodec: Codec {
    private enum Kind {
        /// Too few bytes came to tell; these.
        case undecided([UInt8])
        case packed(any Codec)
        /// Bytes that came before it was decided go out first.
        case plain(held: [UInt8])
    }
    private var kind = Kind.undecided([])

    private static let signatures: [(start: [UInt8], coding: ContentCoding)] = [
        ([0x1F, 0x8B, 0x08], .gzip), ([0x28, 0xB5, 0x2F, 0xFD], .zstd), ([0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00], .xz),
    ]

    var isWhole: Bool {
        if case .packed(let codec) = kind { codec.isWhole } else { true }
    }

    /// The bytes of a file that ended before they told what it is.
    var held: [UInt8] {
        if case .undecided(let bytes) = kind { bytes } else { [] }
    }

    func step(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(TransferError) -> Int {
        if case .undecided(var start) = kind {
            while let byte = unsafe input.first, Self.mayBePacked(start), Self.coding(start) == nil {
                start.append(byte)
                unsafe input = UnsafeRawBufferPointer(rebasing: input.dropFirst())
            }
            if let coding = Self.coding(start) { return unsafe try begin(coding, start, into: output) }
            kind = Self.mayBePacked(start) ? .undecided(start) : .plain(held: start)
        }
        switch kind {
        case .undecided: return 0
        case .packed(let codec): return unsafe try codec.step(&input, into: output)
        case .plain(let held): return unsafe pass(held, &input, into: output)
        }
    }

    private static func coding(_ start: [UInt8]) -> ContentCoding? {
        signatures.first { start.starts(with: $0.start) }?.coding
    }

    private static func mayBePacked(_ start: [UInt8]) -> Bool {
        signatures.contains { $0.start.starts(with: start) }
    }

    private func begin(
        _ coding: ContentCoding, _ start: [UInt8], into output: UnsafeMutableRawBufferPointer
    ) throws(TransferError) -> Int {
        // A file's maker may have had more memory than a server may ask for.
        let codec: any Codec
        if coding == .zstd {
            codec = try ZstdCodec(largestWindowLog: ZstdCodec.largestWindowLogOfFiles)
        } else {
            codec = try coding.makeCodec()
        }
        kind = .packed(codec)
        return unsafe try start.withUnsafeBufferPointer { bytes throws(TransferError) in
            var first = UnsafeRawBufferPointer(bytes)
            return unsafe try codec.step(&first, into: output)
        }
    }

    private func pass(
        _ held: [UInt8], _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) -> Int {
        unsafe output.copyBytes(from: held)
        kind = .plain(held: [])
        let count = min(input.count, output.count - held.count)
        unsafe UnsafeMutableRawBufferPointer(rebasing: output[held.count...])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: input[..<count]))
        unsafe input = UnsafeRawBufferPointer(rebasing: input[count...])
        return held.count + count
    }
}
