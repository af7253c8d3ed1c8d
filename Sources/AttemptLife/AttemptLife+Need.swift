package import HTTPRules
package import TransferModel

// `existing` of an upload: the server is asked by a HEAD, before the body is sent, whether it needs it.

/// A question that the server is asked before an upload.
package enum UploadQuestion: Sendable {
    /// Whether the server has anything at the URL (`existing: skip`).
    case isAnythingThere
    /// Whether the server still has what was sent before (`existing: revalidate`).
    case isStillStored(SentUpload)

    private static let ofBody: Set<String> = [
        "content-type", "content-encoding", "content-language", "content-disposition",
    ]

    /// Returns the upload's headers without those that describe its body, or say when it is to be stored. Where lengths
    /// are compared, the answer must not be compressed.
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
    /// The question before the upload, until it is answered.
    var uploadQuestion: UploadQuestion? { if case .upload(let question) = question { question } else { nil } }

    /// Whether the present request is the question and not the upload.
    package var asksWhetherNeeded: Bool { uploadQuestion != nil }

    /// Makes the first request a HEAD. Call before anything is sent, and after the URL is secured.
    package func askWhetherNeeded(_ question: UploadQuestion = .isAnythingThere) {
        self.question = .upload(question)
        request.method = "HEAD"
        request.sendsBody = false
        request.expectsContinue = false
        request.headers = question.headers(request.headers)
    }

    func judgeNeed(_ question: UploadQuestion, _ status: Int, _ headers: HeaderBlock) -> ResponseMeaning {
        switch question {
        case .isAnythingThere: isAnythingThere(status, headers)
        case .isStillStored(let sent): isStillStored(sent, status, headers)
        }
    }

    /// Judges the answer to whether anything is there. The upload is sent where nothing is, or where the server does
    /// not know the question. Any other unexpected status fails the task. So does a redirect to a web page: it may be a
    /// login, which answers 200 whatever is asked.
    private func isAnythingThere(_ status: Int, _ headers: HeaderBlock) -> ResponseMeaning {
        switch status {
        case 404, 405, 410, 501: .uploadIsNeeded
        case 200..<300 where builder.hops > 0 && isForeignPage(headers): pageRefusal()
        case 200..<300: .uploadIsThere
        default: refusal(status)
        }
    }

    /// Whether the server answered a web page although the file's name is not that of one.
    private func isForeignPage(_ headers: HeaderBlock) -> Bool {
        guard let type = headers.first("content-type").flatMap({ MediaType($0) }), WebPage.isType(type.type) else {
            return false
        }
        let name = builder.begin.path.lowercased()
        return !name.hasSuffix(".html") && !name.hasSuffix(".htm") && !name.hasSuffix(".xhtml")
    }

    private func pageRefusal() -> ResponseMeaning {
        let what = "\(request.method) \(builder.begin.text): it was led to a web page, \(request.url.text)"
        return .failure(TransferError(.unexpectedHTML, "\(what), which does not say whether the file is there"), nil)
    }

    /// Judges the answer to whether the server still has the upload. Only a server that asks for quiet fails the task:
    /// after any other response but a proof the upload is sent, and its own response tells whether the server takes it.
    private func isStillStored(_ sent: SentUpload, _ status: Int, _ headers: HeaderBlock) -> ResponseMeaning {
        switch status {
        case 429, 503: refusal(status)
        case 200..<300 where sent.isStored(headers, isSameUser: resumption.mark.fits(sent.asked)): .uploadIsThere
        default: .uploadIsNeeded
        }
    }

    private func refusal(_ status: Int) -> ResponseMeaning {
        let what = "\(request.method) \(request.url.text): \(StatusReason.text(status))"
        return .failure(TransferError(.unexpectedResponse, what), nil)
    }

    /// Returns the upload where the server broke the connection off at the question whether it still has it, and `nil`
    /// where that fails the attempt.
    func uploadWithoutAnswer(_ end: TransportEnd) -> NextStep? {
        guard case .isStillStored = uploadQuestion, end.wasSent, !end.lostNetwork, end.error?.name.saysHungUp == true
        else { return nil }
        return .send(uploadAfterQuestion(), nil)
    }

    /// Makes the request the upload as it would have been without the question: to where the task says, wherever the
    /// question was redirected to.
    func uploadAfterQuestion() -> OutgoingRequest {
        question = .none
        request = builder.afterQuestion(request)
        request.sendsBody = rules.hasBody
        request.expectsContinue = rules.expectsContinue
        builder.addUpload(to: &request)
        return request
    }
}
