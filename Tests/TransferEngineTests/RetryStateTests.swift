import FileDelivery
import HTTPRules
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct RetryStateTests {
    private func file(_ number: UInt64, offset: Int64, mirror: Int = 0) -> RetryState.PartialFile {
        let point = ResumePoint(url: "http://a.test/f", offset: offset, validator: "\"v\"", total: nil)
        return RetryState.PartialFile(staging: StagingID(raw: number), point: point, mirror: mirror)
    }

    @Test func theNextAttempt_takesTheFileOfItsOwnMirror() {
        var retryState = RetryState()
        retryState.partialFiles = [file(1, offset: 10, mirror: 0), file(2, offset: 20, mirror: 1)]
        #expect(retryState.takePartialFile(at: 1)?.staging == StagingID(raw: 2))
        #expect(retryState.takePartialFile(at: 1) == nil)
        #expect(retryState.takePartialFile(at: 0)?.staging == StagingID(raw: 1))
        #expect(retryState.partialFiles.isEmpty)
    }

    @Test func atTheEnd_theLongestThatCanBeContinuedIsKept() {
        var retryState = RetryState()
        retryState.partialFiles = [file(1, offset: 10), file(2, offset: 30, mirror: 1), file(3, offset: 20, mirror: 2)]
        let (kept, discarded) = retryState.filesAtEnd(keeps: true) { $0 != StagingID(raw: 2) }
        #expect(kept?.staging == StagingID(raw: 3))
        #expect(discarded.map(\.staging) == [StagingID(raw: 2), StagingID(raw: 1)])
    }

    @Test func atTheEnd_nothingIsKeptUnasked() {
        var retryState = RetryState()
        retryState.partialFiles = [file(1, offset: 10)]
        let (kept, discarded) = retryState.filesAtEnd(keeps: false) { _ in true }
        #expect(kept == nil && discarded.map(\.staging) == [StagingID(raw: 1)])
    }
}
