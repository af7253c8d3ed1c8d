internal import TransferModel

/// Generates docs/errors.md from the error names.
package enum ErrorReference {
    /// Returns the page as Markdown.
    package static func markdown() -> String {
        let apple = ErrorName.allCases.filter { $0.code != nil }.sorted { $0.code ?? 0 > $1.code ?? 0 }
        let own = ErrorName.allCases.filter { $0.code == nil }.sorted { $0.rawValue < $1.rawValue }
        return """
            # Errors

            An error in the report has a `domain`, a `name`, a `code`, a `message` that says what happened this time, and
            libcurl's code (`curl`) and the system's (`errno`) where those were the cause. Scripts should look at `name`.

            *Retried* says whether the same request may do better later, so that `retry` applies to it.

            This page is generated from the names in the source.

            ## Apple's names and numbers

            `domain` is `NSURLErrorDomain`, `code` is the number.

            | name | code | retried | what helps |
            | --- | --- | --- | --- |
            \(apple.map { row($0, code: "\($0.code ?? 0)") }.joined(separator: "\n"))

            ## Names of our own

            `domain` is `transfer-run`, `code` is `null`.

            | name | retried | what helps |
            | --- | --- | --- |
            \(own.map { row($0, code: nil) }.joined(separator: "\n"))

            """
    }

    private static func row(_ name: ErrorName, code: String?) -> String {
        let cells = ["`\(name.rawValue)`", code, name.canHeal ? "yes" : "no", name.whatHelps].compactMap { $0 }
        return "| " + cells.joined(separator: " | ") + " |"
    }
}
