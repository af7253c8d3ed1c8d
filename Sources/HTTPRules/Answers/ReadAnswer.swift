import TextFormats
import TransferModel

/// An answer while it is examined; its body is parsed as JSON once, on first use.
struct ReadAnswer: ~Copyable {
    let headers: HeaderBlock
    /// URL that sent the answer.
    let url: ResourceURL?
    /// The body as text; `nil` in an unknown encoding.
    let text: BodyText?
    /// Why there is no text.
    let problem: String
    private let parsed: ParsedOnce

    init(_ body: [UInt8], charset: String?, _ headers: HeaderBlock, at url: ResourceURL? = nil) {
        (self.headers, self.url) = (headers, url)
        do throws(TransferError) {
            text = try BodyText(body, charset: charset)
            problem = ""
        } catch {
            text = nil
            problem = error.message
        }
        parsed = ParsedOnce()
    }

    struct Problem: Error {
        let message: String
    }

    var document: Result<JSONValue, Problem> {
        if let known = parsed.document { return known }
        let made = parse()
        parsed.document = made
        return made
    }

    /// Limits of the JSON parser. Objects with few members fill 16 MiB with a million values, which take some 110 MB of
    /// memory; many more are too many.
    private static let limits = JSONParser.Limits(bytes: Int(AnswerRules.longest) * 2, depth: 64, values: 2_500_000)

    private func parse() -> Result<JSONValue, Problem> {
        guard let text else { return .failure(Problem(message: problem)) }
        do throws(JSONProblem) {
            return .success(try JSONParser.parse(text.bytes, limits: Self.limits, keepsHalves: true))
        } catch {
            if text.bytes.isEmpty { return .failure(Problem(message: "the body is empty")) }
            let place = "(line \(error.line), column \(error.column))"
            return .failure(Problem(message: "the body is no JSON\(otherType): \(error.message) \(place)"))
        }
    }

    /// ` but `text/html`` where the answer itself says that the body is something else.
    private var otherType: String {
        guard let type = headers.first("content-type").flatMap({ MediaType($0)?.type }),
            !type.hasSuffix("json"), !["text/plain", "application/octet-stream"].contains(type)
        else { return "" }
        return " but \(ForeignText.quoted(type))"
    }

    private final class ParsedOnce {
        var document: Result<JSONValue, Problem>?
    }
}

/// The value that a capture found.
struct FoundValue {
    let text: String
    let value: PlainValue
    /// The texts that must be redacted if the value is secret.
    let hidden: [String]
    private(set) var isList = false
    /// Whether it is neither a text nor a number, which alone can name a URL.
    var isNoURL: Bool {
        switch value {
        case .string, .number: false
        case .null, .boolean, .list, .map: true
        }
    }

    /// Makes a value of a list.
    init(list: [JSONValue]) {
        self.init(JSONValue.array(list))
        isList = true
    }

    init(_ text: String) {
        self.text = text
        value = .string(text)
        hidden = [text]
    }

    /// `source`: the text in the answer that the value was made from.
    init(_ text: String, writtenAs source: String) {
        self.text = text
        value = .string(text)
        hidden = [text, source]
    }

    init(_ json: JSONValue) {
        if case .string(let text) = json {
            self.text = text
            hidden = [text]
        } else {
            text = json.words
            hidden = [text] + json.leaves
        }
        value = json.plain
    }
}
