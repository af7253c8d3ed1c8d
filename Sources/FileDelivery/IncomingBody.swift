import Codecs
import TransferModel

/// A body on its way to the disk, from the first order that concerns it until it is published, left or discarded.
/// Owned by its delivery thread's `Publisher`.
final class IncomingBody {
    let id: StagingID
    /// The file that is being written; `nil` before the first byte and after a failure.
    var staging: Staging?
    /// Whether the file is readable for its owner alone until it gets its mode.
    var isConcealed = false
    /// The task to which the partial file's size is reported; `nil` if the body is not kept for a later run.
    var partTask: TaskIndex?
    /// Notes how far the body is; `nil` where nothing is noted.
    var note: (@Sendable (PartNote) -> Void)?
    /// The task to which a failure is reported at once; `nil` if only `publish` reports it.
    private var failingTask: TaskIndex?
    /// The first failure; later pieces are ignored.
    private(set) var failure: TransferError?
    /// Whether the failure was reported before `publish`.
    private(set) var isFailureReported = false
    /// The announced length in bytes, until there is a staging that takes it.
    private var announcedLength: Int64?
    private var decoder: Decoder?

    init(_ id: StagingID) { self.id = id }

    // MARK: Length

    /// Announces that `length` more bytes will come. The decoded length of an encoded body is not known.
    func expect(_ length: Int64) {
        guard !isEncoded else { return }
        if let staging { staging.expect(length) } else { announcedLength = length }
    }

    /// Writes to this file from now on, and tells it the length that was announced before.
    func beginWriting(to staging: Staging) {
        self.staging = staging
        if let announcedLength { staging.expect(announcedLength) }
        announcedLength = nil
    }

    // MARK: Decoding

    /// Whether the body is decoded on its way to the disk.
    var isEncoded: Bool { decoder != nil }

    /// Decodes all pieces that follow.
    func decode(_ decoding: BodyDecoding) throws(TransferError) {
        decoder = try Decoder(decoding.codings, bounds: decoding.sizes)
    }

    /// Passes `bytes` to `write`, decoded if the body is encoded.
    func decoded(
        _ bytes: UnsafeRawBufferPointer, _ write: (UnsafeRawBufferPointer) throws(TransferError) -> Void
    ) throws(TransferError) {
        guard let decoder else { return try write(bytes) }
        try decoder.decode(bytes, write)
        // A digest begins with the first piece, even if no decoded bytes came of it.
        if decoder.written == 0 { try write(UnsafeRawBufferPointer(start: nil, count: 0)) }
    }

    /// Ends decoding: throws when the body is incomplete or its decoded size is not allowed. `write` gets the bytes
    /// that were held back until now.
    func finishDecoding(
        endIsProven: Bool, _ write: (UnsafeRawBufferPointer) throws(TransferError) -> Void
    ) throws(TransferError) {
        try decoder?.finish(endIsProven: endIsProven, write)
    }

    // MARK: Failure

    /// Reports a failure to the task as soon as it is met: what still comes of the body would be received in vain.
    func reportFailures(to task: TaskIndex) { failingTask = task }

    /// Fails the body and removes its file.
    func fail(_ error: TransferError) {
        failure = error
        decoder = nil
        removeFile()
    }

    /// Notes that the failure was reported.
    func failureWasReported() { isFailureReported = true }

    /// Returns the task to which the failure is to be reported now, and notes that it was; `nil` if only `publish`
    /// reports it or it was reported already.
    func takeFailedTask() -> TaskIndex? {
        guard failure != nil, !isFailureReported, let failingTask else { return nil }
        isFailureReported = true
        return failingTask
    }

    /// Removes the file and the name that it may have.
    func removeFile() {
        staging?.remove()
        staging = nil
    }
}
