import CommandLineTool
import TestSupport
import Testing

/// The manual pages are written from the tables and from docs/report.md; what lies in man/ must be that.
struct ManualGeneratedTests {
    private static let report: String = {
        let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
        return String(decoding: (try? TemporaryTree.bytes(at: "\(root)/docs/report.md")) ?? [], as: UTF8.self)
    }()

    @Test func theManualOfTheCommandsIsUpToDate() throws {
        try Snapshot.check(Manual.commands(report: Self.report), "../../man/transfer-run.1")
    }

    @Test func theManualOfTheJobIsUpToDate() throws {
        try Snapshot.check(Manual.job(), "../../man/transfer-run-job.5")
    }

    @Test func theManualOfTheReportIsUpToDate() throws {
        try Snapshot.check(Manual.report(Self.report), "../../man/transfer-run-report.5")
    }
}
