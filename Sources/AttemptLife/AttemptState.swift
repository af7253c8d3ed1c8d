import HTTPRules
import TransferModel

extension AttemptLife {
    /// How far the present request is.
    enum State: Sendable {
        /// The request is about to be sent, or its response has not come.
        case requesting
        /// The headers of its response came, or an interim response settled what follows.
        case answered(ResponseMeaning)
        /// A credential is being looked up: before the request, or for its response (`meaning`). `end` is that of the
        /// response once it is over.
        indirect case awaitingCredential(CredentialQuery, meaning: ResponseMeaning?, end: TransportEnd?)

        /// What the response means, if there is one.
        var meaning: ResponseMeaning? {
            switch self {
            case .requesting: nil
            case .answered(let meaning): meaning
            case .awaitingCredential(_, let meaning, _): meaning
            }
        }

        /// Gives the response that came another meaning.
        mutating func replaceMeaning(_ meaning: ResponseMeaning) {
            switch self {
            case .requesting, .answered: self = .answered(meaning)
            case .awaitingCredential(let query, _, let end):
                self = .awaitingCredential(query, meaning: meaning, end: end)
            }
        }
    }

    /// What the headers of a response lead to when its transfer ends. Most responses are the result: what the others
    /// hold is boxed, so that the result's meaning stays small.
    enum ResponseMeaning: Sendable {
        /// The request that follows a redirect.
        indirect case redirect(RequestBuilder.Hop, RedirectRecord)
        /// The response is the result. The record is there when it is a refused redirect that is accepted.
        case result(BodyFraming, RedirectRecord?)
        /// A 304 to a condition of the task. To a request without one it is a response like any other.
        case notModified
        /// Sends the same request again, alone on a connection: the end of a shared stream would prove nothing.
        case unprovenStream
        /// Sends the same request without a range: the response does not continue the part.
        case rangeIsUnusable
        /// Sends the same request, with its body and without `Expect`.
        case expectationRefused
        /// Sends the same request without a condition: the 304 says nothing of the existing file.
        case conditionIsUnusable
        /// A HEAD follows, which says how long the server's file is.
        case conditionIsUnproven
        /// The attempt fails. The record is that of a refused redirect.
        indirect case failure(TransferError, RedirectRecord?)
        /// Sends the same request again with a credential.
        case challengeAnswered
        /// The answer to whether the upload is needed: it is, or the server has it already.
        case uploadIsNeeded, uploadIsThere
        /// The answer to the question about a part that another program left.
        indirect case partJudged(ForeignPart.Verdict)
        /// The next step of a resumable upload.
        indirect case upload(ResumableUpload.Step)
        /// A challenge is to cancel the task.
        indirect case cancelled(TransferError)
        /// A rule of `onResponse` ends the task with this response.
        indirect case ruledOut(TransferError)

        /// Whether the response is the attempt's result and not a step on the way.
        var isFinal: Bool {
            switch self {
            case .redirect, .unprovenStream, .rangeIsUnusable, .expectationRefused, .conditionIsUnusable,
                .conditionIsUnproven, .challengeAnswered, .upload, .cancelled, .uploadIsNeeded, .partJudged:
                false
            case .uploadIsThere, .result, .notModified, .failure, .ruledOut: true
            }
        }
    }

    /// The meaning of a response's headers, and whether its body is read.
    struct HeadVerdict: Sendable {
        let meaning: ResponseMeaning
        let body: HeadDecision

        /// The body is the result, or worth telling in the report.
        static func keep(_ meaning: ResponseMeaning) -> HeadVerdict { HeadVerdict(meaning: meaning, body: .keep) }
        /// The body is read and dropped.
        static func discard(_ meaning: ResponseMeaning) -> HeadVerdict {
            HeadVerdict(meaning: meaning, body: .discard)
        }
        /// The transfer ends without its body.
        static func abort(_ meaning: ResponseMeaning) -> HeadVerdict { HeadVerdict(meaning: meaning, body: .abort) }
    }

    /// What a HEAD asks before the task's own request is sent.
    enum Question: Sendable {
        case none
        /// How long the server's file is: a condition on the file's time proves too little alone.
        case length
        /// Whether a part that another program left is one of the server's file.
        case part(ForeignPart)
        /// Whether the upload is needed.
        case upload(UploadQuestion)

        /// Whether it is asked before a download.
        var isOfDownload: Bool {
            switch self {
            case .length, .part: true
            case .none, .upload: false
            }
        }
    }
}
