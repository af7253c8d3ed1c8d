import SystemIO
package import TransferModel

/// A file that was opened for reading on another thread; it stays the same file whatever becomes of its name.
package final class OpenedFile: Sendable {
    private let path: String
    private let file: LocalFiles.OpenFile

    init(_ file: consuming LocalFiles.OpenFile, path: String) {
        self.file = file
        self.path = path
    }

    /// Passes the whole file to `piece`, in pieces that are gone when it returns; what `piece` throws is thrown once the
    /// file was read.
    package func read(_ piece: (UnsafeRawBufferPointer) throws(TransferError) -> Void) throws(TransferError) {
        var failure: TransferError?
        try LocalFiles.read(file, path, maximum: nil) { bytes in
            guard failure == nil else { return }
            do throws(TransferError) { try piece(bytes) } catch { failure = error }
        }
        if let failure { throw failure }
    }
}
