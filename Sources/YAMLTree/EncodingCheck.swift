import Diagnostics

/// Checks a file's bytes before any YAML is read.
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

    /// The encoding by the byte order mark; `nil` where the file may be UTF-8. UTF-32's mark begins like UTF-16's,
    /// after which no text continues with a NUL.
    private static func encoding(of bytes: [UInt8]) -> String? {
        if bytes.starts(with: [0xFF, 0xFE, 0, 0]) || bytes.starts(with: [0, 0, 0xFE, 0xFF]) { return "UTF-32" }
        return bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) ? "UTF-16" : nil
    }
}
