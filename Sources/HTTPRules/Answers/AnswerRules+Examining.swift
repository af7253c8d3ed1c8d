import TextFormats
package import TransferModel

extension AnswerRules {
    /// Checks the expectations first, then captures values; the error names everything that is missing. `known` redacts
    /// the secrets known before this answer from messages.
    package func examine(
        _ body: [UInt8], charset: String?, _ headers: HeaderBlock, at url: ResourceURL? = nil, hiding known: Redactor
    ) -> AnswerFindings {
        var findings = AnswerFindings()
        if let failure {
            findings.error = failure
            findings.withholdsBody = hidesSomethingInBody
            return findings
        }
        let answer = ReadAnswer(readsBody ? body : [], charset: charset, headers, at: url)
        let misses = captures.compactMap { capture, source in take(capture, source, answer, &findings) }
        let redactor = known.adding(findings.secrets)
        let broken = readsBody ? brokenExpectations(answer, redactor) : []
        if !broken.isEmpty {
            let words = broken.joined(separator: "; ")
            (findings.missedBody, findings.error) = (words, TransferError(.unexpectedResponse, words))
        } else if !misses.isEmpty {
            let reasons = misses.map { redactor.redacted($0.reason) }
            findings.error = TransferError(
                misses.allSatisfy(\.isOfNextPage)
                    ? .nextPageUnusable : misses.contains(where: \.isThere) ? .captureUnusable : .captureNotFound,
                reasons.joined(separator: "; ") + (findings.withholdsBody ? TransferError.withheldBodyWords : ""))
        }
        if answer.text?.wasConverted == true, hidesSomethingInBody { findings.toldBody = answer.text?.told }
        return findings
    }

    /// Returns the secrets to be captured from headers, before anything of the headers is reported.
    package func secrets(in headers: HeaderBlock) -> [KnownSecret] {
        secrets(ReadAnswer([], charset: nil, headers), inHeaders: true)
    }

    /// Returns the secrets to be captured from a part before the last; it need not contain any.
    package func secrets(ofPart body: [UInt8], charset: String?) -> [KnownSecret] {
        failure == nil ? secrets(ReadAnswer(body, charset: charset, .empty), inHeaders: false) : []
    }

    private func secrets(_ answer: borrowing ReadAnswer, inHeaders: Bool) -> [KnownSecret] {
        var findings = AnswerFindings()
        for (capture, source) in captures where capture.isSecret && source.isHeader == inHeaders {
            _ = take(capture, source, answer, &findings)
        }
        return findings.secrets
    }

    /// Bound of the steps of a JSON path: about a second at worst; ordinary bodies take far fewer.
    private static let steps = 5_000_000

    // MARK: Captures

    /// Captures a value into `findings`; returns why there is none, else `nil`.
    private func take(
        _ capture: Capture, _ source: Source, _ answer: borrowing ReadAnswer, _ findings: inout AnswerFindings
    ) -> Miss? {
        func notCaptured(_ reason: String, isThere: Bool) -> Miss {
            let what = capture.isNextPage ? "the next page" : "`\(capture.name)`"
            return Miss(
                reason: "\(what) was not \(capture.isNextPage ? "found" : "captured"): \(reason)", isThere: isThere,
                isOfNextPage: capture.isNextPage)
        }
        switch find(source, answer) {
        case .failure(let miss) where capture.isNextPage && miss.isAbsence:
            guard let path = source.path, let name = nextPageElsewhere(path, answer) else { return nil }
            return notCaptured("\(miss.reason), and the answer has \(ForeignText.quoted(name))", isThere: true)
        case .success(let found) where capture.isNextPage && found.isNoURL:
            // Some say so that there is none.
            if found.value == .boolean(false) { return nil }
            let path = source.path.map { ForeignText.quoted($0.text) } ?? "its path"
            return notCaptured("\(path) leads to \(ForeignText.quoted(found.text)), which names no page", isThere: true)
        case .failure(let miss):
            if capture.isSecret, !source.isHeader { findings.withholdsBody = true }
            if capture.isSecret, let told = miss.told {
                findings.secrets.append(KnownSecret(name: capture.name, value: told, hosts: capture.hosts))
            }
            return notCaptured(miss.reason + wordsOfWhatIsThere(miss, source, answer), isThere: miss.isThere)
        case .success(let found):
            if capture.isSecret {
                findings.secrets += found.hidden.map {
                    KnownSecret(name: capture.name, value: $0, hosts: capture.hosts)
                }
            }
            guard found.text.utf8.count <= CapturedValue.longest || found.isList else {
                return notCaptured("its value is longer than 64 KiB", isThere: false)
            }
            var value = CapturedValue(
                name: capture.name, text: found.text, value: found.value, isSecret: capture.isSecret,
                hosts: capture.hosts)
            value.answers = answer.url.map { [.init(url: $0.text)] } ?? []
            findings.captures.append(value)
            return nil
        }
    }

