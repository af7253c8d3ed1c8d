internal import Codecs
package import Reporting
internal import TextFormats
package import TransferModel

/// Writes a finished report in another format, task by task, without keeping the tasks.
///
/// What it writes depends on the report and on its `ExportSurroundings` alone, so that a run and `report convert` write the
/// same bytes.
package protocol Export {
    /// The parts of a task that it reads.
    var parts: ReportParts { get }
    mutating func begin(_ head: ReportHead, to output: ExportOutput)
    mutating func add(_ task: ReportedTask, to output: ExportOutput)
    /// Called once after the last task.
    mutating func finish(to output: ExportOutput)
}

/// What an export may know beside the report.
package struct ExportSurroundings: Sendable {
    /// What the output file holds now; only read for formats that carry something over.
    package var former: [UInt8] = []
    /// `TRACEPARENT` of the environment: the span that the run's own belongs to.
    package var traceParent: String?

    package init(traceParent: String? = nil) { self.traceParent = traceParent }
}

/// The place an export writes to: a buffer in front of a sink, which remembers the first problem and then takes nothing more.
package final class ExportOutput {
    /// Exports append to it directly; `drain` empties it.
    package var bytes: [UInt8] = []
    private let sink: any ByteSink
    private let packer: GzipEncoder?
    package private(set) var problem: OutputProblem?

    private static let usual = 256 << 10

    /// `isPacked`: what arrives at the sink is gzip.
    package init(_ sink: any ByteSink, isPacked: Bool = false) {
        self.sink = sink
        packer = isPacked ? GzipEncoder() : nil
        if isPacked, packer == nil { problem = OutputProblem("there is no memory for packing") }
        bytes.reserveCapacity(Self.usual + 16 << 10)
    }

    package func write(_ text: String) { bytes.append(contentsOf: text.utf8) }
    package func write(_ text: StaticString) { text.withUTF8Buffer { bytes.append(contentsOf: $0) } }

    /// Appends JSON. `json` remembers between calls whether a comma is due.
    func append(_ json: inout JSONWriter, _ write: (inout JSONWriter) -> Void) {
        swap(&json.bytes, &bytes)
        write(&json)
        swap(&json.bytes, &bytes)
    }

    /// Hands a full buffer to the sink. The driver calls it between tasks; an export with much to write at once may, too.
    package func drain(isLast: Bool = false) {
        guard bytes.count >= Self.usual || isLast else { return }
        defer { bytes.removeAll(keepingCapacity: true) }
        guard problem == nil else { return }
        let piece = packer?.encode(bytes, isLast: isLast) ?? bytes
        guard !piece.isEmpty else { return }
        do throws(OutputProblem) { try sink.write(piece) } catch { problem = error }
    }

    /// An export that cannot go on says why.
    package func fail(_ problem: OutputProblem) { self.problem = self.problem ?? problem }
}

/// An export that is asked for, and where it goes.
package struct ExportRequest: Hashable, Sendable {
    package var format: ReportFormat
    /// `-` is standard output.
    package var path: String

    package init(_ format: ReportFormat, _ path: String) {
        self.format = format
        self.path = path
    }

    /// In the order of the formats.
    package static func list(_ paths: [ReportFormat: String]) -> [ExportRequest] {
        ReportFormat.allCases.compactMap { format in paths[format].map { ExportRequest(format, $0) } }
    }
}
