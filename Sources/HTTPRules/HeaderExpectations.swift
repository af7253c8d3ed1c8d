import TextFormats
package import TransferModel

/// `expect.headers`, ready to be held against an answer.
package struct HeaderExpectations: Sendable {
    private struct Check {
        let name: String
        let lowerName: String
        let regex: TextFormats.Regex
    }
    private let checks: [Check]
    /// What the job file let through and PCRE2 does not: no answer can meet it.
    private let failure: TransferError?

    package init(_ matches: [Expectations.HeaderMatch]) {
        var checks: [Check] = []
        var failure: TransferError?
        for match in matches {
            do throws(TextFormats.Regex.Problem) {
                let regex = try TextFormats.Regex(match.pattern)
                checks.append(Check(name: match.name, lowerName: match.name.lowercased(), regex: regex))
            } catch {
                failure = TransferError(
                    .unexpectedResponse, "`\(match.pattern)` is no regular expression: \(error.message)")
            }
        }
        (self.checks, self.failure) = (checks, failure)
    }

    /// Why the headers are not the ones expected: of each name one of the values must match.
    package func miss(in headers: HeaderBlock) -> TransferError? {
        if let failure { return failure }
        for check in checks {
            if let miss = Self.miss(check, in: headers) { return miss }
        }
        return nil
    }

    private static func miss(_ check: Check, in headers: HeaderBlock) -> TransferError? {
        var last: String?
        for line in headers.lines where headers.name(line).lowercased() == check.lowerName {
            let value = headers.value(line)
            last = value
            do throws(TextFormats.Regex.Problem) {
                if try check.regex.firstMatch(in: Array(value.utf8)) != nil { return nil }
            } catch {
                return TransferError(
                    .unexpectedResponse,
                    "matching `\(check.name)` with `\(check.regex.pattern)` was given up: \(error.message)")
            }
        }
        let told = check.lowerName == "set-cookie" ? last.map { CookieMask.masked($0) } : last
        let found = told.map { "the server sent \(ForeignText.quoted($0))" } ?? "the server sent none"
        return TransferError(
            .unexpectedResponse, "expected `\(check.name)` to match `\(check.regex.pattern)`, \(found)")
    }
}