    private struct Miss: Error {
        let reason: String
        /// Whether a value was found that is no usable text.
        var isThere = false
        /// The unusable value as messages would show it.
        var told: String?
        /// Whether the search ends here, without looking at further lines.
        var isFinal = false
        /// Whether there is nothing at the place.
        var isAbsence = false
        /// Whether the path selects nothing, not even null.
        var isDeadEnd = false
        /// Whether `next` looked for it, and not a capture.
        var isOfNextPage = false
    }

    /// `; `$.data` has the keys `id`, `kind`` where a path selects nothing: how far it leads, and the names there.
    private func wordsOfWhatIsThere(_ miss: Miss, _ source: Source, _ answer: borrowing ReadAnswer) -> String {
        guard miss.isDeadEnd, let path = source.path, case .success(let root) = answer.document,
            let reach = path.reach(in: root, steps: Self.steps),
            let words = JSONNames.words(reach.found, at: reach.path, hidesOddNames: hidesSomethingInBody)
        else { return "" }
        return "; \(words)"
    }

    /// The member by which an answer says that another page follows, where the path of `next` leads to nothing: it was
    /// written wrongly, or the server has another name for it by now, and the pages to come would be missed.
    private func nextPageElsewhere(_ path: JSONPath, _ answer: borrowing ReadAnswer) -> String? {
        guard case .success(let root) = answer.document, path.select(from: root, steps: Self.steps)?.isEmpty == true,
            let reach = path.reach(in: root, steps: Self.steps)
        else { return nil }
        return ([root] + reach.found).lazy.compactMap { Self.nameOfNextPage(in: $0, isAboutPages: true, depth: 0) }
            .first
    }

    /// The member by which an object says that another page follows, or one of the objects in it that are about pages: not
    /// one of the rows, which have names of their own.
    private static func nameOfNextPage(in value: JSONValue, isAboutPages: Bool, depth: Int) -> String? {
        guard case .object(let members) = value, depth < 5 else { return nil }
        for member in members {
            let name = plainName(member.name)
            let saysMore =
                namesOfNextPages.contains(name) && member.value.namesPageSomehow
                || namesOfLastPages.contains(name) && member.value == .boolean(false)
            if isAboutPages, saysMore { return member.name }
            let isPaging = namesOfPaging.contains(name)
            if let found = nameOfNextPage(in: member.value, isAboutPages: isPaging, depth: depth + 1) {
                return "\(member.name).\(found)"
            }
        }
        return nil
    }

    /// In small letters and without signs: `next_cursor`, `nextCursor` and `@odata.nextLink` are among them.
    private static let namesOfNextPages: Set<String> = [
        "next", "nextpage", "nexturl", "nexturi", "nextlink", "nexthref", "nextcursor", "nexttoken", "nextpagetoken",
        "nextpageurl", "nextpagecursor", "nextrecordsurl", "nextmarker", "nextcontinuationtoken", "continuationtoken",
        "odatanextlink", "lastevaluatedkey", "hasmore", "hasnext", "hasnextpage", "istruncated",
    ]
    /// `false` says that more follow.
    private static let namesOfLastPages: Set<String> = ["islast", "islastpage", "lastpage", "last"]
    /// Objects that are about the pages and not about what is listed.
    private static let namesOfPaging: Set<String> = [
        "meta", "metadata", "responsemetadata", "paging", "pagination", "page", "pageinfo", "links", "cursor",
        "cursors",
    ]

