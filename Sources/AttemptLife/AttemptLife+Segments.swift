package import HTTPRules
import TransferModel

extension AttemptLife {
    /// Returns a request for a part of the file that the last response brings: to the same URL, with the same headers
    /// but for other conditions.
    package func request(for part: PartRequest) -> OutgoingRequest {
        var request = request
        request.headers.removeAll { Self.conditions.contains($0.name.lowercased()) }
        request.headers += part.headers
        request.isConditional = false
        return request
    }

    private static let conditions: Set<String> = [
        "range", "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
    ]
}
