import HTTPRules
import TextFormats
import TransferModel
import YAMLTree

/// Reads values in languages of their own, checked when the job is read and not when they are first used.
extension Reader {
    func regex(_ node: NodeID) -> String? {
        guard let text = text(node, .regex) else { return nil }
        do {
            _ = try TextFormats.Regex(text)
            return text
        } catch {
            self.error("invalid-regex", "`\(Self.short(text))` is no regular expression: \(error.message)", node)
            return nil
        }
    }

    /// Reads a content type that responses are compared with.
    func mimeType(_ node: NodeID) -> String? {
        guard let text = text(node, .text) else { return nil }
        if MediaType.isPattern(text) { return text }
        var hint = "one type, such as `application/json`; `*` stands for anything, as in `image/*`"
        let type = String(text.prefix { $0 != ";" && $0 != " " })
        if text.contains(";"), MediaType.isPattern(type) {
            hint = "write `\(Self.short(type))`: types are compared without their parameters"
        }
        error("invalid-value", "no answer can be of the type `\(Self.short(text))`", hint: hint, node)
        return nil
    }

    func jsonPath(_ node: NodeID) -> String? {
        guard let text = text(node, .jsonPath) else { return nil }
        return checkJSONPath(text, node) ? text : nil
    }

    func checkJSONPath(_ text: String, _ node: NodeID) -> Bool {
        do {
            _ = try JSONPath(text)
            return true
        } catch {
            let hint = text.hasPrefix("$") ? nil : "a JSON path begins with `$`, as in `$.items[0].name`"
            self.error("invalid-json-path", "`\(Self.short(text))` is no JSON path: \(error.message)", hint: hint, node)
            return false
        }
    }

    func timeZone(_ node: NodeID) -> String? {
        guard let text = text(node, .timeZone) else { return nil }
        guard TimeZoneFile.load(text) != nil else {
            error(
                "invalid-value", "`\(Self.short(text))` is no time zone that this machine knows",
                hint: "an IANA name, such as `Europe/Berlin` or `UTC`", node)
            return nil
        }
        return text
    }

    func decodeBase64(_ text: String) -> [UInt8]? { Base64.decode(text) }

    func decodeHex(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count % 2 == 0 else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = PercentEncoding.hexValue(digits[index]),
                let low = PercentEncoding.hexValue(digits[index + 1])
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }
}
