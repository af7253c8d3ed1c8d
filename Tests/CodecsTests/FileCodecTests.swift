import Codecs
import TestSupport
import Testing
import TransferModel

/// Files that are unpacked by what their first bytes say.
@Suite struct FileCodecTests {
    private let text = Array(String(repeating: "All work and no play. ", count: 500).utf8)

    @Test(arguments: Packer.files) func aPackedFileComesBack(packer: Packer) {
        var random = Seeded("aPackedFileComesBack, \(packer.name)")
        for _ in 0..<Rounds.scaled(40) {
            let content = random.content(upTo: 1 << random.below(19))
            let most = 1 << random.below(17)
            let result = Unpacked(packer.pack(content), .file, pieceLength: { 1 + random.below(most) })
            #expect(result.failure == nil && result.bytes == content)
        }
    }

    /// Once, and not what is packed in what was packed.
    @Test(arguments: Packer.files) func onlyOneLayerIsUndone(packer: Packer) {
        let inner = packer.pack(text)
        #expect(Unpacked(packer.pack(inner), .file).bytes == inner)
        #expect(Unpacked(Encoder.brotli(inner), .file, .br).bytes == text)
    }

    @Test(arguments: Packer.files) func membersFollowEachOther(packer: Packer) {
        let packed = packer.pack(text) + packer.pack([]) + packer.pack(text)
        for length in [1, 7, 64 << 10] {
            let result = Unpacked(packed, .file, pieceLength: { length })
            #expect(result.failure == nil && result.bytes == text + text)
        }
    }

    @Test func anyOtherFileStaysAsItIs() {
        var random = Seeded("anyOtherFileStaysAsItIs")
        let starts: [[UInt8]] = [
            [], [0x1F], [0x1F, 0x8B], [0x1F, 0x8B, 7], [0x28], [0x28, 0xB5, 0x2F], [0x28, 0xB5, 0x2F, 0xFC], [0xFD],
            [0xFD, 0x37, 0x7A, 0x58, 0x5A], [0xFD, 0x37, 0x7A, 0x58, 0x5A, 1], Array("PK".utf8), Array("(".utf8),
        ]
        for start in starts {
            for count in [0, 1, 300_000] where count == 0 || start.count != 1 && start.count != 2 {
                let file = start + [0xAA] * min(count, 1) + random.bytes(max(0, count - 1))
                for length in [1, 5, 64 << 10] {
                    let result = Unpacked(file, .file, pieceLength: { length })
                    #expect(result.failure == nil && result.bytes == file, "\(start)")
                }
            }
        }
        #expect(Unpacked([0x28], .file, endIsProven: false).bytes == [0x28])
        #expect(Unpacked([0x28], .file, bounds: SizeBounds(maximum: 0)).failure?.name == .dataLengthExceedsMaximum)
    }

    @Test(arguments: Packer.files) func aCutFileIsAnError(packer: Packer) {
        let packed = packer.pack(Array(text.prefix(2_000)))
        for count in 6..<packed.count {
            let failure = Unpacked(Array(packed.prefix(count)), .file).failure
            #expect(failure?.name == .cannotDecodeRawData, "\(count) of \(packed.count)")
        }
        #expect(Unpacked(packed + Array("more".utf8), .file).failure?.name == .cannotDecodeRawData)
    }

    /// A window that no server may ask for is one that a file may have; beyond it nothing is reserved.
    @Test func windowsOfFilesAreLargerAndBounded() {
        let large = Encoder.zstd(text, windowLog: 27)
        #expect(Unpacked(large, .zstd).failure != nil)
        #expect(Unpacked(large, .file).bytes == text)
        #expect(Unpacked(Encoder.zstd(text, windowLog: 28), .file).failure?.name == .cannotDecodeRawData)
        #expect(Unpacked(Encoder.xz(text, preset: 9), .file).bytes == text)
    }

    @Test func zerosMayFollowAnXZStreamByFours() {
        let packed = Encoder.xz(text)
        for length in [1, 64 << 10] {
            for count in 0...9 {
                let result = Unpacked(packed + [0] * count, .xz, pieceLength: { length })
                #expect((result.failure == nil) == (count % 4 == 0), "\(count)")
                let two = Unpacked(packed + [0] * count + packed, .xz, pieceLength: { length })
                #expect((two.failure == nil) == (count % 4 == 0), "\(count)")
            }
        }
    }
}

extension [UInt8] {
    fileprivate static func * (bytes: [UInt8], count: Int) -> [UInt8] {
        Array((0..<count).map { _ in bytes }.joined())
    }
}
