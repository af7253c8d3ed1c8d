import CLibYAML
import Diagnostics

/// Translates libyaml's error into words that say what would be right.
struct SyntaxProblem {
    private(set) var code = "yaml-syntax"
    private(set) var message: String
    private(set) var hint: String?
    private(set) var span: SourceSpan?

    private let source: SourceText
    /// What libyaml was parsing, "while parsing a flow mapping"; empty when it does not say.
    private let context: String
    private let begin: Place
    private let problem: Place

    private struct Place {
        let line: Int
        let column: Int

        init(line: Int, column: Int) {
            self.line = line
            self.column = column
        }

        /// libyaml counts from 0.
        init(_ mark: yaml_mark_t) { self.init(line: Int(mark.line) + 1, column: Int(mark.column) + 1) }
    }

    init(_ parser: yaml_parser_t, in source: SourceText) {
        self.source = source
        let said = unsafe parser.problem.map { unsafe String(cString: $0) } ?? "the file is not YAML"
        message = said
        context = unsafe parser.context.map { unsafe String(cString: $0) } ?? ""
        begin = unsafe Place(parser.context_mark)
        if unsafe parser.error == YAML_READER_ERROR {
            let position = unsafe source.position(ofByte: Int(parser.problem_offset) + source.byteOrderMarkLength)
            problem = Place(line: position.line, column: position.column)
            explainBytes(said)
        } else {
            problem = unsafe Place(parser.problem_mark)
            explain(said)
        }
        if span == nil { point(at: problem) }
        if unsafe parser.error == YAML_MEMORY_ERROR {
            (code, message) = ("out-of-memory", "there is not enough memory")
        }
    }

    private mutating func explainBytes(_ said: String) {
        if said == "control characters are not allowed" {
            code = "control-character"
            message = "a control character stands here"
            hint = "remove it, or write it as an escape such as \"\\x1b\" in double quotes"
        } else {
            code = "not-utf8"
            message = "the file is not UTF-8 here"
            hint = "save the file as UTF-8"
        }
    }

    private mutating func explain(_ said: String) {
        if explainFlow(said) || explainQuotes(said) || explainIndicator(said) || explainLayout(said) { return }
        if !context.isEmpty { message = "\(said), \(context)" }
    }

    // MARK: Flow style

