internal import TransferModel

/// The details that few tasks have, as a JSON object: group, texts of the job, captures, redirects, challenges, and the
/// body of a response.
struct PageDetails {
    private let task: ReportedTask
    private var bytes: [UInt8] = []

    /// Largest number of Unicode scalars shown of a body: more of a failure's, which may say why it failed.
    private static let longestBodies = (failed: 4_096, other: 1_024)

    init(_ task: ReportedTask) { self.task = task }

    private var cache: String? {
        task.cache.map { $0.stored ? "the answer was kept" : "not kept: \($0.reason ?? "")" }
    }

    var hasAny: Bool {
        task.group != nil || task.description != nil || !task.labels.isEmpty || !task.captures.isEmpty || cache != nil
            || !task.redirects.isEmpty || !task.challenges.isEmpty || task.body != nil || !task.parts.isEmpty
            || task.length == "unverified"
    }

    mutating func object() -> [UInt8] {
        bytes = [UInt8(ascii: "{")]
        member("group", task.group)
        member("description", task.description)
        member("cache", cache)
        pairs("labels", task.labels)
        pairs("captures", task.captures)
        if task.length == "unverified" { name("unverified"); bytes += "true".utf8 }
        if !task.parts.isEmpty { name("parts"); bytes += "\(task.parts.count)".utf8 }
        if !task.redirects.isEmpty { redirects() }
        if !task.challenges.isEmpty { challenges() }
        body()
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    private mutating func redirects() {
        name("redirects")
        list(task.redirects) { redirect, bytes in
            bytes += "\(redirect.status),".utf8
            for text in [redirect.from, redirect.to, redirect.method, redirect.action] {
                PageText.append(json: text, to: &bytes)
                bytes.append(UInt8(ascii: ","))
            }
            bytes.append(UInt8(ascii: "["))
            for (place, header) in redirect.stripped.enumerated() {
                if place > 0 { bytes.append(UInt8(ascii: ",")) }
                PageText.append(json: header, to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        }
    }

    private mutating func challenges() {
        name("challenges")
        list(task.challenges) { challenge, bytes in
            for text in [
                challenge.method, challenge.host, challenge.realm ?? "", challenge.level, challenge.disposition,
            ] {
                PageText.append(json: text, to: &bytes)
                bytes.append(UInt8(ascii: ","))
            }
            bytes += "\(challenge.previousFailureCount)".utf8
        }
    }

    private mutating func body() {
        guard let body = task.body, !body.text.isEmpty else { return }
        let longest = task.outcome == .failed ? Self.longestBodies.failed : Self.longestBodies.other
        let isCut = body.text.unicodeScalars.count > longest || body.isTruncated
        let shown = isCut ? String(String.UnicodeScalarView(body.text.unicodeScalars.prefix(longest))) : body.text
        name("body")
        PageText.append(json: shown, keepsLines: true, to: &bytes)
        if isCut { name("cut"); bytes += "true".utf8 }
        if body.isBase64 { name("base64"); bytes += "true".utf8 }
    }

    private mutating func name(_ name: String) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        bytes += "\"\(name)\":".utf8
    }

    private mutating func member(_ name: String, _ text: String?) {
        guard let text else { return }
        self.name(name)
        PageText.append(json: text, to: &bytes)
    }

    private mutating func pairs(_ name: String, _ values: [NamedValue]) {
        guard !values.isEmpty else { return }
        self.name(name)
        list(values) { value, bytes in
            PageText.append(json: value.name, to: &bytes)
            bytes.append(UInt8(ascii: ","))
            PageText.append(json: value.text, to: &bytes)
        }
    }

    /// Appends a list of lists; `write` appends the elements of each inner list.
    private mutating func list<Element>(_ elements: [Element], _ write: (Element, inout [UInt8]) -> Void) {
        bytes.append(UInt8(ascii: "["))
        for (place, element) in elements.enumerated() {
            if place > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes.append(UInt8(ascii: "["))
            write(element, &bytes)
            bytes.append(UInt8(ascii: "]"))
        }
        bytes.append(UInt8(ascii: "]"))
    }
}
