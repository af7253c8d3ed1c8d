import AttemptLife
import CurlCore
import HTTPRules
import TransferModel

/// An answer that comes in parts, each in the place of the one before.
struct MixedAnswer {
    fileprivate var scanner: PartScanner
    /// How many of its parts' headers were told.
    fileprivate var told = 0

    /// `nil` for any other answer.
    init?(_ headers: HeaderBlock) {
        guard let scanner = PartScanner.of(headers) else { return nil }
        self.scanner = scanner
    }

    /// Headers of the last part that came.
    var lastHeaders: HeaderBlock? { scanner.parts.last?.headers }
}

extension Attempt {
    /// More of the body was kept; `false` when the rest of it is not wanted.
    func scanParts() -> Bool {
        // Read first: while the scanner changes, nothing else of the exchange may be looked at.
        let body = exchange.body
        do throws(TransferError) {
            try exchange.mixed?.scanner.scan(body)
            return true
        } catch {
            exchange.bodyFailure = error
            return false
        }
    }

    /// Why a body of which nothing more comes is cut.
    func endParts() -> TransferError? {
        do throws(TransferError) {
            try exchange.mixed?.scanner.end()
            return nil
        } catch {
            return error
        }
    }

    /// What counts as the answer's body: of one in parts that of the last, if there is one.
    var lastBody: [UInt8] {
        guard let mixed = exchange.mixed else { return exchange.body }
        guard let part = mixed.scanner.parts.last else { return [] }
        return Array(exchange.body[part.start..<(part.end ?? exchange.body.count)])
    }
}

extension Attempt {
    /// The whole parts before the last one, which stands in their place.
    var earlierParts: [AnswerPart] {
        (exchange.mixed?.scanner.parts.dropLast() ?? []).compactMap { part in
            part.end.map { AnswerPart(headers: part.headers, body: Array(exchange.body[part.start..<$0])) }
        }
    }
}

extension Announcements {
    /// As in the guide each part is a response of its own: the answer's headers, over them the part's.
    func tellParts(_ attempt: Attempt) {
        guard let mixed = attempt.exchange.mixed, let head = attempt.exchange.head, attempt.life.isFinalAnswer else {
            return
        }
        for part in mixed.scanner.parts[mixed.told...] {
            participants.answers.learnSecretsOfHead(attempt, part.headers)
            let length = part.headers.first("content-length").flatMap { Int64($0) }
            core.emit(response(attempt, head, Self.merged(head.headers, part.headers), length), attempt)
        }
        attempt.exchange.mixed?.told = mixed.scanner.parts.count
    }

    /// The answer's headers, with those of a part in the place of its own.
    static func merged(_ answer: HeaderBlock, _ part: HeaderBlock) -> HeaderBlock {
        let own = Set(part.lines.map { part.name($0).lowercased() })
        let kept = answer.lines.filter { line in
            let name = answer.name(line).lowercased()
            // What is said of the whole says nothing of a part.
            return !own.contains(name) && name != "content-type" && name != "content-length"
        }
        return HeaderBlock(
            kept.map { (answer.name($0), answer.value($0)) } + part.lines.map { (part.name($0), part.value($0)) })
    }

    /// What the report tells of the parts. An answer without a whole part is told by its own headers.
    func toldParts(_ attempt: Attempt) -> [AnswerPart] {
        guard let mixed = attempt.exchange.mixed else { return [] }
        if mixed.told == 0, let head = attempt.exchange.head {
            core.emit(response(attempt, head, head.headers, nil), attempt)
        }
        if lacksSecret(attempt) { return [] }
        return mixed.scanner.parts.compactMap { part in
            part.end.map { end in
                let body = participants.answers.readable(
                    Array(attempt.exchange.body[part.start..<end]), AnswerExamination.charset(part.headers))
                return AnswerPart(headers: part.headers, body: body)
            }
        }
    }
}