    private static func plainName(_ name: String) -> String {
        String(decoding: name.lowercased().utf8.filter { (0x61...0x7A).contains($0) }, as: UTF8.self)
    }

    private func find(_ source: Source, _ answer: borrowing ReadAnswer) -> Result<FoundValue, Miss> {
        switch source {
        case .link(let relation): return link(relation, answer)
        case .header(let name, let regex?): return match(regex, inHeader: name, answer)
        case .header(let name, nil):
            let line = answer.headers.lines.first { answer.headers.name($0).lowercased() == name }
            guard let line else {
                return .failure(Miss(reason: "the answer has no header `\(name)`", isAbsence: true))
            }
            guard let value = answer.headers.exactValue(line) else {
                let told = answer.headers.value(line)
                return .failure(Miss(reason: "the header `\(name)` is not UTF-8 text", isThere: true, told: told))
            }
            return .success(FoundValue(value))
        case .regex(let regex): return match(regex, answer)
        case .moreAt(let path):
            return select(path, answer).flatMap { found in
                Self.continues(found.contains { !$0.saysNothing }, "\(ForeignText.quoted(path.text)) leads to nothing")
            }
        case .moreRows(let count):
            return rows(answer).flatMap { Self.continues($0 >= count, "the answer has \($0) rows") }
        case .jsonList(let path):
            let selected = select(path, answer)
            if case .success(let values) = selected, values.isEmpty, case .success(let root) = answer.document,
                !path.endsAtEmptyList(in: root, steps: Self.steps)
            {
                let reason = "\(ForeignText.quoted(path.text)) leads to nothing"
                return .failure(Miss(reason: reason, isAbsence: true, isDeadEnd: true))
            }
            return selected.flatMap { found in list(found, path) }
        case .urlAt(let path):
            let url = answer.url
            return one(path, answer).flatMap { Self.resolved($0, url) }
        case .urlMatch(let regex):
            let url = answer.url
            return match(regex, answer).flatMap { Self.resolved($0, url) }
        case .json(let path): return one(path, answer)
        }
    }

    /// Returns the one value at a path.
    private func one(_ path: JSONPath, _ answer: borrowing ReadAnswer) -> Result<FoundValue, Miss> {
        select(path, answer).flatMap { found in
            let start = "\(ForeignText.quoted(path.text)) leads to"
            guard found.count == 1 else {
                let what = found.isEmpty ? "nothing" : "\(found.count) values, where one is wanted"
                return .failure(Miss(reason: "\(start) \(what)", isAbsence: found.isEmpty, isDeadEnd: found.isEmpty))
            }
            if found[0] == .null { return .failure(Miss(reason: "\(start) null", isAbsence: true)) }
            guard !found[0].isBroken else {
                let reason = "\(start) half of a character (a `\\u` surrogate alone), which is no text"
                return .failure(Miss(reason: reason, isThere: true, told: found[0].words))
            }
            return .success(FoundValue(found[0]))
        }
    }

    /// Returns the URL that a value found in an answer means, resolved against the answer's own.
    private static func resolved(_ found: FoundValue, _ answered: ResourceURL?) -> Result<FoundValue, Miss> {
        let url = found.isNoURL || found.text.isEmpty ? nil : answered.flatMap { try? $0.resolving(found.text) }
        guard let url else {
            let what = found.text.isEmpty ? "an empty text" : ForeignText.quoted(found.text)
            return .failure(Miss(reason: "it is \(what), which is no URL", isThere: true, told: found.text))
        }
        return .success(FoundValue(url.text, writtenAs: found.text))
    }

    /// The result for a counted page: whether another one follows it. `reason` says why not.
    private static func continues(_ hasMore: Bool, _ reason: String) -> Result<FoundValue, Miss> {
        hasMore ? .success(FoundValue("true")) : .failure(Miss(reason: reason, isAbsence: true))
    }

