import AttemptLife
import Codecs
import FileDelivery
import TransferModel

/// Bodies that come packed and are not to stay so. A download's is unpacked by a delivery thread; an answer's here, as
/// it comes, so that the loop never stands still for the whole of one.
extension Attempt {
    /// The headers said that the body is worth keeping. `false` ends the transfer.
    func beginDecoding() -> Bool {
        if isDownload {
            outbox.add(.decode(staging, task, BodyDecoding(life.codings, sizes: life.sizes)))
            return true
        }
        do throws(TransferError) {
            decoder = try Decoder(life.codings, bounds: rules.sizes)
            return true
        } catch {
            bodyFailure = error
            return false
        }
    }

    /// Keeps a piece of an answer's body; `false` when what is left of it is not wanted any more.
    func keep(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let decoder else {
            kept.append(contentsOf: bytes)
            return true
        }
        do throws(TransferError) {
            try decoder.decode(bytes) { kept.append(contentsOf: $0) }
            return true
        } catch {
            bodyFailure = error
            return false
        }
    }

    /// Why an answer's body, of which nothing more comes, is not the one wanted.
    func endDecoding() -> TransferError? {
        do throws(TransferError) {
            try decoder?.finish(endIsProven: !lengthUnverified)
            return nil
        } catch {
            return error
        }
    }
}
