import CurlCore
import Digests
import Testing
import TextFormats
import TransferEngine
import TransferModel

/// One body in several streams, as far as the engine sees to it; what the plan decides has tests of its own. Parts are
/// of 4 MiB.
@Suite struct SegmentStreamTests {
    private static let megabyte = SegmentedDownload.megabyte
    private static let length = SegmentedDownload.bytes.count

    // MARK: Slots are lent

    @Test func slotsLentTogether_bringPartsOfTheSameSize() throws {
        let download = try SegmentedDownload()
        #expect(download.slots == 3)
        let further = download.lend(3)
        let parts = [3, 2, 1].map { $0 * Self.megabyte..<($0 + 1) * Self.megabyte }
        #expect(try further.map { try download.range(of: $0) } == parts)
        #expect(further.allSatisfy { $0.header("If-Range") == "\"1\"" })
        #expect(download.gaveBack.isEmpty && download.slots == 3)
    }

    @Test func slotLentAlone_bringsHalf() throws {
        let download = try SegmentedDownload()
        #expect(try download.range(of: download.lend()[0]) == Self.length / 2..<Self.length)
    }

    @Test func slotsWithNothingToDo_areGivenBack() throws {
        let download = try SegmentedDownload()
        #expect(download.lend(5).count == 3 && download.gaveBack == [false, false])
    }

    @Test func slotLentToADownloadThatIsOver_staysUnused() throws {
        let download = try SegmentedDownload()
        download.rig.cancel()
        #expect(download.lend().isEmpty && download.gaveBack.isEmpty)
    }

    @Test func streamThatCannotBegin_givesItsSlotBack() throws {
        let download = try SegmentedDownload()
        download.rig.loop.refusal = TransferError(.unknown, "no descriptor is left")
        #expect(download.lend().isEmpty && download.gaveBack == [false])
        #expect(try download.bring(by: download.first))
        download.end(download.first)
        #expect(download.isWhole)
    }

    @Test func cancelledDownload_endsAllStreams_andGivesBackItsOwnSlotAlone() throws {
        let download = try SegmentedDownload()
        let further = download.lend(2)
        download.rig.cancel()
        #expect(download.first.isStopped && further.allSatisfy(\.isStopped))
        #expect(download.gaveBack.isEmpty)
        #expect(download.rig.reports.count { if case .released = $0 { true } else { false } } == 1)
    }

    /// Parts are asked for where the last answer came from, without what may not go there.
    @Test func partAfterARedirect_isAskedForWhereItLed() throws {
        let headers = "{ Authorization: x, X-Kind: y, Accept: z }"
        let rig = try EngineRig(EngineRig.job("to: f, segments: 4, headers: \(headers)"))
        rig.start()
        #expect(try rig.request().header("Authorization") == "x")
        try rig.answer(302, [("Location", "https://b.example/g")])
        let download = try SegmentedDownload(rig)
        rig.perform(.lend(rig.index("t"), OriginID(raw: 1)))
        rig.turn()
        let second = try #require(rig.loop.underWay.first { $0 !== download.first })
        #expect(second.request.url == "https://b.example/g")
        #expect(["Authorization", "X-Kind", "Accept"].map { second.header($0) } == [nil, nil, "z"])
    }

    // MARK: When one stream is enough

    @Test(
        arguments: [
            [], [("ETag", "W/\"1\"")], [("ETag", "\"1\""), ("Accept-Ranges", "none")],
            [("ETag", "\"1\""), ("Content-Encoding", "gzip")],
        ] as [[(String, String)]])
    func answerWithoutProofOfItsVersion_isNotDivided(_ headers: [(String, String)]) throws {
        #expect(try SegmentedDownload("to: f, segments: 4", headers).slots == nil)
    }

    @Test(arguments: ["to: f", "to: f, segments: 4, headers: { Range: 'bytes=0-4194303', If-Range: '\"1\"' }"])
    func taskThatAsksForOneStream_orForARangeItself_isNotDivided(_ task: String) throws {
        #expect(try SegmentedDownload(task).slots == nil)
    }