    /// Counts the rows of an answer: the elements of the list that it is, or of the only list among its members.
    private func rows(_ answer: borrowing ReadAnswer) -> Result<Int, Miss> {
        switch answer.document {
        case .failure(let problem): return .failure(Miss(reason: problem.message))
        case .success(.array(let elements)): return .success(elements.count)
        case .success(let root):
            var lists: [(name: String, count: Int)] = []
            if case .object(let members) = root {
                for case (let name, .array(let elements)) in members.map({ ($0.name, $0.value) }) {
                    lists.append((name, elements.count))
                }
            }
            if lists.count == 1 { return .success(lists[0].count) }
            let names = lists.prefix(4).map { ForeignText.quoted($0.name) }.joined(separator: ", ")
            let what =
                lists.isEmpty
                ? JSONNames.words([root], at: "$", hidesOddNames: hidesSomethingInBody) ?? "the body is no list"
                : "the body has \(lists.count) lists: \(names)"
            return .failure(
                Miss(reason: "\(what); name the rows: `until: { json: $.rows[*] }` ends where there are none"))
        }
    }

    private func select(_ path: JSONPath, _ answer: borrowing ReadAnswer) -> Result<[JSONValue], Miss> {
        switch answer.document {
        case .failure(let problem): return .failure(Miss(reason: problem.message))
        case .success(let root):
            guard let found = path.select(from: root, steps: Self.steps) else {
                let reason = "\(ForeignText.quoted(path.text)) takes too many steps through this body"
                return .failure(Miss(reason: reason))
            }
            return .success(found)
        }
    }

    /// Accepts texts, numbers, booleans and objects of these, each within the length of one value; the list may be
    /// empty.
    private func list(_ found: [JSONValue], _ path: JSONPath) -> Result<FoundValue, Miss> {
        let name = ForeignText.quoted(path.text)
        guard found.count <= CapturedValue.mostInList else {
            let count = "\(found.count) values, and a list has at most \(CapturedValue.mostInList)"
            return .failure(Miss(reason: "\(name) leads to \(count)"))
        }
        let told = { JSONValue.array(found).words }
        for (number, value) in found.enumerated() {
            if let problem = Self.problem(inList: value) {
                return .failure(
                    Miss(reason: "value \(number + 1) of \(name) \(problem)", isThere: true, told: told()))
            }
        }
        return .success(FoundValue(list: found))
    }

    private static func problem(inList value: JSONValue) -> String? {
        if value.isBroken { return "holds half of a character (a `\\u` surrogate alone), which is no text" }
        switch value {
        case .null: return "is null"
        case .array: return "is a list"
        case .string(let text) where text.utf8.count > CapturedValue.longest: return "is longer than 64 KiB"
        case .object(let members):
            let long = members.first { member in
                if case .string(let text) = member.value { text.utf8.count > CapturedValue.longest } else { false }
            }
            return long.map { "has a `\(ForeignText.shortened($0.name))` longer than 64 KiB" }
        case .boolean, .number, .string, .broken: return nil
        }
    }

    private func link(_ relation: String, _ answer: borrowing ReadAnswer) -> Result<FoundValue, Miss> {
        guard let target = LinkHeader.target(of: relation, in: answer.headers) else {
            return .failure(Miss(reason: "the answer has no `Link` of the relation `\(relation)`", isAbsence: true))
        }
        guard let url = answer.url.flatMap({ try? $0.resolving(target) }) else {
            return .failure(
                Miss(reason: "its `Link` of the relation `\(relation)` is no URL", isThere: true, told: target))
        }
        return .success(FoundValue(url.text, writtenAs: target))
    }

    /// Returns the first match in the header's lines.
    private func match(
        _ regex: TextFormats.Regex, inHeader name: String, _ answer: borrowing ReadAnswer
    ) -> Result<FoundValue, Miss> {
        let values = answer.headers.lines.filter { answer.headers.name($0).lowercased() == name }
            .map { Array(answer.headers.value($0).utf8) }
        if values.isEmpty { return .failure(Miss(reason: "the answer has no header `\(name)`")) }
        for value in values {
            let found = match(regex, value, "in the header `\(name)`")
            if case .failure(let miss) = found, !miss.isThere, !miss.isFinal { continue }
            return found
        }
        return .failure(Miss(reason: "`\(regex.pattern)` matches nothing in the header `\(name)`"))
    }

