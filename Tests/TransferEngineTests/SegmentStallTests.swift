import CurlCore
import Testing
import TransferEngine
import TransferModel

/// Streams of one body on which nothing moves.
@Suite struct SegmentStallTests {
    /// Lets time pass in steps of half a second in which `moving` bring something. Returns the seconds after which
    /// `awaited` was ended.
    private func seconds(
        until awaited: ScriptedTransfer, of download: SegmentedDownload, moving: [ScriptedTransfer], most: Int = 100
    ) throws -> Double? {
        for step in 1...2 * most {
            download.rig.advance(.milliseconds(500))
            if awaited.isStopped { return Double(step) / 2 }
            for stream in moving { try download.bring(100, by: stream) }
            download.rig.turn()
        }
        return nil
    }

    @Test func streamThatStandsStillWhileOthersMove_isLeftAfterTenSeconds() throws {
        let download = try SegmentedDownload("to: f, segments: 2")
        let second = download.lend()[0]
        #expect(try download.answer(second))
        try download.bring(100_000, by: second)
        #expect(try seconds(until: second, of: download, moving: [download.first]) == 10)
        // Its place is free for another, which begins where it stopped.
        #expect(download.gaveBack == [true] && download.slots == 1)
        let third = download.lend()[0]
        let length = SegmentedDownload.bytes.count
        #expect(try download.range(of: third) == length / 2 + 100_000..<length)
        try download.answerWhole(third)
        try download.endFirst()
        #expect(download.isWhole)
    }

    /// The first stream has ended, and no part of the others can be divided.
    private func divided() throws -> (SegmentedDownload, [ScriptedTransfer]) {
        let download = try SegmentedDownload()
        let further = download.lend(3)
        for stream in further.dropFirst() { #expect(try download.answer(stream)) }
        try download.endFirst()
        return (download, further)
    }

    @Test func streamThatStandsStillWhileASlotHasNothingElseToDo_isLeftAfterTwoSeconds() throws {
        let (download, further) = try divided()
        #expect(try download.answer(further[0]))
        #expect(try seconds(until: further[0], of: download, moving: Array(further.dropFirst())) == 2)
        #expect(download.gaveBack == [true, true])
    }

    /// A server may take its time before it answers.
    @Test func streamWithoutAnAnswer_isLeftAfterTenSecondsAlsoThen() throws {
        let (download, further) = try divided()
        #expect(try seconds(until: further[0], of: download, moving: Array(further.dropFirst())) == 10)
        #expect(download.gaveBack == [true, false])
    }

    /// What would be left is not brought sooner by anybody else.
    @Test func streamOfAServerThatRefusesRanges_isNotLeftForItsSlowness() throws {
        let download = try SegmentedDownload()
        let further = download.lend(2)
        #expect(try download.answer(further[1]))
        #expect(!download.refuse(further[0], 416))
        download.end(further[0], .writeError)
        #expect(try seconds(until: further[1], of: download, moving: [download.first], most: 59) == nil)
    }

    @Test func downloadWhoseStreamsAllStandStill_isTimedOut() throws {
        let download = try SegmentedDownload("to: f, segments: 4, timeoutForRequest: 20s")
        let second = download.lend()[0]
        #expect(try download.answer(second))
        #expect(try seconds(until: second, of: download, moving: []) == 20)
        #expect(download.rig.error()?.name == .timedOut)
        #expect(download.rig.error()?.message.contains("no byte moved for 20") == true)
        #expect(download.first.isStopped && download.gaveBack.count == 1)
    }

    @Test func downloadSlowerThanItsMinimumRate_endsWithAllStreams() throws {
        let download = try SegmentedDownload("to: f, segments: 4, minimumRate: { rate: 1kB/s, over: 5s }")
        let second = download.lend()[0]
        #expect(try download.answer(second))
        let ended = try #require(try seconds(until: second, of: download, moving: [download.first, second]))
        #expect((5...8).contains(ended))
        #expect(download.rig.error()?.name == .timedOut && download.first.isStopped)
    }

    /// The job's own limit is no fault of a stream.
    @Test func streamsWithoutBandwidth_standStill_andGoOnTogether() throws {
        let download = try SegmentedDownload("to: f, segments: 4, bandwidth: 1kB/s")
        let second = download.lend()[0]
        #expect(try download.answer(second))
        download.rig.perform(.credit(download.rig.index("t"), bytes: 1))
        try download.bring(1000, by: download.first)
        try download.bring(1000, by: second)
        #expect(try seconds(until: second, of: download, moving: []) == nil)
        #expect(download.rig.verdict() == nil && !download.first.isStopped)
        download.rig.perform(.credit(download.rig.index("t"), bytes: 10_000))
        #expect(download.first.resumes == 1 && second.resumes == 1)
    }
}
