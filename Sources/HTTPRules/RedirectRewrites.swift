import TextFormats
package import TransferModel

/// `redirects.rewrite`, ready for the redirects of a task: the first rule whose `match` is found in the redirect's URL
/// replaces what matched, once, and the redirect goes to the URL that this makes.
package struct RedirectRewrites: Sendable {
    private struct Rule {
        let regex: TextFormats.Regex
        let to: String
    }
    private let rules: [Rule]

    package static let none = RedirectRewrites([])

    package init(_ rules: [RedirectPolicy.Rewrite]) {
        // What is no regular expression was refused when the job was read.
        self.rules = rules.compactMap { rule in
            (try? TextFormats.Regex(rule.match)).map { Rule(regex: $0, to: rule.to) }
        }
    }

    package var isEmpty: Bool { rules.isEmpty }

    /// `nil` when no rule matches.
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
                    "`redirects.rewrite` makes `\(text)` of \(url.text), which is no URL: \(error.message)")
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

    /// The first group that a rule's `to` names and its `match` lacks: that would be sent as it is written.
    package static func missingGroup(_ rule: RedirectPolicy.Rewrite) -> (group: Int, of: Int)? {
        guard let count = (try? TextFormats.Regex(rule.match))?.groupCount else { return nil }
        let text = Array(rule.to.utf8)
        return zip(text, text.dropFirst()).lazy.filter { $0.0 == UInt8(ascii: "$") }.map { Int($0.1) - 0x30 }
            .first { (0...9).contains($0) && $0 > count }.map { ($0, count) }
    }

    /// `$1` is the first group, `$0` all that matched; another `$` is itself.
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