    @Test(arguments: [((2 << 20) - 1, false), (2 << 20, true)])
    func bodyBelowTwoParts_isNotDivided(_ length: Int, _ isDivided: Bool) throws {
        let rig = try EngineRig(EngineRig.job("to: f, segments: 4"))
        rig.start()
        try rig.answer(200, [("ETag", "\"1\""), ("Content-Length", "\(length)")], stays: true)
        #expect(rig.reports.contains { if case .couldUse = $0 { true } else { false } } == isDivided)
    }

    // MARK: The end of the file

    enum Order: CaseIterable { case firstBefore, firstAfter, together }

    /// The first stream was asked for all, and is stopped where the other began.
    @Test(arguments: Order.allCases) func partsOfTwoStreams_becomeTheFile(_ order: Order) throws {
        let download = try SegmentedDownload()
        let second = download.lend()[0]
        #expect(try download.answer(second))
        switch order {
        case .firstBefore:
            try download.endFirst()
            #expect(download.gaveBack == [true] && download.rig.verdict() == nil)
            try download.bring(by: second)
            download.end(second)
        case .firstAfter:
            try download.bring(by: second)
            download.end(second)
            #expect(download.gaveBack == [true] && download.rig.verdict() == nil)
            try download.endFirst()
        case .together:
            try download.bring(by: second)
            #expect(try !download.bring(by: download.first))
            download.rig.loop.complete(download.first, .writeError)
            download.end(second)
        }
        #expect(download.isWhole && download.rig.loop.transfers.count == 2)
        #expect(download.rig.result()?.transactions.count == 2 && download.rig.result()?.startedOver == nil)
    }

    /// Nothing says where such an answer ends: it is left where the part does.
    @Test func partWithoutALength_isEndedHere() throws {
        let download = try SegmentedDownload()
        let second = download.lend()[0]
        #expect(try download.answer(second, [("Transfer-Encoding", "chunked")]))
        #expect(try !download.bring(by: second))
        download.end(second, .writeError)
        try download.endFirst()
        #expect(download.isWhole)
    }

    /// A stream that is done takes half of what the slowest one has to bring.
    @Test func slotOfAStreamThatIsDone_helpsTheSlowestOne() throws {
        let download = try SegmentedDownload("to: f, segments: 2")
        let second = download.lend()[0]
        #expect(try download.answer(second))
        try download.endFirst()
        #expect(download.gaveBack == [true] && download.slots == 1)
        let third = download.lend()[0]
        #expect(try download.range(of: third) == 3 * Self.megabyte..<Self.length)
        try download.answerWhole(third)
        #expect(try !download.bring(by: second))
        download.end(second, .writeError)
        #expect(download.isWhole)
    }

    // MARK: Streams that end early

    @Test func holeOfACutStream_isAskedForUnderTheDownloadsOwnSlot() throws {
        let download = try SegmentedDownload()
        let second = download.lend()[0]
        #expect(try download.answer(second))
        try download.bring(300_000, by: second)
        download.end(second, .recvError)
        // The next might fail as well.
        #expect(download.gaveBack == [true] && download.slots == 0)
        #expect(download.lend().isEmpty && download.gaveBack == [true, false])
        try download.endFirst()
        let third = try download.rig.request()
        #expect(try download.range(of: third) == Self.length / 2 + 300_000..<Self.length)
        try download.answerWhole(third)
        #expect(download.isWhole)
    }

    @Test func partOfAStreamWithoutAnAnswer_goesBackToTheFirst() throws {
        let download = try SegmentedDownload()
        download.end(download.lend()[0], .emptyReply)
        #expect(download.gaveBack == [false])
        #expect(try download.bring(by: download.first))
        download.end(download.first)
        #expect(download.isWhole && download.rig.loop.transfers.count == 2)
    }

    @Test func firstStreamThatIsCut_leavesItsPartToOthers() throws {
        let download = try SegmentedDownload()
        let second = download.lend()[0]
        try download.bring(200_000, by: download.first)
        download.end(download.first, .recvError)
        #expect(download.rig.verdict() == nil && download.gaveBack == [true])
        try download.answerWhole(second)
        let third = try download.rig.request()
        #expect(try download.range(of: third) == 200_000..<Self.length / 2)
        try download.answerWhole(third)
        #expect(download.isWhole)
    }

