import HTTPRules
import TransferModel

// `existing: skip` of an upload: the server is asked first whether it has something there.

extension AttemptLife {
    /// Makes the first request a HEAD. Call before anything is sent, and after the URL is secured.
    package func askWhetherNeeded() {
        asksWhetherNeeded = true
        request.method = "HEAD"
        request.sendsBody = false
        request.expectsContinue = false
        request.headers.removeAll { Self.ofBody.contains($0.name.lowercased()) }
    }

    private static let ofBody: Set<String> = [
        "content-type", "content-encoding", "content-language", "content-disposition",
    ]

    /// Nothing there, or a server that knows no such question: send it. Whatever else is not as expected fails the task.
    func judgeNeed(_ status: Int) -> HeadDecision {
        switch status {
        case 404, 405, 410, 501: answer = .uploadIsNeeded
        case 200..<300: answer = .uploadIsThere
        default:
            let what = "\(request.method) \(request.url.text): \(StatusReason.text(status))"
            answer = .failure(TransferError(.unexpectedResponse, what), nil)
        }
        return .discard
    }

    /// The upload as it would have been without the question: to where the task says, whatever the question was led to.
    func uploadAfterQuestion() -> OutgoingRequest {
        asksWhetherNeeded = false
        hops = 0
        request.url = begin
        request.method = rules.method
        request.headers = rules.headers
        request.sendsBody = rules.hasBody
        request.expectsContinue = rules.expectsContinue
        request.isDressed = false
        addUpload()
        return request
    }
}
