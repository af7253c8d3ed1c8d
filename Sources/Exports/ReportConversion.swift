package import Reporting
internal import SystemIO
internal import TransferModel

/// Reads a report once and writes it in every requested format.
package struct ReportConversion {
    private let requests: [ExportRequest]
    private let surroundings: ExportSurroundings
    /// Whether files are flushed to the disk before they get their names.
    private let isDurable: Bool

    package init(_ requests: [ExportRequest], _ surroundings: ExportSurroundings, isDurable: Bool = false) {
        self.requests = requests
        self.surroundings = surroundings
        self.isDurable = isDurable
    }

    /// Puts each export at its path in one step, or leaves the file that stood there. Returns a problem for each export
    /// that could not be written; the others are. Throws if the report cannot be read: then no export is written.
    package func perform(_ report: ReportFile) throws(ReportProblem) -> [OutputProblem] {
        var problems: [OutputProblem] = []
        var open: [OpenExport] = []
        for request in requests {
            do throws(OutputProblem) {
                open.append(try OpenExport(request, surroundings))
            } catch {
                problems.append(error)
            }
        }
        let parts = open.reduce(into: ReportParts()) { $0.formUnion($1.export.parts) }
        let reader = try ReportReader(report, reading: parts)
        for index in open.indices { open[index].begin(reader.head) }
        while let task = try reader.next() {
            for index in open.indices { open[index].add(task) }
        }
        for index in open.indices {
            do throws(OutputProblem) { try open[index].finish(isDurable: isDurable) } catch {
                problems.append(error)
            }
        }
        return problems
    }
}

/// An export and the file that it writes to.
private struct OpenExport {
    var export: any Export
    private let output: ExportOutput
    private let sink: any ByteSink
    /// `nil` for standard output.
    private let file: AtomicFile?

    init(_ request: ExportRequest, _ surroundings: ExportSurroundings) throws(OutputProblem) {
        if request.path == "-" {
            (sink, file) = (DescriptorSink.standardOutput, nil)
        } else {
            let opened = try AtomicFile(request.path)
            (sink, file) = (opened, opened)
        }
        var surroundings = surroundings
        if request.format == .prometheus, file != nil { surroundings.former = surroundings.former(at: request.path) }
        export = ExportFormats.export(request.format, surroundings)
        output = ExportOutput(sink, isPacked: request.format == .trace && request.path.hasSuffix(".gz"))
    }

    mutating func begin(_ head: ReportHead) {
        export.begin(head, to: output)
        output.drain()
    }

    mutating func add(_ task: ReportedTask) {
        guard output.problem == nil else { return }
        export.add(task, to: output)
        output.drain()
    }

    mutating func finish(isDurable: Bool) throws(OutputProblem) {
        export.finish(to: output)
        output.drain(isLast: true)
        if let problem = output.problem {
            if file == nil, problem.isBrokenPipe { return }
            throw problem
        }
        if let file { try file.commit(isDurable: isDurable) } else { try sink.confirmWrites() }
    }
}