    private mutating func explainFlow(_ said: String) -> Bool {
        switch said {
        case "did not find expected ',' or '}'":
            message = "expected `,` or `}` \(inside("the map"))"
            hint = separatorHint("}")
        case "did not find expected ',' or ']'":
            message = "expected `,` or `]` \(inside("the list"))"
            hint = separatorHint("]")
        case "did not find expected node content":
            message = "a value is missing here"
            hint = "write the value, or `null`"
        default: return false
        }
        if scalar(at: problem) == "{", scalar(at: Place(line: problem.line, column: problem.column - 1)) == "$" {
            message = "an unquoted `${` breaks the `{ }` or `[ ]` it stands in"
            hint = "quote it: \"…${name}…\""
            point(at: Place(line: problem.line, column: problem.column - 1), length: 2)
        } else if scalar(at: problem) == nil, isAtEnd(problem) {
            if let (bracket, place) = openBracket() {
                message = "this `\(bracket)` is never closed"
                hint = "add `\(bracket == "{" ? "}" : "]")`"
                point(at: place)
            } else {
                message = "a `{` or `[` is never closed"
                hint = "add the closing bracket"
                point(at: begin)
            }
        }
        return true
    }

    /// Returns the innermost bracket that the file does not close, and its place. Quoted texts and comments are passed
    /// over; a bracket in an unquoted text outside all brackets is taken for one only where a value can begin.
    private func openBracket() -> (Unicode.Scalar, Place)? {
        var open: [(Unicode.Scalar, Place)] = []
        var quote: Unicode.Scalar?
        for line in 1...problem.line {
            var before: Unicode.Scalar = " "
            var isEscaped = false
            for (column, scalar) in source.line(line).unicodeScalars.enumerated() {
                defer { before = scalar }
                if let mark = quote {
                    if isEscaped {
                        isEscaped = false
                    } else if scalar == "\\", mark == "\"" {
                        isEscaped = true
                    } else if scalar == mark {
                        quote = nil
                    }
                    continue
                }
                let beginsValue = [" ", "\t", "[", "{", ",", ":", "\"", "'"].contains(before)
                if scalar == "#", before == " " || before == "\t" { break }
                switch scalar {
                case "\"" where beginsValue, "'" where beginsValue: quote = scalar
                case "{" where beginsValue || !open.isEmpty, "[" where beginsValue || !open.isEmpty:
                    open.append((scalar, Place(line: line, column: column + 1)))
                case "}", "]": _ = open.popLast()
                default: break
                }
            }
        }
        return open.last
    }

    private func separatorHint(_ bracket: String) -> String {
        begin.line == problem.line
            ? "separate entries with `,`; quote a text that holds a `,` or a bracket"
            : "is there a missing `\(bracket)` before this, or a missing `,`?"
    }

    private func inside(_ what: String) -> String {
        begin.line == problem.line
            ? "in \(what) that begins in column \(begin.column)" : "in \(what) that begins in line \(begin.line)"
    }

    // MARK: Quotes and escapes

    private mutating func explainQuotes(_ said: String) -> Bool {
        switch said {
        case "found unexpected end of stream", "found unexpected document indicator":
            guard context == "while scanning a quoted scalar" else { return false }
            message = "a quoted text begins here and is never closed"
            hint = "add the closing quote; inside '…' a quote is written '', inside \"…\" it is written \\\""
            point(at: begin)
        case "found unknown escape character":
            message = "no such escape in double quotes"
            hint = "write `\\\\` for a backslash, or use single quotes, where nothing is an escape"
        case "did not find expected hexdecimal number", "found invalid Unicode character escape code":
            message = "an escape `\\x`, `\\u` or `\\U` needs 2, 4 or 8 hexadecimal digits of a character"
            if said == "found invalid Unicode character escape code" {
                hint =
                    "what JSON writes as a pair, such as `\\ud83d\\ude00`, is `\\U0001F600` here, or the character itself"
            }
        default: return false
        }
        return true
    }

    // MARK: Words that begin with an indicator

    private mutating func explainIndicator(_ said: String) -> Bool {
        switch said {
        case "did not find expected alphabetic or numeric character":
            let isAlias = context == "while scanning an alias"
            message = isAlias ? "`*` begins an alias, and no name follows" : "`&` begins an anchor, and no name follows"
            hint = "quote a text that begins with it: \"\(isAlias ? "*.example.org" : "&…")\""
            point(at: begin)
        case "found character that cannot start any token":
            explainStart()
        case "found undefined tag handle", "did not find expected tag URI", "did not find expected '!'",
            "did not find expected whitespace or line break", "did not find the expected '>'":
            message = "`!` begins a tag, and this is none"
            hint = "quote a text that begins with `!`"
        default: return false
        }
        return true
    }

    private mutating func explainStart() {
        guard let scalar = scalar(at: problem), scalar != "\t" else {
            message = "a tab stands where only spaces can"
            hint = "indent with spaces"
            return
        }
        message = "`\(String(scalar))` cannot begin a word"
        hint = "quote the text"
    }

    // MARK: Layout

    private mutating func explainLayout(_ said: String) -> Bool {
        let checkIndentation = "check the indentation: what belongs together begins in the same column"
        switch said {
        case "mapping values are not allowed in this context":
            message = "mapping values are not allowed here: this `:` has no key"
            hint = "quote a text that holds `: `, or check the indentation"
        case "block sequence entries are not allowed in this context":
            message = "a list item (`- `) is not allowed here"
            hint = "begin the list in a line of its own; quote a text that begins with `- `"
        case "mapping keys are not allowed in this context":
            message = "a key is not allowed here"
            hint = checkIndentation
        case "could not find expected ':'":
            message = "this line is no `key: value`"
            hint = "write a `:` and a space after the key, or \(checkIndentation)"
            point(at: begin)
        case "did not find expected key":
            message = "this does not fit the map that begins in line \(begin.line)"
            hint = checkIndentation
        case "did not find expected '-' indicator":
            message = "this does not fit the list that begins in line \(begin.line): an item begins with `- `"
            hint = checkIndentation
        case "did not find expected <document start>":
            message = "the document has ended here, and more follows"
            hint = checkIndentation
        case "did not find expected comment or line break":
            message = "after `|` or `>` only a comment may stand in the line"
            hint = "begin the text in the next line"
        default:
            guard said.hasPrefix("found a tab character") else { return false }
            message = "a tab stands where only spaces can"
            hint = "indent with spaces"
        }
        return true
    }

    // MARK: Places

    private mutating func point(at place: Place, length: Int = 1) {
        let isInLine = scalar(at: place) != nil
        span = SourceSpan(line: place.line, column: place.column, length: isInLine ? length : 0)
    }

    private func scalar(at place: Place) -> Unicode.Scalar? {
        guard place.column >= 1 else { return nil }
        return source.line(place.line).unicodeScalars.dropFirst(place.column - 1).first
    }

    private func isAtEnd(_ place: Place) -> Bool {
        source.byteRange(ofLine: place.line).upperBound >= source.bytes.count
    }
}
