internal import Codecs
package import Reporting
internal import SystemIO
internal import TextFormats
package import TransferModel

/// Writes a finished report in another format, task by task, without keeping the tasks.
///
/// The result depends on the report and on the export's `ExportSurroundings` alone, so that a run and `report convert`
/// write the same bytes.
package protocol Export {
    /// The parts of a task that the export reads.
    var parts: ReportParts { get }
    /// Begins the export with all of the report but its tasks. Called once, before the first task.
    mutating func begin(_ head: ReportHead, to output: ExportOutput)
    /// Writes one task, or keeps what `finish(to:)` needs of it. Called for each task in the report's order.
    mutating func add(_ task: ReportedTask, to output: ExportOutput)
    /// Writes what is left to write. Called once, after the last task.
    mutating func finish(to output: ExportOutput)
}

/// What an export may use besides the report.
package struct ExportSurroundings: Sendable {
    /// Present content of the output file; only read for formats that carry a value over from one run to the next.
    package var former: [UInt8] = []
    /// What files had before the run, by path: a run writes its files anew when its `onFinish` has ended.
    private var formerOfPath: [String: [UInt8]] = [:]
    /// `TRACEPARENT` of the environment: the span that becomes the parent of the run's span; `nil` without one.
    package var traceParent: String?

    package init(traceParent: String? = nil) { self.traceParent = traceParent }

    /// Reads what the files of the exports have that carry a value over, before the run writes them.
    package mutating func keepFormer(of requests: [ExportRequest]) {
        for request in requests where request.format == .prometheus && request.path != "-" {
            formerOfPath[request.path] = Self.read(request.path)
        }
    }

    /// Returns what the file had before the run, or else has now.
    func former(at path: String) -> [UInt8] { formerOfPath[path] ?? Self.read(path) }

    /// Returns the content of a file that will be replaced; empty if it is not a regular file or cannot be read.
    private static func read(_ path: String) -> [UInt8] {
        guard (try? FileFacts.of(path))?.isRegular == true, let file = try? ReportFile(path) else { return [] }
        return file.bytes(1 << 20, from: 0)
    }
}

/// The output of an export: a buffer in front of a sink. Remembers the first problem and drops everything after it.
package final class ExportOutput {
    /// The buffer; exports append to it directly and `drain` empties it.
    package var bytes: [UInt8] = []
    private let sink: any ByteSink
    private let packer: GzipEncoder?
    /// The first problem with the output; `nil` while there is none.
    package private(set) var problem: OutputProblem?

    private static let usual = 256 << 10

    /// `isPacked`: the sink receives gzip.
    package init(_ sink: any ByteSink, isPacked: Bool = false) {
        self.sink = sink
        packer = isPacked ? GzipEncoder() : nil
        if isPacked, packer == nil { problem = OutputProblem("there is no memory for packing") }
        bytes.reserveCapacity(Self.usual + 16 << 10)
    }

    /// Appends the text's UTF-8 to the buffer.
    package func write(_ text: String) { bytes.append(contentsOf: text.utf8) }
    /// Appends the text's UTF-8 to the buffer.
    package func write(_ text: StaticString) { text.withUTF8Buffer { bytes.append(contentsOf: $0) } }

    /// Lets `write` append JSON to the buffer. `json` remembers between calls whether a comma is due.
    func append(_ json: inout JSONWriter, _ write: (inout JSONWriter) -> Void) {
        swap(&json.bytes, &bytes)
        write(&json)
        swap(&json.bytes, &bytes)
    }

    /// Writes a full buffer to the sink, and with `isLast` any buffer. Called between tasks; an export that writes much
    /// at once may call it, too.
    package func drain(isLast: Bool = false) {
        guard bytes.count >= Self.usual || isLast else { return }
        defer { bytes.removeAll(keepingCapacity: true) }
        guard problem == nil else { return }
        let piece = packer?.encode(bytes, isLast: isLast) ?? bytes
        guard !piece.isEmpty else { return }
        do throws(OutputProblem) { try sink.write(piece) } catch { problem = error }
    }

    /// Records why an export cannot continue, unless an earlier problem is recorded.
    package func fail(_ problem: OutputProblem) { self.problem = self.problem ?? problem }
}

/// A requested export: its format and the file that it goes to.
package struct ExportRequest: Hashable, Sendable {
    /// Format of the export.
    package var format: ReportFormat
    /// Path of the file; `-` is standard output.
    package var path: String

    package init(_ format: ReportFormat, _ path: String) {
        self.format = format
        self.path = path
    }

    /// Returns a request for each format with a path, in the order of `ReportFormat.allCases`.
    package static func list(_ paths: [ReportFormat: String]) -> [ExportRequest] {
        ReportFormat.allCases.compactMap { format in paths[format].map { ExportRequest(format, $0) } }
    }
}
