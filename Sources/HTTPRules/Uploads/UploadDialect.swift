import TransferModel

/// A version of draft-ietf-httpbis-resumable-upload. Client and server name it to each other by a number
/// (`Upload-Draft-Interop-Version`), because the versions differ in their headers.
package enum UploadDialect: Int, CaseIterable, Sendable {
    /// The final standard, which has no number.
    case standard = 0
    /// draft-01: `Upload-Incomplete`, the opposite of the later `Upload-Complete`.
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

    /// Versions to try in turn, because a server cannot be asked which it speaks. The first is the most common; each
    /// cut without a sign that the server understood advances to the next.
    package static let tries: [UploadDialect] = [.draft6, .draft8, .draft5, .draft3]

    // MARK: What a request says

    /// The header fields of the first request, beside its ordinary ones.
    func creation(length: Int64) -> [HeaderField] {
        version + [completeness(true)] + (tellsLength ? [field("Upload-Length", "\(length)")] : [])
    }

    /// The header fields of a request for the offset.
    var question: [HeaderField] { version }

    /// The header fields of a request that appends bytes from `offset` on.
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

/// The facts about an upload in an answer's headers. A malformed header counts as missing.
struct UploadFacts: Hashable {
    /// Version that the server named; a number unknown here is `.some(nil)`.
    var dialect: UploadDialect??
    /// Bytes that the server holds.
    var offset: Int64?
    /// Length of the whole upload in bytes, as the server knows it.
    var length: Int64?
    /// Whether the server holds the whole upload.
    var isComplete: Bool?
    /// Bytes of an upload that the server accepts, at most.
    var maximumSize: Int64?
    /// Bytes that one request may append, at most.
    var maximumAppend: Int64?
    /// How long the server keeps the upload.
    var age: TimeSpan?

    /// Whether the server says that it does not hold everything.
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
    /// The value of a header that may occur only once; `nil` when it is missing or repeated.
    fileprivate func only(_ name: StaticString) -> String? {
        let values = all(name)
        return values.count == 1 ? values[0] : nil
    }
}
