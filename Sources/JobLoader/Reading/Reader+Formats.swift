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
            return self.error("invalid-regex", "`\(Self.short(text))` is no regular expression: \(error.message)", node)
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
        return error("invalid-value", "no answer can be of the type `\(Self.short(text))`", hint: hint, node)
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
}
