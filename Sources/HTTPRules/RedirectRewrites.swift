import TextFormats
package import TransferModel

/// The compiled `redirects.rewrite` of a task: the first rule whose `match` is found in the redirect's URL replaces the
/// matched text, once, and the redirect goes to the resulting URL.
package struct RedirectRewrites: Sendable {
    private struct Rule {
        let regex: TextFormats.Regex
        let to: String
        /// The rule's list, as messages name it.
        let list: StaticString
    }
    private let rules: [Rule]

    /// No rules: redirects go where the server says.
    package static let none = RedirectRewrites([])

    package init(_ rules: [RedirectPolicy.Rewrite]) { self.rules = Self.compiled(rules, "`redirects.rewrite`") }

    /// Takes the job's rules, and those of a policy, which come first.
    package init(_ rules: [RedirectPolicy.Rewrite], imposed: [RedirectPolicy.Rewrite]) {
        self.rules = Self.compiled(imposed, "the policy's `rewrite`") + Self.compiled(rules, "`redirects.rewrite`")
    }

    private static func compiled(_ rules: [RedirectPolicy.Rewrite], _ list: StaticString) -> [Rule] {
        // Loading the job already rejected rules that are no regular expression.
        rules.compactMap { rule in
            (try? TextFormats.Regex(rule.match)).map { Rule(regex: $0, to: rule.to, list: list) }
        }
    }

    /// Whether there are no rules.
    package var isEmpty: Bool { rules.isEmpty }

    /// Returns where a redirect to `url` goes by the first rule that matches; `nil` when no rule does.
    package func target(for url: ResourceURL) throws(TransferError) -> ResourceURL? {
        let bytes = Array(url.text.utf8)
        for rule in rules {
            guard let groups = try match(rule, bytes) else { continue }
            guard let matched = groups.first ?? nil else { continue }
            let filled = Self.fill(rule.to, groups, bytes)
            let text = String(
                decoding: bytes[..<matched.lowerBound] + filled + bytes[matched.upperBound...], as: UTF8.self)
            do throws(URLProblem) {
                return try ResourceURL.parse(text)
            } catch {
                throw TransferError(
                    .redirectRefused,
                    "\(rule.list) makes `\(text)` of \(url.text), which is no URL: \(error.message)")
            }
        }
        return nil
    }

    private func match(_ rule: Rule, _ bytes: [UInt8]) throws(TransferError) -> [Range<Int>?]? {
        do throws(TextFormats.Regex.Problem) {
            return try rule.regex.firstMatch(in: bytes)
        } catch {
            throw TransferError(
                .redirectRefused, "matching a redirect with `\(rule.regex.pattern)` was given up: \(error.message)")
        }
    }

    /// Returns the first group number that a rule's `to` names and its `match` lacks, with the number of groups; `nil`
    /// when all exist. The text of a missing group would be sent as written.
    package static func missingGroup(_ rule: RedirectPolicy.Rewrite) -> (group: Int, of: Int)? {
        guard let count = (try? TextFormats.Regex(rule.match))?.groupCount else { return nil }
        let text = Array(rule.to.utf8)
        return zip(text, text.dropFirst()).lazy.filter { $0.0 == UInt8(ascii: "$") }.map { Int($0.1) - 0x30 }
            .first { (0...9).contains($0) && $0 > count }.map { ($0, count) }
    }

    /// Returns `template` with `$1` replaced by the first group and `$0` by the whole match; another `$` stays.
    private static func fill(_ template: String, _ groups: [Range<Int>?], _ bytes: [UInt8]) -> [UInt8] {
        var filled: [UInt8] = []
        var place = template.utf8.startIndex
        while place < template.utf8.endIndex {
            let byte = template.utf8[place]
            let next = template.utf8.index(after: place)
            place = next
            guard byte == UInt8(ascii: "$"), next < template.utf8.endIndex,
                case let digit = Int(template.utf8[next]) - 0x30, (0...9).contains(digit), digit < groups.count
            else {
                filled.append(byte)
                continue
            }
            if let range = groups[digit] { filled += bytes[range] }
            place = template.utf8.index(after: next)
        }
        return filled
    }
}
