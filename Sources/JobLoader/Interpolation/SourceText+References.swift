import Diagnostics

extension SourceText {
    /// Returns the position of a reference within a scalar, by its number among all of them there. Its `${` is found by counting, which works however the scalar
    /// is quoted or folded.
    func span(ofReference ordinal: Int, within span: SourceSpan) -> SourceSpan {
        var left = ordinal
        for line in span.line...max(span.endLine, span.line) {
            let first = line == span.line ? Int(span.column) : 1
            let scalars = scalars(
                ofLine: Int(line), from: first, to: line == span.endLine ? Int(span.endColumn) : .max)
            for place in scalars.indices.dropLast() where scalars[place] == "$" && scalars[place + 1] == "{" {
                if left == 0 { return Self.reference(in: scalars, from: place, line, first) }
                left -= 1
            }
        }
        return span
    }

    /// Returns the position of the reference that begins at `start`; `first` is the column of the first scalar.
    private static func reference(
        in scalars: [Unicode.Scalar], from start: Int, _ line: Int32, _ first: Int
    ) -> SourceSpan {
        var depth = 0
        var place = start
        while place < scalars.count {
            if scalars[place] == "{" { depth += 1 }
            if scalars[place] == "}" {
                depth -= 1
                if depth == 0 { break }
            }
            place += 1
        }
        let end = min(place + 1, scalars.count)
        return SourceSpan(line: line, column: Int32(first + start), endLine: line, endColumn: Int32(first + end))
    }
}
