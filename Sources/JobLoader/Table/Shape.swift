/// The allowed forms of a value. The schema, the reference and messages are generated from it; reading is up to each
/// key's row.
indirect enum Shape: Sendable {
    case text
    /// Text of one form, given as a regular expression that JSON Schema understands, with words for people.
    case pattern(String, words: String)
    /// Text, a number or a boolean, taken as it is written.
    case scalar
    case boolean
    case integer(ClosedRange<Int64>)
    case number(ClosedRange<Double>)
    case duration
    case size
    case rate
    case statuses
    case path
    case fileMode
    case hostPattern
    case jsonPath
    case regex
    case timeOfDay
    case timeZone
    /// A duration from the start of the run, or a date.
    case moment
    case url
    case headerValue
    case choice([String])
    /// Any value at all.
    case json
    case list(Shape)
    case map(Shape)
    /// A map described by a section of the table, with that section's name.
    case object(String)
    case either([Shape])

    /// A command: the program and its arguments.
    static let words = Shape.list(.text)
    static let hostPatterns = Shape.list(.hostPattern)

    /// The form in words for people, after "must be".
    var words: String {
        switch self {
        case .text: "text"
        case .pattern(_, let words): words
        case .scalar: "text, a number or a boolean"
        case .boolean: "`true` or `false`"
        case .integer(let range): "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .number(let range): "a number from \(Self.short(range.lowerBound)) to \(Self.short(range.upperBound))"
        case .duration: "a duration, such as `30s`, `1h30m` or a number of seconds"
        case .size: "a size, such as `16KiB`, `5MB` or a number of bytes"
        case .rate: "a rate, such as `10MiB/s`"
        case .statuses: "a status, such as `200`, `2xx` or `200-299`, or a list of them"
        case .path: "a path"
        case .fileMode: "a file mode, such as `\"0644\"`"
        case .hostPattern: "a host pattern, such as `example.org`, `*.example.org` or `*`"
        case .jsonPath: "a JSON path, such as `$.name`"
        case .regex: "a regular expression"
        case .timeOfDay: "a time of day, such as `\"01:00\"`"
        case .timeZone: "a time zone, such as `Europe/Berlin`"
        case .moment: "a duration from the start, or a date such as `2026-11-21T07:00:00Z`"
        case .url: "a URL"
        case .headerValue: "text, or a list of texts for several lines"
        case .choice(let values): Self.oneOf(values)
        case .json: "any value"
        case .list(let element): "a list of \(element.plural)"
        case .map: "a map"
        case .object: "a map"
        case .either(let shapes): shapes.map(\.words).joined(separator: ", or ")
        }
    }

    /// Whether a value may be a map or a list.
    var holdsSeveral: Bool {
        switch self {
        case .list, .map, .object: true
        case .either(let shapes): shapes.contains(where: \.holdsSeveral)
        default: false
        }
    }

    private var plural: String {
        switch self {
        case .text: "texts"
        case .hostPattern: "host patterns"
        case .path: "paths"
        case .url: "URLs"
        case .object, .map: "maps"
        case .regex: "regular expressions"
        default: "values: \(words)"
        }
    }

    static func oneOf(_ values: [String]) -> String {
        let quoted = values.map { "`\($0)`" }
        guard quoted.count > 1 else { return quoted.joined() }
        return quoted.dropLast().joined(separator: ", ") + " or " + quoted[quoted.count - 1]
    }

    private static func short(_ number: Double) -> String {
        number == number.rounded() ? "\(Int(number))" : "\(number)"
    }
}
