package import HTTPRules
package import TransferModel

// `existing` of an upload: the server is asked by a HEAD, before the body is sent, whether it needs it.

/// What the server is asked before an upload.
package enum UploadQuestion: Sendable {
    /// `existing: skip`: whether it has anything there.
    case isAnythingThere
    /// `existing: revalidate`: whether it still has what was sent before.
    case isStillStored(SentUpload)

    private static let ofBody: Set<String> = [
        "content-type", "content-encoding", "content-language", "content-disposition",
    ]

    /// Returns the upload's headers without those that describe its body, or say when it is to be stored. Where lengths are
    /// compared, the answer must not be compressed.
    package func headers(_ ofUpload: [HeaderField]) -> [HeaderField] {
        var headers = ofUpload.filter { header in
            !Self.ofBody.contains(header.name.lowercased()) && !Revalidation.isPrecondition(header.name)
        }
        if case .isStillStored = self {
            headers.removeAll { $0.isNamed("accept-encoding") }
            headers.append(HeaderField(name: "Accept-Encoding", value: "identity"))
        }
        return headers
    }
}

extension AttemptLife {
    /// Whether the request under way is the question and not the upload.
    package var asksWhetherNeeded: Bool { uploadQuestion != nil }

    /// Makes the first request a HEAD. Call before anything is sent, and after the URL is secured.
    package func askWhetherNeeded(_ question: UploadQuestion = .isAnythingThere) {
        uploadQuestion = question
        request.method = "HEAD"
        request.sendsBody = false
        request.expectsContinue = false
        request.headers = question.headers(request.headers)
    }

    func judgeNeed(_ question: UploadQuestion, _ status: Int, _ headers: HeaderBlock) -> HeadDecision {
        switch question {
        case .isAnythingThere: answer = isAnythingThere(status)
        case .isStillStored(let sent): answer = isStillStored(sent, status, headers)
        }
        return .discard
    }

    /// Nothing there, or a server that knows no such question: send it. Whatever else is not as expected fails the task.
    private func isAnythingThere(_ status: Int) -> Answer {
        switch status {
        case 404, 405, 410, 501: .uploadIsNeeded
        case 200..<300: .uploadIsThere
        default: refusal(status)
        }
    }

    /// Only a server that asks for quiet gets it: of any other answer but a proof, the upload tells what it is worth.
    private func isStillStored(_ sent: SentUpload, _ status: Int, _ headers: HeaderBlock) -> Answer {
        switch status {
        case 429, 503: refusal(status)
        case 200..<300 where sent.isStored(headers, isSameUser: mark.fits(sent.asked)): .uploadIsThere
        default: .uploadIsNeeded
        }
    }

    private func refusal(_ status: Int) -> Answer {
        let what = "\(request.method) \(request.url.text): \(StatusReason.text(status))"
        return .failure(TransferError(.unexpectedResponse, what), nil)
    }

    /// The upload, where the server broke the connection off at the question whether it still has it; `nil`: it fails.
    func uploadWithoutAnswer(_ end: TransportEnd) -> NextStep? {
        guard case .isStillStored = uploadQuestion, end.wasSent, !end.lostNetwork, end.error?.name.saysHungUp == true
        else { return nil }
        return .send(uploadAfterQuestion(), nil)
    }

    /// The upload as it would have been without the question: to where the task says, whatever the question was led to.
    func uploadAfterQuestion() -> OutgoingRequest {
        uploadQuestion = nil
        request = builder.afterQuestion(request)
        request.sendsBody = rules.hasBody
        request.expectsContinue = rules.expectsContinue
        builder.addUpload(to: &request)
        return request
    }
}
