import HTTPRules
package import TransferModel

/// What must hold of an answer, in the order in which it is asked: status, length, type and headers, beginning. A
/// digest comes last, when all of the body is there.
extension AttemptRules {
    /// Whoever accepts a refused redirect means its status too, unless the job asks for others by itself. `asker` is
    /// the proxy that wants to know who asks, where the answer is that.
    func missedStatus(
        _ status: Int, isAccepted: Bool, asker: Origin? = nil, to request: OutgoingRequest? = nil
    ) -> TransferError? {
        let isMeant = isAccepted && expect.status == .success
        if isMeant || expect.status.contains(status) { return nil }
        if let asker {
            return TransferError(
                .unexpectedResponse,
                "the proxy \(asker.host):\(asker.port) answered \(status): it wants to know who asks")
        }
        let what = request.map { "\($0.method) \($0.url.text)" } ?? "the request"
        let wanted = expect.status == .success ? "" : " (expected \(expect.status.words))"
        return TransferError(.unexpectedResponse, "\(what): \(StatusReason.text(status))\(wanted)")
    }

    /// A job that names a status may name more of the same answer.
    func withAllMisses(_ miss: TransferError, _ headers: HeaderBlock) -> TransferError {
        expect.status == .success ? miss : Self.all([miss, missedHead(headers)]) ?? miss
    }

    /// All that the headers miss, each with what was sent.
    func missedHead(_ headers: HeaderBlock) -> TransferError? {
        Self.all([missedType(headers)] + headerExpectations.misses(in: headers))
    }

    private static func all(_ misses: [TransferError?]) -> TransferError? {
        let misses = misses.compactMap(\.self)
        guard var first = misses.first else { return nil }
        first.message = misses.map(\.message).joined(separator: "; ")
        return first
    }

    private func missedType(_ headers: HeaderBlock) -> TransferError? {
        guard expect.mimeType != nil || expect.notHTML else { return nil }
        let sent = headers.first("content-type")
        return missedType(sent.flatMap { MediaType($0) }, sent: sent)
    }

    /// A job that names a type and gets it asked for it, a web page or not.
    private func missedType(_ type: MediaType?, sent: String?) -> TransferError? {
        if let pattern = expect.mimeType {
            if let type, type.matches(pattern) { return nil }
            return TransferError(.unexpectedResponse, "expected type \(pattern), the server sent \(sent ?? "none")")
        }
        if expect.notHTML, let type, WebPage.isType(type.type) {
            return TransferError(.unexpectedHTML, "the server sent a web page (\(type.type))")
        }
        return nil
    }

    /// Why what a source without a connection gave (`file:`, `data:`) is not the one wanted. `start` is all of it, or
    /// at least `BodyStart.longest` bytes; there are no headers but the type.
    package func miss(_ headers: HeaderBlock, size: Int64, start: some Sequence<UInt8>) -> TransferError? {
        // How long a file is that is unpacked shows at its end.
        if !unpacksFile, let error = sizes.misfit(size, verb: "the source has") { return error }
        if let error = missedHead(headers) { return error }
        guard var beginning = BodyStart(expect) else { return nil }
        do throws(TransferError) {
            try beginning.take(start)
            try beginning.end()
            return nil
        } catch {
            return error
        }
    }
}
