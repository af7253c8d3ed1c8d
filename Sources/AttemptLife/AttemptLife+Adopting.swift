package import HTTPRules
import TransferModel

// `resume: adopt`: a HEAD asks about the server's file before the one that stands under the final name is adopted.

/// What a HEAD asks about, and whether the server let it down.
struct PartQuestion {
    /// `nil` when the present request is the task's own.
    var part: ForeignPart?
    /// The server broke the connection off at the HEAD, or said nothing.
    private(set) var isRefused = false

    mutating func unanswered(_ end: TransportEnd, asksForLength: Bool) {
        if part != nil || asksForLength, end.mayBeTheRange { isRefused = true }
    }
}

extension AttemptLife {
    /// Makes the first request a HEAD, without the conditions of the one that it is asked before. Call before anything is
    /// sent, and after the URL is secured.
    package func ask(about part: ForeignPart) {
        partQuestion.part = part
        request.method = "HEAD"
        request.headers = rules.headers
        request.isConditional = false
    }

    /// Whether the present request is that HEAD.
    package var asksAboutPart: Bool { partQuestion.part != nil }

    /// The server broke the connection off at a HEAD, or said nothing.
    package var brokeAtQuestion: Bool { partQuestion.isRefused }

    /// Nothing is known of the existing file but its time: it may be a part as well as the whole.
    package var asksByTime: Bool { builder.condition?.size != nil }

    func judgeForeignPart(_ part: ForeignPart, status: Int, _ headers: HeaderBlock) -> HeadDecision {
        let url = request.url.text
        answer = .judged(
            part.judge(
                status: status, headers, url: url, asked: asked(headers, key: .random(in: 0 ... .max))))
        return .discard
    }

    /// The HEAD was answered: the request is the task's own again, where it began.
    func endQuestion() {
        partQuestion.part = nil
        request = builder.afterQuestion(request)
        addCondition()
    }

    /// Whatever place and user it comes from, what completes the part is held against a digest that the job says.
    func completesAnywhere(_ point: ResumePoint) -> Bool { point.isForeign && rules.hasChecksum }
}
