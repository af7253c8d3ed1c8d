import TransferModel

/// One state of draft-ietf-httpbis-resumable-upload. Client and server name it to each other by a number
/// (`Upload-Draft-Interop-Version`), because they differ in their headers.
package enum UploadDialect: Int, CaseIterable, Sendable {
    /// Without a number, as the standard will have it.
    case standard = 0
    /// draft-01: `Upload-Incomplete`, the opposite of what came after it.
    case draft3 = 3
    case draft4 = 4
    /// draft-03
    case draft5 = 5
    /// draft-04 and -05: `application/partial-upload`, `Upload-Length`, `Upload-Limit`.
    case draft6 = 6
    /// draft-06 to -08
    case draft7 = 7
    /// draft-09 and later
    case draft8 = 8

    /// Nobody asks a server before which of them it speaks. The first is what most speak, and each cut without a sign of
    /// understanding goes one further.
    package static let tries: [UploadDialect] = [.draft6, .draft8, .draft5, .draft3]

    // MARK: What a request says

    /// Beside what it would say anyway.
    func creation(length: Int64) -> [HeaderField] {
        version + [completeness(true)] + (tellsLength ? [field("Upload-Length", "\(length)")] : [])
    }

    var question: [HeaderField] { version }

    func append(at offset: Int64, isLast: Bool, length: Int64) -> [HeaderField] {
        var fields = version + [field("Upload-Offset", "\(offset)"), completeness(isLast)]
        if tellsLength { fields.append(field("Upload-Length", "\(length)")) }
        if namesParts { fields.append(field("Content-Type", "application/partial-upload")) }
        return fields
    }

    private var version: [HeaderField] {
        self == .standard ? [] : [field("Upload-Draft-Interop-Version", "\(rawValue)")]
    }

    private func completeness(_ isComplete: Bool) -> HeaderField {
        self == .draft3
            ? field("Upload-Incomplete", isComplete ? "?0" : "?1") : field("Upload-Complete", isComplete ? "?1" : "?0")
    }

    private var namesParts: Bool { self == .standard || rawValue >= 6 }
    private var tellsLength: Bool { namesParts }

    private func field(_ name: String, _ value: String) -> HeaderField {
        HeaderField(name: name, value: SecretText(value))
    }
}

/// What an answer says of an upload. A header that is not as it should be counts as not there.
struct UploadFacts: Hashable {
    /// The number that the server named; a draft that nobody here knows is `.some(nil)`.
    var dialect: UploadDialect??
    var offset: Int64?
    var length: Int64?
    var isComplete: Bool?
    var maximumSize: Int64?
    var maximumAppend: Int64?
    /// How long the server keeps it.
    var age: TimeSpan?

    /// The server does not have all, by its own word.
    func isShort(of whole: Int64) -> Bool { !(isComplete ?? (offset ?? whole == whole)) }

    init(_ headers: HeaderBlock) {
        if let number = headers.first("upload-draft-interop-version") {
            dialect = .some(Self.integer(number).flatMap { UploadDialect(rawValue: Int($0)) })
            if case .some(.some(.standard)) = dialect { dialect = .some(nil) }
        }
        offset = headers.only("upload-offset").flatMap { Self.integer($0) }
        length = headers.only("upload-length").flatMap { Self.integer($0) }
        if let text = headers.only("upload-complete"), case .boolean(let value)? = StructuredDictionary.item(text) {
            isComplete = value
        } else if let text = headers.only("upload-incomplete"),
            case .boolean(let value)? = StructuredDictionary.item(text)
        {
            isComplete = !value
        }
        readLimits(headers.all("upload-limit").joined(separator: ", "))
    }

    private mutating func readLimits(_ text: String) {
        for (key, value) in StructuredDictionary.members(text) ?? [] {
            guard case .integer(let number) = value, number >= 0 else { continue }
            switch key {
            case "max-size": maximumSize = number
            case "max-append-size" where number > 0: maximumAppend = number
            case "max-age", "expires": age = .seconds(min(number, 10 * 365 * 86_400))
            default: continue
            }
        }
    }

    private static func integer(_ text: String) -> Int64? {
        guard case .integer(let number)? = StructuredDictionary.item(text), number >= 0 else { return nil }
        return number
    }
}

extension HeaderBlock {
    /// The value of a header that may be there once.
    fileprivate func only(_ name: StaticString) -> String? {
        let values = all(name)
        return values.count == 1 ? values[0] : nil
    }
}
