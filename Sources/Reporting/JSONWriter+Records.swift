package import TextFormats
package import TransferModel

// How each value of the model is written in JSON, in the report as well as in the event lines. Members that are nearly
// always null together are written in one step.

extension JSONWriter {
    /// Writes an error as an object with domain, name, code, message and causes, or `null`.
    package mutating func member(_ key: StaticString, error: TransferError?) {
        object(key, error) { json, error in
            json.member("domain", error.name.domain)
            json.member("name", error.name.rawValue)
            json.member("code", error.name.code)
            json.member("message", error.message)
            json.member("curl", error.curl.map { Int($0) })
            json.member("errno", error.errno.map { Int($0) })
            json.member("reason", error.reason?.rawValue)
        }
    }

    mutating func member(_ key: StaticString, checksum: Checksum?) {
        self.key(key)
        guard let checksum else { return null() }
        string(checksum.description)
    }

    mutating func member(_ key: StaticString, variables: [Job.Variable]) {
        self.key(key)
        beginObject()
        for variable in variables {
            self.key(variable.name)
            value(variable.value)
        }
        endObject()
    }

    mutating func value(_ value: PlainValue) {
        switch value {
        case .null: null()
        case .boolean(let flag): bool(flag)
        case .number(let text): number(text)
        case .string(let text): string(text)
        case .list(let values):
            beginArray()
            for element in values { self.value(element) }
            endArray()
        case .map(let entries):
            beginObject()
            for entry in entries {
                key(entry.key)
                self.value(entry.value)
            }
            endObject()
        }
    }

    /// As it was written where that is JSON (`3.10`), else as a string (`0x1F`, `.5`).
    private mutating func number(_ text: String) {
        if JSONNumber.isOne(text) { raw(Array(text.utf8)) } else { string(text) }
    }

    /// Pairs, because names repeat and their order can matter.
    mutating func member(_ key: StaticString, headers: HeaderBlock) {
        self.key(key)
        beginArray()
        headers.bytes.withUnsafeBufferPointer { text in
            for line in headers.lines {
                pair(
                    utf8: UnsafeBufferPointer(rebasing: text[Int(line.nameStart)..<Int(line.nameEnd)]),
                    utf8: UnsafeBufferPointer(rebasing: text[Int(line.valueStart)..<Int(line.valueEnd)]))
            }
        }
        endArray()
    }

    /// The members of a response, inside an object that is open.
    mutating func members(of response: ResponseRecord) {
        member("status", response.status)
        member("url", response.url)
        member("mimeType", response.mimeType)
        member("charset", response.charset)
        member("expectedLength", response.expectedLength)
        member("suggestedFilename", response.suggestedFilename)
        member("contentEncoding", response.contentEncoding)
        member("headers", headers: response.headers)
    }

    mutating func members(of redirect: RedirectRecord) {
        member("status", redirect.status)
        member("from", redirect.from)
        member("to", redirect.to)
        member("method", redirect.method)
        member("action", redirect.action.rawValue)
        member("stripped", texts: redirect.stripped)
    }

    mutating func members(of challenge: ChallengeRecord) {
        member("method", challenge.method)
        member("host", challenge.host)
        member("realm", challenge.realm)
        member("level", challenge.level)
        member("disposition", challenge.disposition)
        member("previousFailureCount", challenge.previousFailureCount)
    }

    mutating func members(of attempt: AttemptRecord) {
        member("number", attempt.number)
        member("url", attempt.url)
        member("outcome", attempt.outcome.rawValue)
        member("resumedFrom", attempt.resumedFrom)
        member("startedOver", attempt.startedOver)
        member("startedAt", attempt.startedAt)
        member("duration", attempt.duration)
        if attempt.error == nil, attempt.backoff == nil {
            member("error", json: #"null,"backoff":null,"retriesUntil":null"#)
        } else {
            member("error", error: attempt.error)
            member("backoff", attempt.backoff)
            member("retriesUntil", attempt.retriesUntil)
        }
        array("transactions", attempt.transactions) { $0.transaction($1) }
    }

    mutating func member(_ key: StaticString, waits: [TaskRecord.Wait]) {
        objects(key, waits) { json, wait in
            json.member("reason", wait.reason.rawValue)
            json.member("duration", wait.duration)
        }
    }

    /// Writes the files that a group's publication removed; `null` where that is not known.
    mutating func member(_ key: StaticString, removed: RemovedFiles?) {
        object(key, removed) { json, removed in
            json.member("count", removed.count)
            json.member("files", texts: removed.named)
        }
    }

    mutating func member(_ key: StaticString, hosts: [SessionRecord.Host]) {
        objects(key, hosts) { $0.members(of: $1) }
    }

    mutating func members(of host: SessionRecord.Host) {
        member("host", host.origin.description)
        member("peakConnections", host.peakConnections)
        member("tasks", host.tasks)
    }
}

/// The number syntax of RFC 8259: decides which of YAML's numbers can stand in JSON as they are.
enum JSONNumber {
    static func isOne(_ text: String) -> Bool {
        var rest = Substring(text).utf8
        if rest.first == UInt8(ascii: "-") { rest.removeFirst() }
        guard let first = rest.first, isDigit(first) else { return false }
        let whole = takeDigits(&rest)
        if whole > 1, first == UInt8(ascii: "0") { return false }
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            guard takeDigits(&rest) > 0 else { return false }
        }
        if let mark = rest.first, mark | 0x20 == UInt8(ascii: "e") {
            rest.removeFirst()
            if let sign = rest.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { rest.removeFirst() }
            guard takeDigits(&rest) > 0 else { return false }
        }
        return rest.isEmpty
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    private static func takeDigits(_ rest: inout Substring.UTF8View) -> Int {
        let digits = rest.prefix { isDigit($0) }
        rest.removeFirst(digits.count)
        return digits.count
    }
}
