import TransferModel
import YAMLTree

/// Reads `headers` and names of headers.
struct HeaderReader {
    let reader: Reader

    /// Reads `headers` over the fields that `fields` holds: a name written here replaces all fields of that name, and
    /// `null` removes them.
    func headers(_ node: NodeID, into fields: inout [HeaderField]) {
        var names: [String: String] = [:]
        for (name, key, value) in reader.named(node, .map(.headerValue)) {
            guard isSettable(name, key) else { continue }
            if let first = names.updateValue(name, forKey: name.lowercased()) {
                reader.error(
                    "duplicate-key", "the header `\(name)` is `\(first)` once more: letter case makes no other name",
                    hint: "write one name, with a list for several lines: `\(first): [a, b]`", key)
            }
            if reader.scope.replacedNames.contains(name.lowercased()) { continue }
            if reader.tree.isNull(value) {
                fields.removeAll { Self.sameHeader($0.name, name) }
                continue
            }
            let lines = reader.oneOrMore(value).compactMap { line in
                reader.warnOfPlaceholder(line, in: .value)
                return reader.secretText(line, .scalar, place: .header, captures: true)
            }
            fields.removeAll { Self.sameHeader($0.name, name) }
            fields += lines.map { HeaderField(name: name, value: $0.trimmed) }
        }
    }

    /// Reads names of headers that go along to other origins, and returns them in lower case.
    func keptHeaders(_ node: NodeID) -> [String]? {
        reader.elements(node, .list(.text)) { place in
            guard let name = headerName(place) else { return nil }
            guard let way = Self.wayOfCredentials(name.lowercased()) else { return name.lowercased() }
            return reader.error(
                "invalid-value", "`keepHeaders` cannot name `\(name)`: it would go wherever a server redirects to",
                hint: way, place)
        }
    }

    /// Returns how the job says which hosts get the header, where it is one for credentials.
    private static func wayOfCredentials(_ name: String) -> String? {
        switch name {
        case "authorization", "proxy-authorization": "an entry of `credentials` names the host that gets one"
        case "cookie": "`cookies` of the session say which host gets which"
        default: nil
        }
    }

    /// Reads a list of headers' names.
    func headerNames(_ node: NodeID) -> [String]? { reader.elements(node, .list(.text)) { headerName($0) } }

    static func sameHeader(_ left: String, _ right: String) -> Bool {
        left == right || (left.utf8.count == right.utf8.count && left.lowercased() == right.lowercased())
    }

    /// Returns whether a job can set the header, and reports it if not.
    private func isSettable(_ name: String, _ key: NodeID) -> Bool {
        let hint = name.contains(":") || name.contains(" ") ? "the name stands alone, its value after the colon" : nil
        guard isHeaderName(name, key, hint: hint) else { return false }
        if let reason = Token.reserved(name) {
            reader.error("reserved-header", "the header `\(name)` is reserved", hint: reason, key)
            return false
        }
        return true
    }

    func headerName(_ node: NodeID) -> String? {
        guard let name = reader.text(node), isHeaderName(name, node) else { return nil }
        return name
    }

    func isHeaderName(_ name: String, _ node: NodeID, hint: String? = nil) -> Bool {
        if !name.isEmpty, name.utf8.allSatisfy(Token.isTokenByte) { return true }
        reader.error("invalid-header", "`\(Reader.short(name))` is no header name", hint: hint, node)
        return false
    }
}

extension SecretText {
    /// The header's value without the blanks around it, which are no part of it.
    var trimmed: SecretText {
        guard let plain, let first = plain.utf8.first, let last = plain.utf8.last else { return self }
        let isBlank = first == 0x20 || first == 0x09 || last == 0x20 || last == 0x09
        return isBlank ? SecretText(plain.trimmingBlanks()) : self
    }
}

/// RFC 9110's tokens, and the headers that no job can set.
enum Token {
    static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"),
            UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// Returns why a header is reserved; `nil` if it is not.
    static func reserved(_ name: String) -> String? {
        switch name.lowercased() {
        case "host": "it comes from the URL"
        case "connection": "connections are kept and closed by the session"
        case "content-length", "transfer-encoding": "it comes from the body"
        case "expect": "`http: { expectContinue: true }` of the session has the server asked before a body is sent"
        case "www-authenticate": "servers send it, not clients"
        case let lower where lower.hasPrefix("proxy-"): "what a proxy needs is said under `proxy` and `credentials`"
        default: nil
        }
    }
}
