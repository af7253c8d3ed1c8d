import HTTPRules
import SystemIO
import TextFormats
import TransferModel

/// What a task sends, as it was when the task began: however often that is, these are the bytes, or it fails.
final class PlannedBody: Sendable {
    enum Section: Sendable {
        case bytes([UInt8])
        case file(BodyFile)

        var length: Int64 {
            switch self {
            case .bytes(let bytes): Int64(bytes.count)
            case .file(let file): file.facts.size
            }
        }
    }
    enum Content: Sendable {
        /// With where each begins.
        case sections([Section], starts: [Int64])
        /// `-` is this process's own standard input.
        case stream([SecretText])
    }
    let content: Content
    /// `nil` when nobody knows before it was sent.
    let length: Int64?

    /// No bytes: what a POST without a body says.
    static let nothing = PlannedBody([.bytes([])])

    convenience init(_ body: RequestBody, boundary: () -> String) throws(TransferError) {
        switch body {
        case .stream(let command, let length): self.init(command, length: length)
        case .multipart(let parts): self.init(try Self.sections(parts, boundary()))
        case .data, .base64, .json, .form, .file: self.init([try Self.section(body)])
        }
    }

    convenience init(bytes: [UInt8]) { self.init([.bytes(bytes)]) }

    private init(_ sections: [Section]) {
        var starts: [Int64] = []
        var length: Int64 = 0
        for section in sections {
            starts.append(length)
            length += section.length
        }
        content = .sections(sections, starts: starts)
        self.length = length
    }

    private init(_ command: [SecretText], length: Int64?) {
        content = .stream(command)
        self.length = length
    }

    private static func section(_ body: RequestBody) throws(TransferError) -> Section {
        switch body {
        case .data(let text): .bytes(Array(text.revealed.utf8))
        case .base64(let bytes): .bytes(bytes)
        case .json(let value): .bytes(value.serialised)
        case .form(let fields): .bytes(Array(formEncoded(fields).utf8))
        case .file(let path): .file(try BodyFile(path.revealed))
        case .stream, .multipart: preconditionFailure("not one section: \(body)")
        }
    }

    private static func sections(
        _ parts: [RequestBody.Part], _ boundary: String
    ) throws(TransferError) -> [Section] {
        var sections: [Section] = []
        var bytes: [UInt8] = []
        for part in parts {
            var (filename, type) = (part.filename, part.contentType)
            if case .file(let path) = part.content {
                filename = filename ?? Folders.split(path.revealed).name
                type = type ?? FileTypes.type(ofPath: path.revealed)
            } else if case .json = part.content {
                type = type ?? "application/json"
            }
            bytes += MultipartForm.head(name: part.name, filename: filename, contentType: type, boundary: boundary)
            switch part.content {
            case .data(let text): bytes += Array(text.revealed.utf8)
            case .json(let value): bytes += value.serialised
            case .file(let path):
                sections += [.bytes(bytes), .file(try BodyFile(path.revealed))]
                bytes = []
            }
            bytes += MultipartForm.lineEnd
        }
        return sections + [.bytes(bytes + MultipartForm.end(boundary: boundary))]
    }

    private static func formEncoded(_ fields: [RequestBody.FormField]) -> String {
        fields.map { field in
            PercentEncoding.encode(field.name) + "=" + PercentEncoding.encode(field.value.revealed)
        }.joined(separator: "&")
    }

    /// Whether it depends on what lies outside the job: then it is the same for all attempts of a task, and planned once.
    var outlivesAttempts: Bool {
        switch content {
        case .stream: false
        case .sections(let sections, _): sections.contains { if case .file = $0 { true } else { false } }
        }
    }

    /// Fails where a file is another one by now, however short: a sending that would end so need not begin.
    func check() throws(TransferError) {
        for file in files { try file.check() }
    }

    /// Its files as they were, for a later process.
    var marks: [BodyFileMark] { files.map(\.mark) }

    /// Fails where a file is not as an earlier process saw it when the task began.
    func check(against earlier: [BodyFileMark]) throws(TransferError) {
        for (file, mark) in zip(files, earlier) { try file.compare(to: mark) }
    }

    private var files: [BodyFile] {
        guard case .sections(let sections, _) = content else { return [] }
        return sections.compactMap { if case .file(let file) = $0 { file } else { nil } }
    }

    var isStream: Bool { if case .stream = content { true } else { false } }

    /// Where it is one file, and nothing else.
    var file: BodyFile? {
        guard case .sections(let sections, _) = content, sections.count == 1, case .file(let file) = sections[0] else {
            return nil
        }
        return file
    }
}

extension PlannedBody {
    /// What is short and lies in memory, as it is sent.
    static func shortBytes(of body: RequestBody?) -> [UInt8]? {
        switch body {
        case nil: return []
        case .file, .stream, .multipart: return nil
        case .data?, .base64?, .json?, .form?: break
        }
        guard let body, case .bytes(let bytes)? = try? section(body), bytes.count <= longestShort else { return nil }
        return bytes
    }
    private static let longestShort = 1 << 20

    /// The type a body has of itself; what is only bytes has none.
    static func contentType(of body: RequestBody) -> SecretText? {
        switch body {
        case .json: "application/json"
        case .form: "application/x-www-form-urlencoded"
        case .multipart: "multipart/form-data"
        case .file(let path): SecretText(FileTypes.type(ofPath: path.revealed))
        case .data, .base64, .stream: nil
        }
    }
}
