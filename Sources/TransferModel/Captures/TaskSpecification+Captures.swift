extension TaskSpecification {
    /// Returns the task with captured values filled in; for a task without any this costs one comparison.
    package func filled(from captured: CapturedValues) throws(TransferError) -> TaskSpecification {
        guard options.values.awaitsCaptures else { return self }
        var filled = self
        var values = options.values
        filled.location = try location.filled(from: captured)
        if let next = values.next, type != .upload { filled.location = filled.location.beginning(next) }
        values.mirrors = try values.mirrors.map { mirror throws(TransferError) in try mirror.filled(from: captured) }
        if let path = values.awaitedDestination {
            filled.destination = try path.filled(from: captured, in: .path).revealed
        }
        if let object = values.object { values.object?.name = try object.name.filled(from: captured, in: .path) }
        try values.fill(from: captured)
        values.awaitsCaptures = false
        filled.options = TaskOptions(values)
        return filled
    }
}

extension TaskSpecification {
    /// Calls `body` with every text of the task that `filled` may fill.
    package func forEachPlace(_ body: (SecretText) -> Void) {
        for place in [location] + options.values.mirrors {
            guard case .awaitingCapture(let text, let query) = place else { continue }
            body(text)
            for field in query { body(field.value) }
        }
        if let path = options.values.awaitedDestination { body(path) }
        if let object = options.values.object { body(object.name) }
        options.values.forEachPlace(body)
    }
}

extension TaskOptions.Values {
    fileprivate func forEachPlace(_ tell: (SecretText) -> Void) {
        for field in headers { tell(field.value) }
        if let contentType { tell(contentType) }
        body?.forEachPlace(tell)
        if let text = expect.bodyContains { tell(text) }
        for match in expect.bodyJSON { match.value.forEachPlace(tell) }
        if case .awaited(let text)? = checksum { tell(text) }
    }

    fileprivate mutating func fill(from captured: CapturedValues) throws(TransferError) {
        headers = try headers.map { field throws(TransferError) in
            HeaderField(name: field.name, value: try field.value.filled(from: captured, in: .header(field.name)))
        }
        contentType = try contentType?.filled(from: captured, in: .header("Content-Type"))
        body = try body?.filled(from: captured)
        if case .multipart? = body { try refuseBoundaries() }
        expect.bodyContains = try expect.bodyContains?.filled(from: captured, in: .text)
        expect.bodyJSON = try expect.bodyJSON.map { match throws(TransferError) in
            Expectations.JSONMatch(path: match.path, value: try match.value.filled(from: captured))
        }
        guard case .awaited(let text)? = checksum else { return }
        let written = try text.filled(from: captured, in: .text).revealed
        guard let literal = Checksum(written) else {
            throw TransferError(.captureUnusable, "`\(text.redacted)` gives no checksum such as `sha256:2c26…`")
        }
        checksum = .literal(literal)
    }
}

extension TaskOptions.Values {
    /// Refuses a captured type of a `multipart` body that would choose the boundary: with it a server could write parts
    /// of its own.
    private func refuseBoundaries() throws(TransferError) {
        let types = headers.filter { $0.isNamed("content-type") }.map(\.value) + [contentType].compactMap { $0 }
        for type in types {
            guard !RequestBody.isMultipart(type: type.revealed) else { continue }
            throw TransferError(
                .captureUnusable,
                "`\(type.redacted)` is not the type of a `multipart` body: a `multipart/…` without parameters")
        }
    }
}

extension RequestBody {
    /// Decides whether a `multipart` body may have this type; the boundary is the only parameter, and the runner adds
    /// it.
    package static func isMultipart(type: String) -> Bool {
        let text = type.lowercased()
        return text.hasPrefix("multipart/") && !text.utf8.contains { ";, \t\"".utf8.contains($0) }
    }
}

extension TaskSpecification.Location {
    /// Returns the location of the first page of a task with `next`; a URL that is not known yet stays.
    package func beginning(_ next: NextPage) -> TaskSpecification.Location { url.map { .url(next.first($0)) } ?? self }

    /// Returns the location with captured values filled in. A URL from an answer may only lead where a redirect may: to
    /// http and https, never to a file of this machine.
    fileprivate func filled(from captured: CapturedValues) throws(TransferError) -> TaskSpecification.Location {
        guard case .awaitingCapture(let awaited, let query) = self else { return self }
        let text = try awaited.filled(from: captured, in: .url(.scheme))
        let url: ResourceURL
        do throws(URLProblem) {
            url = try Self.url(text.revealed, in: try? awaited.answerOfBeginning(captured))
        } catch {
            throw TransferError(
                .badURL,
                text.isSecret ? "`\(text.redacted)` is no URL" : "`\(text.redacted)` is no URL: \(error.message)")
        }
        if case .capture? = awaited.pieces.first, !url.isHTTP {
            throw TransferError(
                .unsupportedURL, "`\(awaited.redacted)` leads to `\(url.scheme):`, not to http or https")
        }
        var added: [SecretText] = []
        for field in query { added.append(try field.value.filled(from: captured, in: .text)) }
        for part in [text] + added {
            guard let name = part.secretBarred(from: url.origin) else { continue }
            throw TransferError(
                .secretBarred, "the secret `\(name)` in the URL must not go to \(part.barredPlace(url.origin))")
        }
        let fields = zip(query, added).map {
            "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($1.revealed))"
        }
        return .url(url.adding(encodedQuery: fields.joined(separator: "&")))
    }
}

