package import TransferModel

/// Unpacks a body piece by piece, as it comes. What comes out is bounded, and so is the memory it takes: a buffer of
/// 128 KiB for each coding and the library's window (32 KiB for gzip, 16 MiB for br, 8 MiB for zstd at most; of a file that is
/// itself packed up to 128 MiB for zstd and xz).
///
/// Belongs to one thread at a time.
package final class Decoder {
    /// Below this no ratio is looked at.
    package static let harmlessOutput: Int64 = 10 << 20
    /// Beyond it, a byte that came in may give so many: what gives more was made to fill a disk.
    package static let highestRatio: Int64 = 1_000

    /// The first is undone first.
    private let stages: [Stage]
    private let bounds: SizeBounds
    /// Bytes it was given.
    package private(set) var received: Int64 = 0
    /// Bytes it gave out.
    package private(set) var written: Int64 = 0
    /// After one nothing more is decoded.
    private var failure: TransferError?

    /// `codings` in the order in which they were applied.
    package init(_ codings: [ContentCoding], bounds: SizeBounds = SizeBounds()) throws(TransferError) {
        var stages: [Stage] = []
        for coding in codings.reversed() { stages.append(try Stage(coding)) }
        self.stages = stages
        self.bounds = bounds
    }

    /// Hands what comes of `bytes` to `write`, in pieces that are gone when it returns. Whatever `write` throws ends the
    /// decoding too.
    package func decode(
        _ bytes: UnsafeRawBufferPointer, _ write: (UnsafeRawBufferPointer) throws(TransferError) -> Void
    ) throws(TransferError) {
        if let failure { throw failure }
        received += Int64(bytes.count)
        do throws(TransferError) {
            unsafe try pass(bytes, through: 0, write)
        } catch {
            failure = error
            throw error
        }
    }

    /// There is no more. Nothing at all unpacks to nothing, as from servers that label an empty body, unless it could be
    /// that everything is missing: `endIsProven` says whether the transport knows where the body ended. `write` gets what
    /// was held back until the end.
    package func finish(
        endIsProven: Bool = true, _ write: (UnsafeRawBufferPointer) throws(TransferError) -> Void
    ) throws(TransferError) {
        if let failure { throw failure }
        if received > 0 || !endIsProven {
            for stage in stages where !stage.codec.isWhole { throw stage.coding.cut }
        }
        for (index, stage) in stages.enumerated() where !stage.codec.held.isEmpty {
            unsafe try stage.codec.held.withUnsafeBufferPointer { held throws(TransferError) in
                unsafe try pass(UnsafeRawBufferPointer(held), through: index + 1, write)
            }
        }
        if let misfit = bounds.misfit(written, verb: "the body unpacks to") { throw misfit }
    }

    private func pass(
        _ bytes: UnsafeRawBufferPointer, through index: Int,
        _ write: (UnsafeRawBufferPointer) throws(TransferError) -> Void
    ) throws(TransferError) {
        guard index < stages.count else { return unsafe try give(bytes, write) }
        let stage = stages[index]
        unsafe try stage.decode(bytes) { piece throws(TransferError) in
            guard stage.produced <= Self.harmlessOutput || stage.produced / Self.highestRatio <= stages[0].consumed
            else {
                throw TransferError(
                    .dataLengthExceedsMaximum,
                    "the body unpacks to more than \(Self.highestRatio) times what was sent")
            }
            unsafe try pass(piece, through: index + 1, write)
        }
    }

    private func give(
        _ bytes: UnsafeRawBufferPointer, _ write: (UnsafeRawBufferPointer) throws(TransferError) -> Void
    ) throws(TransferError) {
        let count = Int64(bytes.count)
        if let maximum = bounds.maximum, written + count > maximum { throw SizeBounds.tooLong(maximum) }
        written += count
        unsafe try write(bytes)
    }
}

/// One coding's decoder with the buffer it writes into.
@safe private final class Stage {
    let coding: ContentCoding
    let codec: any Codec
    private(set) var consumed: Int64 = 0
    private(set) var produced: Int64 = 0
    private let buffer: UnsafeMutableRawBufferPointer

    /// What a zstd block unpacks to at most.
    private static let bufferSize = 128 << 10

    init(_ coding: ContentCoding) throws(TransferError) {
        self.coding = coding
        codec = try coding.makeCodec()
        unsafe buffer = .allocate(byteCount: Self.bufferSize, alignment: 64)
    }

    deinit { unsafe buffer.deallocate() }

    func decode(
        _ bytes: UnsafeRawBufferPointer, _ give: (UnsafeRawBufferPointer) throws(TransferError) -> Void
    ) throws(TransferError) {
        var input = unsafe bytes
        while true {
            let before = input.count
            let count = unsafe try codec.step(&input, into: buffer)
            let taken = before - input.count
            consumed += Int64(taken)
            produced += Int64(count)
            if count > 0 { unsafe try give(UnsafeRawBufferPointer(rebasing: buffer[..<count])) }
            if unsafe input.isEmpty, unsafe count < buffer.count { return }
            // A library that is at its wits' end must not keep us here.
            if taken == 0, count == 0 { throw coding.damage("it leads nowhere") }
        }
    }
}
