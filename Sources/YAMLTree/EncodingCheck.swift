import Diagnostics

/// What can be said about the bytes before any YAML is read.
enum EncodingCheck {
    static func passes(_ source: SourceText, limits: YAMLTree.Limits, problems: inout ProblemCollector) -> Bool {
        guard source.bytes.count <= limits.bytes else {
            problems.tooLarge(limits.bytes)
            return false
        }
        if source.bytes.starts(with: [0xFF, 0xFE]) || source.bytes.starts(with: [0xFE, 0xFF]) {
            problems.fatal("not-utf8", "the file is UTF-16", hint: "save it as UTF-8", at: nil)
            return false
        }
        return true
    }
}
