package import Reporting
internal import SystemIO
internal import TransferModel

/// Writes the other formats of a run that has just ended.
package struct ReportExports {
    private let requests: [ExportRequest]
    private let surroundings: ExportSurroundings
    private let isDurable: Bool

    package init(requests: [ExportRequest], surroundings: ExportSurroundings, isDurable: Bool) {
        self.requests = requests
        self.surroundings = surroundings
        self.isDurable = isDurable
    }

    /// Reads the report that was written at `path`, or a private copy where it has no file. Returns why exports are missing.
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

    private func file(of report: JSONReport, at path: String?) throws(OutputProblem) -> ReportFile {
        // What stands there is an earlier run's where this one's report could not be written.
        if let path, report.isWritten, (try? FileFacts.of(path))?.isRegular == true, let file = try? ReportFile(path) {
            return file
        }
        return try ReportFile(name: "the report") { (sink) throws(OutputProblem) in try report.write(to: sink) }
    }
}
