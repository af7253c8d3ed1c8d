import Exports
import TestSupport
import Testing
import TextFormats
import TransferModel

@Suite struct FailedListTests {
    @Test func itHasALineForEachTaskThatDidNotSucceed() throws {
        let text = try Recorded.written(ExportFormats.export(.failed, ExportSurroundings())).text
        try Snapshot.check(text, "Golden/failed.ndjson")
        let lines = try text.split(separator: "\n").map { try JSONParser.parse(Array($0.utf8)) }
        #expect(
            lines.map { $0["outcome"] } == ["failed", "failed", "skipped", "deferred", "cancelled"].map { .string($0) })
    }
}