extension TaskSpecification.Location {
    /// Returns the URL; a relative one is resolved against that of the answer which it begins with a value of.
    private static func url(_ text: String, in answer: String?) throws(URLProblem) -> ResourceURL {
        guard let answer, !text.isEmpty, !ResourceURL.isAbsolute(text), let base = try? ResourceURL.parse(answer) else {
            return try ResourceURL.parse(text)
        }
        return try base.resolving(text)
    }
}

extension SecretText {
    /// Returns the URL of the answer that the value at the text's beginning was taken from; `nil` where it begins with
    /// something else.
    fileprivate func answerOfBeginning(_ captured: CapturedValues) throws(TransferError) -> String? {
        guard case .capture(let task, let name, _)? = pieces.first else { return nil }
        return try captured.value(task, name).answers.first?.url
    }
}

extension RequestBody {
    /// Names of the secrets that the job writes into the body.
    package var secretNames: [String] {
        var names: [String] = []
        forEachPlace { names += $0.secretNames }
        return names
    }

    fileprivate func forEachPlace(_ tell: (SecretText) -> Void) {
        switch self {
        case .data(let text): tell(text)
        case .json(let template): template.forEachPlace(tell)
        case .form(let fields): for field in fields { tell(field.value) }
        case .multipart(let parts):
            for part in parts {
                switch part.content {
                case .data(let text): tell(text)
                case .json(let template): template.forEachPlace(tell)
                case .file: break
                }
            }
        case .base64, .file, .stream: break
        }
    }

    fileprivate func filled(from captured: CapturedValues) throws(TransferError) -> RequestBody {
        switch self {
        case .data(let text): return .data(try text.filled(from: captured, in: .text))
        case .json(let template): return .json(try template.filled(from: captured))
        case .form(let fields):
            return .form(
                try fields.map { field throws(TransferError) in
                    FormField(name: field.name, value: try field.value.filled(from: captured, in: .text))
                })
        case .multipart(let parts):
            return .multipart(try parts.map { part throws(TransferError) in try part.filled(from: captured) })
        case .base64, .file, .stream: return self
        }
    }
}

extension RequestBody.Part {
    fileprivate func filled(from captured: CapturedValues) throws(TransferError) -> RequestBody.Part {
        var part = self
        switch content {
        case .data(let text): part.content = .data(try text.filled(from: captured, in: .text))
        case .json(let template): part.content = .json(try template.filled(from: captured))
        case .file: break
        }
        return part
    }
}

extension JSONTemplate {
    fileprivate func forEachPlace(_ tell: (SecretText) -> Void) {
        switch self {
        case .null, .boolean, .number: break
        case .string(let text): tell(text)
        case .list(let elements): for element in elements { element.forEachPlace(tell) }
        case .object(let members): for member in members { member.value.forEachPlace(tell) }
        }
    }

    fileprivate func filled(from captured: CapturedValues) throws(TransferError) -> JSONTemplate {
        switch self {
        case .null, .boolean, .number: return self
        case .string(let text): return try Self.filled(text, from: captured)
        case .list(let elements):
            return .list(try elements.map { element throws(TransferError) in try element.filled(from: captured) })
        case .object(let members):
            return .object(
                try members.map { member throws(TransferError) in
                    Member(name: member.name, value: try member.value.filled(from: captured))
                })
        }
    }

    /// Returns a string with captured values filled in. A string that is only `${tasks.ID.NAME}` keeps the value's
    /// type, but a secret becomes text: only text is redacted.
    private static func filled(_ text: SecretText, from captured: CapturedValues) throws(TransferError) -> JSONTemplate
    {
        if text.awaitsCapture, text.pieces.count == 1, case .capture(let task, let name, _)? = text.pieces.first {
            if let (value, list) = captured.structure(task, name) { return JSONTemplate(value, in: list) }
            let value = try captured.value(task, name)
            if !value.isSecret { return JSONTemplate(value.value) }
        }
        return .string(try text.filled(from: captured, in: .text))
    }

    /// `list` is the captured list that the value stands in: what is secret in it stays so, and becomes text.
    package init(_ value: PlainValue, in list: CapturedValue? = nil) {
        switch value {
        case .null: self = .null
        case .boolean(let value): self = .boolean(value)
        case .number(let text), .string(let text):
            if let list, list.isSecret(text) {
                self = .string(SecretText(pieces: [.secret(name: list.name, value: text, hosts: list.hosts)]))
            } else if case .number = value {
                self = .number(text)
            } else {
                self = .string(SecretText(text))
            }
        case .list(let elements): self = .list(elements.map { JSONTemplate($0, in: list) })
        case .map(let entries):
            self = .object(entries.map { Member(name: $0.key, value: JSONTemplate($0.value, in: list)) })
        }
    }
}

extension Checksum {
    /// Reads the written form: `sha256:` and hex digits.
    package init?(_ text: String) {
        guard let colon = text.firstIndex(of: ":"),
            let algorithm = DigestAlgorithm(rawValue: String(text[..<colon]))
        else { return nil }
        let digits = Array(text[text.index(after: colon)...].utf8)
        guard digits.count == algorithm.byteCount * 2 else { return nil }
        var bytes: [UInt8] = []
        for place in stride(from: 0, to: digits.count, by: 2) {
            guard let high = PercentEncoding.hexValue(digits[place]),
                let low = PercentEncoding.hexValue(digits[place + 1])
            else { return nil }
            bytes.append(high << 4 | low)
        }
        self.init(algorithm: algorithm, bytes: bytes)
    }
}
