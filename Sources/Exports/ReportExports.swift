package import Reporting
internal import SystemIO
internal import TransferModel

/// Writes the requested exports of a run that has just ended.
package struct ReportExports {
    private let requests: [ExportRequest]
    private let surroundings: ExportSurroundings
    private let isDurable: Bool

    package init(requests: [ExportRequest], surroundings: ExportSurroundings, isDurable: Bool) {
        self.requests = requests
        self.surroundings = surroundings
        self.isDurable = isDurable
    }

    /// Converts the report at `path`, or a private copy of the report if it has no file. Returns a problem for each
    /// missing export.
    package func write(_ report: JSONReport, at path: String?) -> [OutputProblem] {
        guard !requests.isEmpty else { return [] }
        do {
            let conversion = ReportConversion(requests, surroundings, isDurable: isDurable)
            return try conversion.perform(try file(of: report, at: path))
        } catch let problem as OutputProblem {
            return [problem]
        } catch {
            return [OutputProblem("cannot write \(requests.map(\.format.words).joined(separator: ", ")): \(error)")]
        }
    }

    /// Returns a file with the run's OTLP spans, compressed with gzip for a collector; `nil` if it cannot be made.
    package static func packedSpans(
        of report: JSONReport, at path: String?, _ surroundings: ExportSurroundings
    ) -> ReportFile? {
        let exports = ReportExports(requests: [], surroundings: surroundings, isDurable: false)
        return try? ReportFile(name: "the spans") { (sink) throws(OutputProblem) in
            let output = ExportOutput(sink, isPacked: true)
            let file = try exports.file(of: report, at: path)
            do throws(ReportProblem) { try exports.writeSpans(file, to: output) } catch {
                throw OutputProblem("\(error)")
            }
            if let problem = output.problem { throw problem }
        }
    }

    private func writeSpans(_ file: ReportFile, to output: ExportOutput) throws(ReportProblem) {
        var spans = ExportFormats.export(.otlp, surroundings)
        let reader = try ReportReader(file, reading: spans.parts)
        spans.begin(reader.head, to: output)
        while let task = try reader.next() {
            spans.add(task, to: output)
            output.drain()
        }
        spans.finish(to: output)
        output.drain(isLast: true)
    }

    private func file(of report: JSONReport, at path: String?) throws(OutputProblem) -> ReportFile {
        // If this run's report could not be written, the file at `path` is an earlier run's.
        if let path, report.isWritten, (try? FileFacts.of(path))?.isRegular == true, let file = try? ReportFile(path) {
            return file
        }
        return try ReportFile(name: "the report") { (sink) throws(OutputProblem) in try report.write(to: sink) }
    }
}