    /// What is there without a hole is not fetched again; the rest is, in several streams too.
    @Test func attemptAfterAllStreamsWereCut_goesOnFromTheFirstHole() throws {
        let download = try SegmentedDownload()
        let second = download.lend()[0]
        #expect(try download.answer(second))
        try download.bring(500_000, by: second)
        try download.bring(400_000, by: download.first)
        download.end(download.first, .recvError)
        download.end(second, .recvError)
        #expect(download.rig.error()?.name == .networkConnectionLost)
        download.rig.start(attempt: 2)
        let request = try download.rig.request()
        #expect(request.header("Range") == "bytes=400000-" && request.header("If-Range") == "\"1\"")
        let rest = try SegmentedDownload(download.rig)
        let further = rest.lend()[0]
        try rest.endFirst()
        try rest.answerWhole(further)
        #expect(rest.isWhole && rest.rig.result()?.resumedFrom == 400_000)
    }

    // MARK: Ranges that are refused

    @Test(arguments: [200, 302, 403, 404, 416])
    func serverThatSendsNoRanges_isAskedForNoMore(_ status: Int) throws {
        let download = try SegmentedDownload()
        let second = download.lend()[0]
        #expect(!download.refuse(second, status, [("ETag", "\"1\""), ("Location", "/elsewhere")]))
        download.end(second, .writeError)
        #expect(download.gaveBack == [true] && download.slots == 0)
        #expect(download.lend().isEmpty && download.gaveBack == [true, false])
        #expect(try download.bring(by: download.first))
        download.end(download.first)
        #expect(download.isWhole && download.rig.result()?.startedOver == nil)
    }

    @Test(arguments: [
        [("Content-Range", "bytes 2097151-4194303/4194304"), ("ETag", "\"1\"")], [("ETag", "\"1\"")],
        [("Content-Range", "bytes 2097152-4194303/4194304")],
        [
            ("Content-Range", "bytes 2097152-4194303/4194304"), ("ETag", "\"1\""),
            ("Content-Type", "multipart/byteranges; boundary=b"),
        ],
        [("Content-Range", "bytes 2097152-4194303/4194304"), ("ETag", "\"1\""), ("Content-Encoding", "gzip")],
        [("Content-Range", "bytes 2097152-4194303/4194304"), ("ETag", "\"1\""), ("Content-Length", "2097153")],
    ])
    func answerThatIsNotThePart_countsAsARefusal(_ headers: [(String, String)]) throws {
        let download = try SegmentedDownload()
        let second = download.lend()[0]
        #expect(!download.refuse(second, 206, headers))
        download.end(second, .writeError)
        #expect(download.slots == 0)
        #expect(try download.bring(by: download.first))
        download.end(download.first)
        #expect(download.isWhole)
    }

    /// The first stream was stopped where the second began: none is left that could bring the rest.
    @Test(arguments: [
        (200, "the server sends no ranges"), (416, "the server has no bytes from 2097152 on"),
        (302, "the server answered 302 to a range"), (403, "the server answered 403 to a range"),
        (404, "the server answered 404 to a range"),
    ])
    func rangesRefusedOnceTheFirstIsDone_beginTheFileAnew(_ status: Int, _ why: String) throws {
        let download = try SegmentedDownload()
        let second = download.lend()[0]
        try download.endFirst()
        #expect(!download.refuse(second, status, [("ETag", "\"1\""), ("Location", "/elsewhere")]))
        download.end(second, .writeError)
        #expect(download.rig.verdict() == nil)
        try expectWholeAnew(download, why)
    }

    /// The file is asked for once more, and comes in one stream.
    private func expectWholeAnew(_ download: SegmentedDownload, _ why: String) throws {
        let rig = download.rig
        #expect(try rig.request().header("Range") == nil && rig.request().header("If-Range") == nil)
        let before = rig.reports.count
        let again = try SegmentedDownload(rig, [("ETag", "\"2\"")])
        #expect(!rig.reports[before...].contains { if case .couldUse = $0 { true } else { false } })
        #expect(try again.bring(by: again.first))
        again.end(again.first)
        #expect(again.isWhole && rig.result()?.startedOver == why && rig.result()?.resumedFrom == 0)
    }

