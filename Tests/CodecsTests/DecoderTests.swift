import Codecs
import TestSupport
import Testing
import TransferModel

@Suite struct DecoderTests {
    private let text = Array(String(repeating: "All work and no play. ", count: 500).utf8)

    @Test(arguments: Packer.all) func everyCodingComesBack(packer: Packer) {
        for content in [[], [7], text, Script.patternBytes(300_000), Array(repeating: 0, count: 1 << 20)] {
            let packed = packer.pack(content)
            let whole = Unpacked(packed, packer.coding)
            #expect(whole.failure == nil)
            #expect(whole.bytes == content)
            // A byte at a time, and never more than the buffer at once.
            let slow = Unpacked(packed, packer.coding, pieceLength: { 1 })
            #expect(slow.failure == nil && slow.bytes == content)
            #expect(max(whole.longestPiece, slow.longestPiece) <= 128 << 10)
        }
    }

    @Test func whatOthersPack() {
        // `printf hello | gzip -n`, with a name in its header, and `printf hello | zstd`.
        let gzip: [UInt8] = [
            0x1F, 0x8B, 8, 8, 0, 0, 0, 0, 0, 3, 0x61, 0, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 7, 0, 0x86, 0xA6, 0x10, 0x36, 5,
            0, 0, 0,
        ]
        #expect(Unpacked(gzip, .gzip).bytes == Array("hello".utf8))
        #expect(Unpacked(gzip, .gzip).failure == nil)
        let zstd: [UInt8] = [
            0x28, 0xB5, 0x2F, 0xFD, 0x20, 5, 0x29, 0, 0, 0x68, 0x65, 0x6C, 0x6C, 0x6F,
        ]
        #expect(Unpacked(zstd, .zstd).bytes == Array("hello".utf8))
        #expect(Unpacked([0x0B, 2, 0x80] + Array("hello".utf8) + [3], .br).bytes == Array("hello".utf8))
    }

    @Test func membersAndFramesFollowEachOther() {
        let gzip = Encoder.gzip(text) + Encoder.gzip([]) + Encoder.gzip(text, level: 0)
        let zstd = Encoder.zstd(text) + Encoder.zstd([]) + Encoder.zstd(text, hasChecksum: false)
        // A frame that decoders pass over.
        let skipped: [UInt8] = [0x50, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3]
        for length in [1, 7, 64 << 10] {
            #expect(Unpacked(gzip, .gzip, pieceLength: { length }).bytes == text + text)
            #expect(Unpacked(gzip, .gzip, pieceLength: { length }).failure == nil)
            #expect(Unpacked(zstd + skipped, .zstd, pieceLength: { length }).bytes == text + text)
            #expect(Unpacked(skipped + zstd, .zstd, pieceLength: { length }).failure == nil)
        }
    }

    @Test(arguments: Packer.all) func whatFollowsTheEndIsAnError(packer: Packer) {
        for garbage in [[0], [0x1F], [0x1F, 0x8B], Array("garbage".utf8)] as [[UInt8]] {
            for length in [1, 64 << 10] {
                let result = Unpacked(packer.pack(text) + garbage, packer.coding, pieceLength: { length })
                #expect(result.failure?.name == .cannotDecodeRawData, "\(garbage)")
            }
        }
    }

    @Test(arguments: Packer.all) func noCutIsWhole(packer: Packer) {
        let packed = packer.pack(Array(text.prefix(2_000)))
        for count in 1..<packed.count {
            let failure = Unpacked(Array(packed.prefix(count)), packer.coding).failure
            #expect(failure?.name == .cannotDecodeRawData, "\(count) of \(packed.count)")
            #expect(failure?.message.contains("ends in the middle") == true)
        }
    }

    @Test func nothingAtAllIsNothingUnlessEverythingMayBeMissing() {
        for coding in ContentCoding.allCases {
            #expect(Unpacked([], coding).failure == nil)
            // Nothing is a file too, of no kind.
            if coding == .file { continue }
            #expect(Unpacked([], coding, endIsProven: false).failure?.name == .cannotDecodeRawData)
        }
    }

    @Test func wrongSumsAreErrors() {
        var gzip = Encoder.gzip(text)
        gzip[gzip.count - 6] ^= 1
        #expect(Unpacked(gzip, .gzip).failure?.message == "the gzip body is damaged: incorrect data check")
        gzip[gzip.count - 6] ^= 1
        gzip[gzip.count - 1] ^= 1
        #expect(Unpacked(gzip, .gzip).failure?.message == "the gzip body is damaged: incorrect length check")
        var zstd = Encoder.zstd(text)
        zstd[zstd.count - 1] ^= 1
        #expect(Unpacked(zstd, .zstd).failure?.message.contains("checksum") == true)
        var zlib = Encoder.zlib(text)
        zlib[zlib.count - 1] ^= 1
        #expect(Unpacked(zlib, .deflate).failure?.name == .cannotDecodeRawData)
        #expect(Unpacked(text, .gzip).failure?.name == .cannotDecodeRawData)
        #expect(Unpacked(text, .zstd).failure?.name == .cannotDecodeRawData)
        // With a dictionary that nobody has.
        #expect(Unpacked([0x78, 0xBB, 0, 0, 0, 1, 3, 0], .deflate).failure?.message.contains("dictionary") == true)
    }

