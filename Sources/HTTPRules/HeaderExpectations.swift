import TextFormats
package import TransferModel

/// The compiled `expect.headers`, checked against an answer's headers.
package struct HeaderExpectations: Sendable {
    private struct Check {
        let name: String
        let lowerName: String
        let regex: TextFormats.Regex
    }
    /// Values of one header that a message shows, at most.
    private static let mostTold = 4
    private let checks: [Check]
    private let names: CredentialNames
    /// A pattern that the job file's check accepts and PCRE2 does not; no answer can meet it.
    private let failure: TransferError?

    /// `names`: headers whose values no message shows.
    package init(_ matches: [Expectations.HeaderMatch], hiding names: CredentialNames = .standard) {
        self.names = names
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

    /// Returns one error for each expectation that the headers do not meet; one matching value of a name is enough.
    package func misses(in headers: HeaderBlock) -> [TransferError] {
        failure.map { [$0] } ?? checks.compactMap { miss($0, in: headers) }
    }

    private func miss(_ check: Check, in headers: HeaderBlock) -> TransferError? {
        var values: [String] = []
        for line in headers.lines where headers.name(line).lowercased() == check.lowerName {
            let value = headers.value(line)
            values.append(value)
            do throws(TextFormats.Regex.Problem) {
                if try check.regex.firstMatch(in: Array(value.utf8)) != nil { return nil }
            } catch {
                return TransferError(
                    .unexpectedResponse,
                    "matching `\(check.name)` with `\(check.regex.pattern)` was given up: \(error.message)")
            }
        }
        let told = values.map { names.masked($0, ofHeader: check.name) }
        let shown = told.prefix(Self.mostTold).map { ForeignText.quoted($0) }
        let rest = told.count > shown.count ? ["\(told.count - shown.count) more"] : []
        let found = told.isEmpty ? "none" : (shown + rest).joined(separator: " and ")
        return TransferError(
            .unexpectedResponse, "expected `\(check.name)` to match `\(check.regex.pattern)`, the server sent \(found)")
    }
}
