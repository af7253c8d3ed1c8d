import AttemptLife
import Codecs
import CurlCore
import FileDelivery
import TransferModel

/// Bodies that come packed and are not to stay so. A download's is unpacked by a delivery thread; an answer's here, as
/// it comes, so that the loop never stands still for the whole of one.
extension Attempt {
    /// The headers said that the body is worth keeping. `false` ends the transfer.
    func beginDecoding() -> Bool {
        if isDownload, !life.isDeclined {
            outbox.add(.decode(download.staging, task, BodyDecoding(life.codings, sizes: life.sizes)))
            return true
        }
        do throws(TransferError) {
            exchange.decoder = try Decoder(life.codings, bounds: rules.sizes)
            return true
        } catch {
            exchange.bodyFailure = error
            return false
        }
    }

    /// Keeps a piece of what a server sent in the place of the file: the beginning of it is told.
    func keepErrorPage(_ bytes: UnsafeRawBufferPointer) -> BodyReply {
        if !keep(bytes) {
            exchange.bodyFailure = nil
            exchange.endedByUs = true
        }
        if exchange.body.count >= Self.longestErrorPage {
            exchange.body.removeLast(exchange.body.count - Self.longestErrorPage)
            exchange.endedByUs = true
        }
        return exchange.endedByUs ? .stop : .taken
    }

    /// One byte more than the report shows: it says that there was more.
    private static let longestErrorPage = (64 << 10) + 1

    /// Keeps a piece of an answer's body; `false` when what is left of it is not wanted any more.
    func keep(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let decoder = exchange.decoder else {
            exchange.body.append(contentsOf: bytes)
            return true
        }
        do throws(TransferError) {
            try decoder.decode(bytes) { exchange.body.append(contentsOf: $0) }
            return true
        } catch {
            exchange.bodyFailure = error
            return false
        }
    }

    /// Why an answer's body, of which nothing more comes, is not the one wanted.
    func endDecoding() -> TransferError? {
        do throws(TransferError) {
            try exchange.decoder?.finish(endIsProven: !download.lengthUnverified) {
                exchange.body.append(contentsOf: $0)
            }
            return nil
        } catch {
            return error
        }
    }
}
