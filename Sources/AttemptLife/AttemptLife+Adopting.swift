package import HTTPRules
import TransferModel

// `resume: adopt`: a HEAD asks about the server's file before the one that stands under the final name is adopted.

extension AttemptLife {
    /// Makes the first request a HEAD, without the conditions of the one that it is asked before. Call before anything
    /// is sent, and after the URL is secured.
    package func ask(about part: ForeignPart) {
        question = .part(part)
        request.method = "HEAD"
        request.headers = rules.headers
        request.isConditional = false
    }

    /// Whether the present request is that HEAD.
    package var asksAboutPart: Bool { if case .part = question { true } else { false } }

    /// Whether the server broke the connection off at the HEAD, or did not answer it.
    package var brokeAtQuestion: Bool { questionIsUnanswered }

    /// Whether the condition is the existing file's own time and length, and no validator: the file may be only a part.
    package var asksByTime: Bool { builder.condition?.size != nil }

    func judgeForeignPart(_ part: ForeignPart, status: Int, _ headers: HeaderBlock) -> ResponseMeaning {
        .partJudged(
            part.judge(
                status: status, headers, url: request.url.text,
                asked: asked(headers, key: .random(in: 0 ... .max))))
    }

    /// Makes the present request the task's own again, to the URL where it began, after the HEAD was answered.
    func endQuestion() {
        question = .none
        request = builder.afterQuestion(request)
        addCondition()
    }
}
