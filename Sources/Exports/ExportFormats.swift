package import TransferModel

/// The export for each format. A new format is registered here, in `FlagTable`, and in the loader's keys of `report`.
package enum ExportFormats {
    /// Creates the export that writes `format`.
    package static func export(_ format: ReportFormat, _ surroundings: ExportSurroundings) -> any Export {
        switch format {
        case .junit: JUnitExport()
        case .html: HTMLExport()
        case .har: HARExport()
        case .trace: TraceExport()
        case .otlp: OTLPExport(traceParent: surroundings.traceParent)
        case .prometheus: PrometheusExport(former: surroundings.former)
        case .markdown: MarkdownExport()
        case .failed: FailedListExport()
        }
    }
}
