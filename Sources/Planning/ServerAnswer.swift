package import TransferModel

/// A server's answer about one task's URL, asked before a run.
package struct ServerAnswer: Hashable, Sendable {
    /// The server's own answer, or why there is none.
    package enum Result: Hashable, Sendable {
        /// A response that the task would take.
        case answered
        /// A response or failure with which the task would fail.
        case failed(String)
        /// The question would do something at the server, or its URL is not known yet.
        case notAsked(String)
    }
    /// How the question ended.
    package var result: Result
    /// Status of the last response; `nil` without one.
    package var status: Int?
    /// URL that answered, after redirects.
    package var url: String?
    /// Length of the body that a GET would bring; `nil` if the server did not say.
    package var length: Int64?
    /// `ETag`, as sent.
    package var etag: String?
    /// `Last-Modified`, as sent.
    package var lastModified: String?
    /// Whether the server has another version than the file here; `nil` where that cannot be told.
    package var isChanged: Bool?
    /// Time from the request to the head of its response.
    package var latency: TimeSpan?

    package init(_ result: Result) { self.result = result }
}

extension ServerAnswer {
    /// What a saved plan keeps of the answer; `nil` where there is none.
    package func held(_ task: TaskSpecification, _ redactor: Redactor) -> HeldAnswer? {
        guard case .answered = result, let url else { return nil }
        var held = HeldAnswer(url: HeldAnswer.recorded(url, of: task.location.url?.text, redactor))
        (held.size, held.etag, held.lastModified) = (length, redactor.redacted(etag), lastModified)
        return held
    }
}
