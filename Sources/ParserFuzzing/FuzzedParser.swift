import BackgroundService
import Codecs
import CurlCore
import Diagnostics
import HTTPRules
import JobImport
import JobLoader
import LockFiles
import Records
import RowFormats
import RunControl
import SimulatedJobs
import TextFormats
import TransferModel

/// What reads bytes that somebody else made: each is given whatever a fuzzer thinks of.
///
/// Reading may refuse the bytes. It may not end the process, and where it takes them, what it made of them must be read
/// as the same again: `check` stops at once where that does not hold.
package enum FuzzedParser: String, CaseIterable, Sendable {
    case job, headers, contentRange, contentDisposition, setCookie, challenges, cacheControl, links, dates, url, proxy
    case json, jsonPath, regex, lines, csv, jsonRows, xmlRows, debianRows, linkRows, checksums, minisign, timeZone
    case netrc, cookieFile, serviceFrames, serviceMessages, controlLines, journalRecord, lock, policy, networkModel
    case script, metalink, gzip, zstd, brotli, xz

    /// Longest input that is read; of longer ones the beginning is.
    package static let longest = 64 << 10

    /// Reads the bytes.
    package func read(_ all: [UInt8]) {
        let bytes = Array(all.prefix(Self.longest))
        switch self {
        case .job:
            let result = JobLoader.load(
                SourceText(name: "job.yaml", bytes: bytes), options: LoadOptions(), resources: .nothing(),
                missingValues: .tolerated, notesAccess: true)
            Self.render(result.diagnostics)
        case .lock: Self.render(LockFileReader.read(SourceText(name: "job.lock", bytes: bytes)).diagnostics)
        case .policy: Self.render(PolicyLoader.load(SourceText(name: "policy.yaml", bytes: bytes)).diagnostics)
        case .networkModel:
            Self.render(NetworkModelReader.read(SourceText(name: "model.yaml", bytes: bytes)).diagnostics)
        case .headers: Self.readHead(bytes)
        case .contentRange, .contentDisposition, .setCookie, .challenges, .cacheControl, .links, .dates:
            readHeader(bytes)
        case .url, .proxy, .json, .jsonPath, .regex: readText(bytes)
        case .lines, .csv, .jsonRows, .xmlRows, .debianRows, .linkRows, .checksums: readRows(bytes)
        case .minisign: _ = (MinisignKey(file: bytes), try? MinisignSignature(bytes))
        case .timeZone: _ = TimeZoneRules(bytes)
        case .netrc: _ = Netrc(bytes)
        case .cookieFile: _ = CookieFile.read(bytes, at: Self.now)
        case .serviceFrames:
            var reader = FrameReader()
            // In two pieces, cut where the first byte says.
            let cut = min(bytes.count, Int(bytes.first ?? 0))
            _ = reader.receive(Array(bytes[..<cut]))
            _ = reader.receive(Array(bytes[cut...]))
        case .serviceMessages:
            _ = try? ServiceRequest.parse(bytes)
            _ = try? ServiceMessage.parse(bytes)
            _ = try? ServiceHello.parse(bytes)
        case .controlLines: _ = try? ControlMessage.parse(bytes)
        case .journalRecord: _ = try? EventCodec.decode(bytes)
        case .script, .metalink:
            let text = String(decoding: bytes, as: UTF8.self)
            _ = JobImport.translate([ImportInput(name: "given", text: text)], origin: "given")
        case .gzip, .zstd, .brotli, .xz: unpack(bytes)
        }
    }

    private static let now = WallTime(nanoseconds: 1_764_000_000_000_000_000)

    private static func render(_ found: DiagnosticList) {
        _ = DiagnosticRenderer.text(found.sorted(), color: false)
    }

    // MARK: Headers

    private static func readHead(_ bytes: [UInt8]) {
        var parser = ResponseHeadParser()
        for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).prefix(4_000) {
            let whole = Array(line) + [0x0A]
            let read = whole.withUnsafeBytes { parser.read($0) }
            if read == .violation { return }
            if read == .end, !parser.isComplete { _ = parser.completeHead() }
        }
    }

    private func readHeader(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let url = try? ResourceURL.parse("https://a.example/path/file") else { return }
        let headers = { (name: String) in HeaderBlock([(name, text)]) }
        switch self {
        case .contentRange: _ = ContentRange(text)
        case .contentDisposition:
            guard let name = SuggestedFilename.of(headers("Content-Disposition"), url: url) else { return }
            Self.check(!name.isEmpty && name.utf8.count <= 255 && !name.utf8.contains { $0 == 0x2F || $0 < 0x20 })
            Self.check(name != "." && name != ".." && SuggestedFilename.safe(name) == name)
        case .setCookie:
            var jar = CookieJar()
            _ = jar.take(setCookie: bytes, from: url, at: Self.now)
            Self.check(jar.count <= 1)
        case .challenges:
            for offer in OfferedChallenge.all(in: headers("WWW-Authenticate")) { _ = DigestChallenge(offer) }
        case .cacheControl:
            let control = CacheControl(headers("Cache-Control"))
            _ = (control.maxAgeSpan, control.minFreshSpan, control.staleIfError, control.staleWhileRevalidate)
        case .links: _ = LinkHeader.target(of: "next", in: headers("Link"))
        default:
            _ = (HTTPDate.parse(text), RFC3339.parse(text), CookieDate.parse(bytes))
            _ = RetryAfter.parse(headers("Retry-After"), now: Self.now)
        }
    }

    // MARK: Text

    private func readText(_ bytes: [UInt8]) {
        guard let text = String(validating: bytes, as: UTF8.self) else { return }
        switch self {
        case .url:
            guard let url = try? ResourceURL.parse(text) else { return }
            let again = try? ResourceURL.parse(url.text)
            Self.check(again?.text == url.text && again?.origin == url.origin)
            _ = try? url.resolving(String(text.reversed()))
        case .proxy:
            _ = try? ProxyServer.parse(text, fromEnvironment: true)
            _ = try? HostAndPort.parse(text)
        case .json:
            guard let value = try? JSONParser.parse(bytes) else { return }
            var writer = JSONWriter()
            value.append(to: &writer)
            let written = writer.bytes
            Self.check((try? JSONParser.parse(written)) != nil)
        case .jsonPath:
            let (path, document) = Self.halves(text)
            guard let path = try? JSONPath(path), let root = try? JSONParser.parse(Array(document.utf8)) else { return }
            _ = path.select(from: root, steps: 100_000)
        default:
            let (pattern, subject) = Self.halves(text)
            guard let regex = try? TextFormats.Regex(pattern) else { return }
            _ = try? regex.firstMatch(in: Array(subject.utf8))
        }
    }

    /// The first line, and what follows it.
    private static func halves(_ text: String) -> (String, String) {
        let parts = text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
        return (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
    }

    // MARK: Rows and packed bodies

    private func readRows(_ bytes: [UInt8]) {
        let format: RowFormat =
            switch self {
            case .lines: .lines
            case .csv: .csv
            case .debianRows: .debian
            case .jsonRows: .json(path: nil)
            case .xmlRows: .xml(path: "/list/item")
            case .linkRows: .links(match: nil)
            default: .checksums
            }
        let whole = try? ListReading.rows(RowList(task: "t", format: format), bytes, page: "https://a.example/")
        // The same rows come out wherever the list is cut.
        guard let reading = try? ListReading(RowList(task: "t", format: format), page: "https://a.example/") else {
            return
        }
        let cut = bytes.count / 3
        let pieces = [bytes[..<cut], bytes[cut...]]
        let taken: CapturedValue?? = try? { () throws -> CapturedValue? in
            for piece in pieces { try Array(piece).withUnsafeBytes { try reading.take($0) } }
            return try reading.finish()
        }()
        Self.check((taken ?? nil)?.value == whole?.value)
    }

    private func unpack(_ bytes: [UInt8]) {
        let coding: ContentCoding =
            switch self {
            case .gzip: .gzip
            case .zstd: .zstd
            case .brotli: .br
            default: .xz
            }
        guard let decoder = try? Decoder([coding]) else { return }
        _ = try? bytes.withUnsafeBytes { all in try decoder.decode(all) { _ in } }
        _ = try? decoder.finish { _ in }
    }

    private static func check(_ holds: Bool, _ line: Int = #line) {
        precondition(holds, "what was read is not what was written (line \(line))")
    }
}
