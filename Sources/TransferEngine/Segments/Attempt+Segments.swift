import AttemptLife
import CurlCore
import FileDelivery
import HTTPRules
import TransferModel

extension Attempt {
    /// The validator with which a part of the answered file can be asked for; `nil` where it must come in one stream.
    var partValidator: String? {
        guard exchange.decision == .keep, life.type == .download, !streams.isDisabled, !isLookingUp,
            !exchange.endedByUs, origin != nil,
            life.request.isPlainGet, !life.asksForPart, specification.options.values.decompress == .no,
            let head = exchange.head,
            ContentEncoding.text(head.headers) == nil
        else { return nil }
        if let begun = life.resume, life.offset > 0 {
            let validator = Resuming.validator(head.headers, continuing: begun)
            return validator.isEmpty ? nil : validator
        }
        return head.status == 200 ? Resuming.validator(head.headers) : nil
    }

    /// Bytes of the answer's body, whichever stream brought them.
    var bodyReceived: Int64 { streams.segmented?.plan.received ?? exchange.received }

    /// The file is there without a hole up to here.
    var prefix: Int64 { streams.segmented?.plan.frontier ?? life.offset + exchange.received }

    /// Bytes of the answer to the ordinary request, while others bring what lies further on.
    func receivedFirst(_ bytes: UnsafeRawBufferPointer, _ parts: SegmentedBody) -> BodyReply {
        let taken = parts.plan.received(bytes.count, by: SegmentPlan.first)
        coalesce(UnsafeRawBufferPointer(rebasing: bytes[..<taken.count]))
        guard taken.mustStop else { return .taken }
        exchange.endedByUs = true
        return .stop
    }

    func takeBuffer() -> BodyBuffer { pool.take() }
}
