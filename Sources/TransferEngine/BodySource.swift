import Glibc
import SystemIO
import TextFormats
import TransferModel

/// A request body that libcurl reads piece by piece and that can be sent again from the start.
final class BodySource {
    private enum Content {
        case bytes([UInt8])
        case file(FileBody)
    }
    private let content: Content
    let length: Int64
    private var offset: Int64 = 0
    /// Why sending had to stop: the file could not be read, or is not the one it was when sending began.
    private(set) var failure: TransferError?

    init(_ body: RequestBody?) throws(TransferError) {
        switch body {
        case nil: content = .bytes([])
        case .data(let text): content = .bytes(Array(text.revealed.utf8))
        case .base64(let bytes): content = .bytes(bytes)
        case .json(let value): content = .bytes(value.serialised())
        case .form(let fields): content = .bytes(Array(Self.formEncoded(fields).utf8))
        case .file(let path): content = .file(try FileBody(path.revealed))
        case .stream, .multipart:
            throw TransferError(.unsupportedURL, "this kind of body is not built yet")
        }
        switch content {
        case .bytes(let bytes): length = Int64(bytes.count)
        case .file(let file): length = file.facts.size
        }
    }

    /// What is short and lies in memory, as it is sent.
    static func shortBytes(of body: RequestBody?, upTo longest: Int64 = longestShort) -> [UInt8]? {
        switch body {
        case nil, .data, .base64, .json, .form: break
        case .file, .stream, .multipart: return nil
        }
        guard let source = try? BodySource(body), source.length <= longest,
            case .bytes(let bytes) = source.content
        else { return nil }
        return bytes
    }
    private static let longestShort: Int64 = 1 << 20

    var sent: Int64 { offset }

    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int? {
        let wanted = Int(min(Int64(buffer.count), length - offset))
        let count: Int
        switch content {
        case .bytes(let bytes):
            bytes.withUnsafeBytes { source in
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[Int(offset)..<(Int(offset) + wanted)]))
            }
            count = wanted
        case .file(let file):
            do throws(TransferError) {
                count = try file.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]), at: offset)
            } catch {
                failure = error
                return nil
            }
        }
        offset += Int64(count)
        return count
    }

    func rewind(to offset: Int64) -> Bool {
        guard (0...length).contains(offset) else { return false }
        self.offset = offset
        return true
    }

    /// The type a body has of itself; what is only bytes has none.
    static func contentType(of body: RequestBody) -> SecretText? {
        switch body {
        case .json: "application/json"
        case .form: "application/x-www-form-urlencoded"
        case .file(let path): SecretText(FileTypes.type(ofPath: path.revealed))
        case .data, .base64, .stream, .multipart: nil
        }
    }

    private static func formEncoded(_ fields: [RequestBody.FormField]) -> String {
        fields.map { field in
            PercentEncoding.encode(field.name) + "=" + PercentEncoding.encode(field.value.revealed)
        }.joined(separator: "&")
    }
}

/// A file as a body: its length and identity are fixed when it is opened, so that no mixed body is ever sent.
private final class FileBody {
    let path: String
    let file: Descriptor
    let facts: FileFacts

    init(_ path: String) throws(TransferError) {
        self.path = path
        do throws(SystemError) {
            let file = try Descriptor.open(path, O_RDONLY | O_NONBLOCK)
            let facts = try file.facts()
            if facts.isFolder { throw SystemError(call: "open", errno: EISDIR) }
            guard facts.isRegular else { throw SystemError(call: "open", errno: ENOTSUP) }
            self.file = file
            self.facts = facts
        } catch {
            throw Self.openError(error, path)
        }
    }

    private static func openError(_ error: SystemError, _ path: String) -> TransferError {
        let name: ErrorName =
            switch error.errno {
            case ENOENT, ENOTDIR: .fileDoesNotExist
            case EISDIR: .fileIsDirectory
            case EACCES, EPERM: .noPermissionsToReadFile
            default: .cannotOpenFile
            }
        return TransferError(name, "the body's file \(path) cannot be read: \(error.reason)", errno: error.errno)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(TransferError) -> Int {
        guard !buffer.isEmpty else { return 0 }
        do throws(SystemError) {
            let count = try file.read(into: buffer, at: offset)
            let now = try file.facts()
            guard count > 0, now.size == facts.size, now.modifiedNanoseconds == facts.modifiedNanoseconds else {
                throw SystemError(call: "read", errno: ESTALE)
            }
            return count
        } catch {
            if error.errno == ESTALE {
                throw TransferError(.cannotOpenFile, "\(path) changed while it was sent")
            }
            throw TransferError(.cannotOpenFile, "reading \(path) failed: \(error.reason)", errno: error.errno)
        }
    }
}

extension JSONTemplate {
    /// As JSON text, secrets in the clear: for the request only.
    func serialised() -> [UInt8] {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.bytes
    }

    private func write(to writer: inout JSONWriter) {
        switch self {
        case .null: writer.null()
        case .boolean(let value): writer.bool(value)
        case .number(let text): writer.raw(Array(text.utf8))
        case .string(let text): writer.string(text.revealed)
        case .list(let items):
            writer.beginArray()
            for item in items { item.write(to: &writer) }
            writer.endArray()
        case .object(let members):
            writer.beginObject()
            for member in members {
                writer.key(member.name)
                member.value.write(to: &writer)
            }
            writer.endObject()
        }
    }
}