    // MARK: Another version

    enum FirstStream: CaseIterable { case underWay, done, endingBefore, endingAfter }

    /// Bytes of two versions are of none. However far the first stream is, and whatever it still brings in that turn, the
    /// verdict is that of the answer to the next request.
    @Test(arguments: FirstStream.allCases) func otherVersion_beginsTheFileAnew(_ state: FirstStream) throws {
        let download = try SegmentedDownload()
        let further = download.lend(2)
        try download.bring(100_000, by: download.first)
        if state == .done { try download.endFirst() }
        if state == .endingBefore {
            try download.bring(by: download.first)
            download.rig.loop.complete(download.first, .writeError)
        }
        for stream in further {
            #expect(try !download.answer(stream, tag: "\"2\""))
            download.rig.loop.complete(stream, .writeError)
        }
        if state == .endingAfter {
            try download.bring(by: download.first)
            download.rig.loop.complete(download.first, .writeError)
        }
        download.rig.turn()
        #expect(download.first.isStopped == (state == .underWay) && download.rig.verdict() == nil)
        try expectWholeAnew(download, "the server has another version")
    }

    @Test func otherLength_beginsTheFileAnew() throws {
        let download = try SegmentedDownload()
        let second = download.lend()[0]
        let span = SegmentedDownload.span(Self.length / 2..<Self.length, of: Self.length + 1)
        #expect(!download.refuse(second, 206, [span, ("ETag", "\"1\"")]))
        download.end(second, .writeError)
        try expectWholeAnew(download, "the file was \(Self.length) bytes long and is \(Self.length + 1) now")
    }

    // MARK: Busy servers, and ranges that bring nothing

    @Test func serverThatRefusesTheSecondRequest_isToldAbout_andTheFirstBringsAll() throws {
        let download = try SegmentedDownload()
        let second = download.lend()[0]
        #expect(!download.refuse(second, 429, [("Retry-After", "7"), ("Content-Length", "0")]))
        download.end(second, .writeError)
        let told = download.rig.reports.compactMap {
            if case .turnedAway(_, _, let status, let wait) = $0 { (status, wait) } else { nil }
        }
        #expect(told.map(\.0) == [429] && told.map(\.1) == [.seconds(7)])
        #expect(try download.bring(by: download.first))
        download.end(download.first)
        #expect(download.isWhole)
    }

    @Test func lastStreamThatABusyServerRefuses_isTheAttemptsVerdict() throws {
        let download = try SegmentedDownload()
        let second = download.lend()[0]
        try download.bring(400_000, by: download.first)
        download.end(download.first, .recvError)
        #expect(!download.refuse(second, 503, [("Retry-After", "7"), ("Content-Length", "0")]))
        download.end(second, .writeError)
        #expect(download.rig.error()?.name == .unexpectedResponse)
        #expect(download.rig.verdict()?.status == 503 && download.rig.verdict()?.retryAfter == .seconds(7))
    }

    enum Nothing: CaseIterable { case cut, cutAfterTheHead, silence }

    /// The ordinary request was answered, and no range brought a byte.
    @Test(arguments: Nothing.allCases)
    func rangesThatBroughtNothing_areNotAskedForByTheNextAttempt(_ kind: Nothing) throws {
        let download = try SegmentedDownload()
        let second = download.lend()[0]
        try download.endFirst()
        switch kind {
        case .cut: download.end(second, .emptyReply)
        case .cutAfterTheHead:
            #expect(try download.answer(second))
            download.end(second, .recvError)
        case .silence: download.rig.advance(.seconds(61))
        }
        #expect(download.rig.error()?.name == (kind == .silence ? .timedOut : .networkConnectionLost))
        download.rig.start(attempt: 2)
        try expectWholeAnew(download, "2 requests for the rest brought nothing of it")
    }

    // MARK: What the server says of the bytes

