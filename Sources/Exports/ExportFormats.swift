package import TransferModel

/// Which export writes which format. A new format is registered here, in `FlagTable`, and in the loader's keys of `report`.
package enum ExportFormats {
    /// `nil` for a format that is not built yet.
    package static func export(_ format: ReportFormat, _ surroundings: ExportSurroundings) -> (any Export)? {
        switch format {
        case .junit: nil
        case .html: HTMLExport()
        case .har: nil
        case .trace: nil
        case .otlp: nil
        case .prometheus: nil
        case .markdown: nil
        case .failed: FailedListExport()
        }
    }
}
