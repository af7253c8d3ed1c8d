import HTTPRules
package import TransferModel

/// Checks what the job expects of a response, in this order: status, length, type and headers, first bytes. A digest is
/// checked last, when all of the body has come.
extension AttemptRules {
    /// Returns the error of a status that is not expected. A job that accepts a refused redirect accepts its status,
    /// too, unless it names others. `asker` is the proxy, where the response is its challenge.
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

    /// Returns the error with all that the headers miss, where the job names more than the status.
    func withAllMisses(_ miss: TransferError, _ headers: HeaderBlock) -> TransferError {
        expect.status == .success ? miss : Self.all([miss, missedHead(headers)]) ?? miss
    }

    /// Returns the error of all that the headers miss, each with what was sent.
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

    /// Returns the error of a type that is not expected. A web page is none where the job names that type.
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

    /// Returns why the content of a source without a connection (`file:`, `data:`) is not as expected. `start` is all
    /// of it, or at least `BodyStart.longest` bytes; the headers hold the type only.
    package func miss(_ headers: HeaderBlock, size: Int64, start: some Sequence<UInt8>) -> TransferError? {
        // The length of a file that is unpacked is known only at its end.
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
