import Codecs
import TestSupport
import Testing
import TransferModel

/// What a decoder made of a body, and what it complained about.
struct Unpacked {
    var bytes: [UInt8] = []
    var failure: TransferError?
    /// The longest piece that was handed over.
    var longestPiece = 0

    /// Feeds `body` in pieces that are as long as `pieceLength` says.
    init(
        _ body: [UInt8], _ codings: ContentCoding..., bounds: SizeBounds = SizeBounds(), endIsProven: Bool = true,
        pieceLength: () -> Int = { 64 << 10 }
    ) {
        self.init(body, codings: codings, bounds: bounds, endIsProven: endIsProven, pieceLength: pieceLength)
    }

    init(
        _ body: [UInt8], codings: [ContentCoding], bounds: SizeBounds = SizeBounds(), endIsProven: Bool = true,
        pieceLength: () -> Int = { 64 << 10 }
    ) {
        do throws(TransferError) {
            let decoder = try Decoder(codings, bounds: bounds)
            var rest = body[...]
            while !rest.isEmpty {
                let piece = Array(rest.prefix(max(1, pieceLength())))
                rest = rest.dropFirst(piece.count)
                try feed(decoder, piece)
            }
            try decoder.finish(endIsProven: endIsProven) { bytes.append(contentsOf: $0) }
        } catch {
            failure = error
        }
    }

    private mutating func feed(_ decoder: Decoder, _ piece: [UInt8]) throws(TransferError) {
        try piece.withUnsafeBufferPointer { piece throws(TransferError) in
            try decoder.decode(UnsafeRawBufferPointer(piece)) { output in
                bytes.append(contentsOf: output)
                longestPiece = max(longestPiece, output.count)
            }
        }
    }
}

/// A coding with an encoder of it.
struct Packer: CustomTestStringConvertible, Sendable {
    let name: String
    let coding: ContentCoding
    let pack: @Sendable ([UInt8]) -> [UInt8]
    /// Whether a changed byte cannot go unnoticed.
    let hasSum: Bool
    var testDescription: String { name }

    static let all = [
        Packer(name: "gzip", coding: .gzip, pack: { Encoder.gzip($0) }, hasSum: true),
        Packer(name: "zlib", coding: .deflate, pack: { Encoder.zlib($0) }, hasSum: true),
        Packer(name: "raw deflate", coding: .deflate, pack: { Encoder.rawDeflate($0) }, hasSum: false),
        Packer(name: "br", coding: .br, pack: { Encoder.brotli($0) }, hasSum: false),
        Packer(name: "zstd", coding: .zstd, pack: { Encoder.zstd($0) }, hasSum: true),
        Packer(name: "zstd without sums", coding: .zstd, pack: { Encoder.zstd($0, hasChecksum: false) }, hasSum: false),
        Packer(name: "xz", coding: .xz, pack: { Encoder.xz($0) }, hasSum: true),
    ]
}

extension Packer {
    /// Files that say themselves how they are packed.
    static let files = all.filter { ["gzip", "zstd", "xz"].contains($0.name) }
}

extension Seeded {
    /// Content as bodies have it: text that repeats itself, noise, or long runs of one byte.
    mutating func content(upTo bound: Int) -> [UInt8] {
        let count = below(bound)
        switch below(4) {
        case 0: return bytes(count)
        case 1: return Array(repeating: UInt8(below(256)), count: count)
        case 2: return Script.patternBytes(count)
        default:
            let words = (0..<20).map { _ in bytes(1 + below(12)) }
            var content: [UInt8] = []
            while content.count < count { content += pick(words) }
            return Array(content.prefix(count))
        }
    }
}
