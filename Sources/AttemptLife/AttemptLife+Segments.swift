package import HTTPRules
import TransferModel

extension AttemptLife {
    /// The request that was answered, for a part of what it was answered with: to the same place, with the headers that
    /// went there, but for conditions of another kind.
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