    @Test(arguments: [
        ("Content-Digest", "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"),
        ("Content-MD5", "1B2M2Y8AsgTpgAmY7PhCfg=="),
    ])
    func partThatIsNotWhatItsDigestSays_losesTheAttempt(_ name: String, _ digest: String) throws {
        let whole = ("Content-MD5", "AAAAAAAAAAAAAAAAAAAAAA==")
        let download = try SegmentedDownload("to: f, segments: 4", [("ETag", "\"1\""), whole])
        let second = download.lend()[0]
        #expect(try download.answer(second, [(name, digest)]))
        try download.bring(by: second)
        download.end(second)
        #expect(download.rig.error()?.name == .checksumMismatch && download.first.isStopped)
        #expect(download.rig.error()?.message.contains("`\(name)` of a part") == true)
        download.rig.start(attempt: 2)
        #expect(try download.rig.request().header("Range") == nil)
    }

    /// Some servers send the whole's `Content-MD5` with each part.
    @Test(arguments: ["Content-Digest", "Content-MD5", "Content-MD5 of the whole"])
    func partThatIsWhatItsDigestSays_isTaken(_ kind: String) throws {
        let whole = Base64.encode(try Checksum.of(SegmentedDownload.bytes, .md5).bytes)
        let headers = [("ETag", "\"1\""), ("Content-MD5", whole)]
        let download = try SegmentedDownload("to: f, segments: 4", headers)
        let second = download.lend()[0]
        let part = Array(SegmentedDownload.bytes[try download.range(of: second)])
        let told =
            switch kind {
            case "Content-Digest": (kind, "sha-256=:\(Base64.encode(try Checksum.of(part, .sha256).bytes)):")
            case "Content-MD5": (kind, Base64.encode(try Checksum.of(part, .md5).bytes))
            default: ("Content-MD5", whole)
            }
        #expect(try download.answer(second, [told]))
        try download.bring(by: second)
        download.end(second)
        try download.endFirst()
        #expect(download.isWhole)
    }

    /// Parts of two versions may have been put together, where the server does not know them apart.
    @Test(arguments: [true, false]) func fileWithAWrongChecksum_isFetchedInOneStreamNext(_ wereSeveral: Bool) throws {
        let zeros = String(repeating: "0", count: 64)
        let download = try SegmentedDownload("to: f, segments: 4, checksum: \"sha256:\(zeros)\"")
        if wereSeveral {
            let second = download.lend()[0]
            try download.endFirst()
            try download.answerWhole(second)
        } else {
            try download.bring(by: download.first)
            download.end(download.first)
        }
        #expect(download.rig.error()?.name == .checksumMismatch)
        let before = download.rig.reports.count
        download.rig.start(attempt: 2)
        _ = try SegmentedDownload(download.rig)
        let isDivided = download.rig.reports[before...].contains { if case .couldUse = $0 { true } else { false } }
        #expect(isDivided != wereSeveral)
    }

    // MARK: Slots that others want

    @Test func slotThatIsWanted_isTheOneNotUsedYet() throws {
        let download = try SegmentedDownload()
        download.rig.perform(.lend(download.rig.index("t"), OriginID(raw: 0)))
        download.recall()
        #expect(download.gaveBack == [false] && download.rig.loop.transfers.count == 1)
    }

    /// What is left of it is brought by the stream that was to end where it began.
    @Test func slotThatIsWanted_isThatOfTheStreamWithMostLeft() throws {
        let download = try SegmentedDownload()
        let further = download.lend(2)
        for stream in further { #expect(try download.answer(stream)) }
        try download.bring(500_000, by: further[0])
        download.recall()
        #expect(further[1].isStopped && !further[0].isStopped && download.gaveBack == [true])
        try download.endFirst()
        #expect(try download.bring(by: further[0]))
        download.end(further[0])
        #expect(download.isWhole && download.rig.loop.transfers.count == 3)
    }

    @Test func onlyStream_isNotEndedForOthers() throws {
        let download = try SegmentedDownload()
        download.recall()
        #expect(!download.first.isStopped && download.gaveBack.isEmpty)
    }
}