    private func match(_ regex: TextFormats.Regex, _ answer: borrowing ReadAnswer) -> Result<FoundValue, Miss> {
        guard let text = answer.text else { return .failure(Miss(reason: answer.problem)) }
        return match(regex, text.bytes, text.bytes.isEmpty ? "in the body, which is empty" : "in the body")
    }

    /// Returns the first group, or the whole match where the expression has no group.
    private func match(_ regex: TextFormats.Regex, _ bytes: [UInt8], _ place: String) -> Result<FoundValue, Miss> {
        do throws(TextFormats.Regex.Problem) {
            guard let groups = try regex.firstMatch(in: bytes) else {
                return .failure(Miss(reason: "`\(regex.pattern)` matches nothing \(place)"))
            }
            guard let range = groups.count > 1 ? groups[1] : groups[0] else {
                return .failure(Miss(reason: "the first group of `\(regex.pattern)` took no part in the match"))
            }
            guard let value = String(validating: bytes[range], as: UTF8.self) else {
                return .failure(Miss(reason: "what `\(regex.pattern)` matches is not UTF-8 text", isThere: true))
            }
            return .success(FoundValue(value))
        } catch {
            return .failure(Miss(reason: "matching `\(regex.pattern)` was given up: \(error.message)", isFinal: true))
        }
    }

    // MARK: Expectations

    private func brokenExpectations(_ answer: borrowing ReadAnswer, _ redactor: Redactor) -> [String] {
        guard expectsOfBody else { return [] }
        guard let text = answer.text else { return [answer.problem] }
        var broken: [String] = []
        if let contains, !search.finds(in: text.bytes) {
            broken.append(
                "expected the body to contain `\(ForeignText.shortened(contains.redacted))`, \(beginning(text, redactor))"
            )
        }
        if let matches, let reason = mismatch(matches, text, redactor) { broken.append(reason) }
        for (path, compiled, wanted) in json {
            if let reason = mismatch(compiled, path, wanted, answer, redactor) { broken.append(reason) }
        }
        return broken
    }

    private func mismatch(_ regex: TextFormats.Regex, _ text: BodyText, _ redactor: Redactor) -> String? {
        do throws(TextFormats.Regex.Problem) {
            if try regex.firstMatch(in: text.bytes) != nil { return nil }
            return "expected the body to match `\(ForeignText.shortened(regex.pattern))`, \(beginning(text, redactor))"
        } catch {
            return "matching the body with `\(ForeignText.shortened(regex.pattern))` was given up: \(error.message)"
        }
    }

    private func mismatch(
        _ path: JSONPath, _ written: String, _ wanted: JSONTemplate, _ answer: borrowing ReadAnswer,
        _ redactor: Redactor
    ) -> String? {
        let expected = "expected `\(ForeignText.shortened(written))` to be \(ForeignText.shortened(wanted.words))"
        switch answer.document {
        case .failure(let problem): return "\(expected), but \(problem.message)"
        case .success(let root):
            guard let found = path.select(from: root, steps: Self.steps) else {
                return "\(expected), but the path takes too many steps through this body"
            }
            guard found.count == 1 else {
                return "\(expected), it leads to \(found.isEmpty ? "nothing" : "\(found.count) values")"
            }
            if found[0].isSame(as: wanted) { return nil }
            return "\(expected), it is \(ForeignText.shortened(redactor.redacted(found[0].words)))"
        }
    }

    /// Describes the body's beginning. Secrets are redacted before the text is cut: half of one would not be found any
    /// more.
    private func beginning(_ text: BodyText, _ redactor: Redactor) -> String {
        if text.bytes.isEmpty { return "the body is empty" }
        let start = String(decoding: text.bytes.prefix(2 * CapturedValue.longest), as: UTF8.self)
        return "it begins with \(ForeignText.shortened(JSONValue.string(redactor.redacted(start)).words))"
    }
}
