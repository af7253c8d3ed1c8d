import Diagnostics

/// What can be said about the bytes before any YAML is read.
enum EncodingCheck {
    static func passes(_ source: SourceText, limits: YAMLTree.Limits, problems: inout ProblemCollector) -> Bool {
        guard source.bytes.count <= limits.bytes else {
            problems.tooLarge(limits.bytes)
            return false
        }
        if let encoding = encoding(of: source.bytes) {
            problems.fatal("not-utf8", "the file is \(encoding)", hint: "save it as UTF-8", at: nil)
            return false
        }
        return true
    }

    /// As its byte-order mark says; `nil` where it may be UTF-8. That of UTF-32 begins like that of UTF-16, in which no text
    /// goes on with a NUL.
    private static func encoding(of bytes: [UInt8]) -> String? {
        if bytes.starts(with: [0xFF, 0xFE, 0, 0]) || bytes.starts(with: [0, 0, 0xFE, 0xFF]) { return "UTF-32" }
        return bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) ? "UTF-16" : nil
    }
}