    @Test func windowsAreBounded() {
        let largest = Encoder.zstd(text, windowLog: 23)
        #expect(Unpacked(largest, .zstd).bytes == text)
        let larger = Encoder.zstd(text, windowLog: 24)
        #expect(Unpacked(larger, .zstd).failure?.name == .cannotDecodeRawData)
        // One segment of 1 GiB, as its header claims.
        let claim: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0xA0, 0, 0, 0, 0x40, 1, 0, 0]
        #expect(Unpacked(claim, .zstd).failure?.name == .cannotDecodeRawData)
    }

    // MARK: Bounds

    @Test(arguments: Packer.all) func neverMoreThanTheMaximum(packer: Packer) {
        let content = Script.patternBytes(1_000_000)
        let packed = packer.pack(content)
        #expect(Unpacked(packed, packer.coding, bounds: SizeBounds(maximum: 1_000_000)).failure == nil)
        let result = Unpacked(packed, packer.coding, bounds: SizeBounds(maximum: 999_999))
        #expect(result.failure?.name == .dataLengthExceedsMaximum)
        #expect(result.bytes.count <= 999_999)
    }

    @Test func theSizeThatWasExpected() {
        let packed = Encoder.gzip(text)
        let size = Int64(text.count)
        #expect(Unpacked(packed, .gzip, bounds: SizeBounds(exact: size, least: size)).failure == nil)
        #expect(Unpacked(packed, .gzip, bounds: SizeBounds(exact: size + 1)).failure?.name == .unexpectedResponse)
        #expect(Unpacked(packed, .gzip, bounds: SizeBounds(least: size + 1)).failure?.name == .unexpectedResponse)
    }

    @Test(arguments: ["br", "zstd", "xz"]) func bombsStopAtAThousandToOne(name: String) throws {
        let packer = try #require(Packer.all.first { $0.name == name })
        let harmless = packer.pack(Array(repeating: 0, count: 10 << 20))
        #expect(harmless.count < 4_000)
        #expect(Unpacked(harmless, packer.coding).failure == nil)
        let bomb = Unpacked(packer.pack(Array(repeating: 0, count: 24 << 20)), packer.coding)
        #expect(bomb.failure?.name == .dataLengthExceedsMaximum)
        #expect(bomb.bytes.count <= 10 << 20)
    }

    @Test func aBombInABombIsOneToo() {
        // Each layer stays below a thousand to one; both together do not.
        var random = Seeded("aBombInABombIsOneToo")
        let content = random.bytes(8_000) + Array(repeating: 0, count: 24 << 20)
        let inner = Encoder.gzip(content, level: 9)
        #expect(content.count / inner.count < 1_000)
        #expect(Unpacked(inner, .gzip).failure == nil)
        let outer = Encoder.gzip(inner, level: 9)
        #expect(content.count / outer.count > 1_000)
        let result = Unpacked(outer, .gzip, .gzip)
        #expect(result.failure?.name == .dataLengthExceedsMaximum)
        #expect(result.bytes.count <= 10 << 20)
    }

    // MARK: Several codings

    @Test func theLastIsUndoneFirst() {
        let packed = Encoder.zstd(Encoder.brotli(Encoder.zlib(Encoder.gzip(text))))
        #expect(Unpacked(packed, .gzip, .deflate, .br, .zstd, pieceLength: { 11 }).bytes == text)
        #expect(Unpacked(packed, .zstd, .br, .deflate, .gzip).failure?.name == .cannotDecodeRawData)
        // The outer one ends well, the inner one is cut.
        let cut = Encoder.gzip(Array(Encoder.brotli(text).dropLast()))
        #expect(Unpacked(cut, .br, .gzip).failure?.message.contains("the br body ends in the middle") == true)
        #expect(Unpacked(Encoder.gzip([]), .br, .gzip).failure != nil)
    }

    @Test func afterAFailureNothingMoreIsDecoded() throws {
        let decoder = try Decoder([.gzip])
        func feed(_ bytes: [UInt8]) -> ErrorName? {
            do throws(TransferError) {
                try bytes.withUnsafeBufferPointer { bytes throws(TransferError) in
                    try decoder.decode(UnsafeRawBufferPointer(bytes)) { _ in Issue.record("something came out") }
                }
                return nil
            } catch {
                return error.name
            }
        }
        #expect(feed([1, 2, 3]) == .cannotDecodeRawData)
        #expect(feed(Encoder.gzip(text)) == .cannotDecodeRawData)
        #expect(throws: TransferError.self) { try decoder.finish { _ in } }
    }

    @Test func whatWriteThrowsComesOut() throws {
        let decoder = try Decoder([.gzip])
        let full = TransferError(.notEnoughDiskSpace, "full")
        #expect(throws: full) {
            try Encoder.gzip(text).withUnsafeBufferPointer { bytes throws(TransferError) in
                try decoder.decode(UnsafeRawBufferPointer(bytes)) { _ throws(TransferError) in throw full }
            }
        }
    }
}
