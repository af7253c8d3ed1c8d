import Exports
import Reporting
import TestSupport

/// Collects what an export writes.
final class Collector: ByteSink {
    private(set) var bytes: [UInt8] = []
    var text: String { String(decoding: bytes, as: UTF8.self) }
    func write(_ bytes: [UInt8]) throws(OutputProblem) { self.bytes += bytes }
}

/// The recorded report: retries, redirects, challenges, cached, unchanged, failed, tolerated, skipped and deferred tasks, a
/// group, an upload, segments, ids that are not ASCII or need escapes.
enum Recorded {
    static var path: String { folder + "/Golden/report.json" }
    static var folder: String { String(#filePath.dropLast("/Support.swift".count)) }

    static func text() throws -> String { String(decoding: try TemporaryTree.bytes(at: path), as: UTF8.self) }

    /// `export` over the report at `path`.
    static func written(_ export: any Export, _ path: String = Recorded.path) throws -> Collector {
        let reader = try ReportReader(ReportFile(path), reading: export.parts)
        let collector = Collector()
        let output = ExportOutput(collector)
        var export = export
        export.begin(reader.head, to: output)
        while let task = try reader.next() { export.add(task, to: output) }
        export.finish(to: output)
        output.drain(isLast: true)
        if let problem = output.problem { throw problem }
        return collector
    }
}
