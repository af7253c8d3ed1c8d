import HTTPRules
package import TransferModel

// What `onResponse` says of an answer, and what it takes to look into one.

extension AttemptLife {
    /// Asked at the headers of what would be the result, before anything is expected of it; the first rule that matches
    /// decides. `nil`: it is judged like any other.
    func obeyRules(status: Int, _ headers: HeaderBlock, _ framing: BodyFraming) -> HeadDecision? {
        guard !rules.onResponse.isEmpty else { return nil }
        var length: Int64?
        if case .length(let announced) = framing { length = offset + announced }
        guard let error = obeyRules(status: status, headers, length: length) else { return nil }
        answer = .ruledOut(error)
        return .abort
    }

    /// Why the task ends with it, where a rule says so. A source without a connection, of which type and length are known,
    /// has no status.
    package func obeyRules(status: Int? = nil, _ headers: HeaderBlock, length: Int64?) -> TransferError? {
        let type = headers.first("content-type").flatMap { MediaType($0) }
        guard let rule = rules.onResponse.first(where: { $0.matches(status, type, length) }) else { return nil }
        switch rule.action {
        case .allow: return nil
        case .download:
            target = rule.to
            return nil
        case .cancel:
            return TransferError(.cancelled, "a rule of `onResponse` cancels \(rule.words(status, type, length))")
        }
    }

    /// An answer that has no content by its nature is no file, and what a HEAD tells of a body is all there is of it.
    func missedContent(status: Int, _ headers: HeaderBlock) -> TransferError? {
        if type == .download, [204, 205, 304].contains(status), !saysUnchanged(status) {
            return TransferError(
                .unexpectedResponse, "the server answered \(status): there is no content to make a file of")
        }
        guard request.method == "HEAD" else { return nil }
        if type == .download {
            return TransferError(.unexpectedResponse, "a HEAD brings no content to make a file of")
        }
        // How long a packed body is unpacked, nobody says.
        if rules.decodes, Resuming.coding(headers) != nil { return nil }
        let bounds = SizeBounds(exact: rules.expect.size, least: rules.expect.minimumSize)
        guard let length = headers.first("content-length").flatMap({ Int64($0) }) else {
            let isAsked = bounds.exact != nil || bounds.least != nil
            return isAsked ? TransferError(.unexpectedResponse, "the server announced no length") : nil
        }
        return bounds.misfit(length, verb: "the server announced")
    }

    /// Whether it is the answer 304 to a condition that the job asks by itself, and expects: what stands there is current.
    /// What must be read or proven needs the file's bytes.
    func saysUnchanged(_ status: Int) -> Bool {
        status == 304 && rules.type == .download && request.method == "GET" && !rules.hasChecksum
            && rules.answer == nil
            && request.headers.contains { $0.isNamed("if-none-match") || $0.isNamed("if-modified-since") }
    }

    /// A file that is looked into must be short enough for that: known before its first byte where the server says so.
    func unreadable(_ length: Int64) -> TransferError? {
        guard type == .download, length > AnswerRules.longest, rules.answer?.readsBody == true else { return nil }
        return TransferError(
            .unexpectedResponse,
            "the server announced \(length) bytes: `expect.body` and `capture` look into files of up to \(AnswerRules.longest)"
        )
    }

    /// Of what is written or told.
    package var sizes: SizeBounds {
        SizeBounds(maximum: maximumSize, exact: rules.expect.size, least: rules.expect.minimumSize)
    }
}

extension AttemptRules {
    /// Whether an answer may become a file although the task is no download.
    package var mayBecomeDownload: Bool { onResponse.contains { $0.action == .download } }

    /// Whether the answer alone says what becomes of it.
    package var onResponseIsEmpty: Bool { onResponse.isEmpty }
}

extension ResponseRule {
    /// What a rule does not speak of may be anything; a length that nobody said is not longer than anything.
    fileprivate func matches(_ status: Int?, _ type: MediaType?, _ length: Int64?) -> Bool {
        if let wanted = self.status, status.map({ wanted.contains($0) }) != true { return false }
        if let pattern = mimeType, type?.matches(pattern) != true { return false }
        if let bound = largerThan { return length.map { $0 > bound } ?? false }
        return true
    }

    fileprivate func words(_ status: Int?, _ type: MediaType?, _ length: Int64?) -> String {
        var words: [String] = []
        if self.status != nil, let status { words.append("with status \(status)") }
        if mimeType != nil { words.append("of type \(type?.type ?? "none")") }
        if largerThan != nil { words.append("of \(length ?? 0) bytes") }
        return words.isEmpty ? "every answer" : "an answer \(words.joined(separator: " and "))"
    }
}
