import CLibYAML
import Diagnostics

/// libyaml's error, in words that say what would be right.
struct SyntaxProblem {
    var code = "yaml-syntax"
    var message: String
    var hint: String?
    var span: SourceSpan?

    init(_ parser: yaml_parser_t, in source: SourceText) {
        let problem = unsafe parser.problem.map { unsafe String(cString: $0) } ?? "the file is not YAML"
        message = problem
        let mark = unsafe parser.problem_mark
        span = SourceSpan(line: Int(mark.line) + 1, column: Int(mark.column) + 1)
        if unsafe parser.error == YAML_READER_ERROR {
            let position = unsafe source.position(ofByte: parser.problem_offset + source.byteOrderMarkLength)
            span = SourceSpan(line: position.line, column: position.column)
        }
    }
}
