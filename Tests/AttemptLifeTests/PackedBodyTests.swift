import AttemptLife
import Testing
import TransferModel

/// Bodies that come packed: what of them is known before they are unpacked.
@Suite struct PackedBodyTests {
    private func life(
        decodes: Bool = true, type: TaskType = .data, method: String = "GET", maximumSize: Int64? = nil,
        _ expect: Expectations = Expectations()
    ) throws -> AttemptLife {
        AttemptLife(
            try ResourceURL.parse("http://a.test/x"),
            AttemptRules(type: type, method: method, expect: expect, maximumSize: maximumSize, decodes: decodes))
    }

    private func head(_ life: inout AttemptLife, _ encoding: String, _ length: Int64?, status: Int = 200)
        -> HeadDecision
    {
        var headers = [("Content-Encoding", encoding)]
        if let length { headers.append(("Content-Length", "\(length)")) }
        return life.head(status: status, version: .http1, headers: HeaderBlock(headers))
    }

    private func failure(_ life: inout AttemptLife, received: Int64) -> ErrorName? {
        if case .fail(let error, _) = life.ended(
            TransportEnd(error: nil, received: received, sawCloseNotify: false))
        {
            error.name
        } else {
            nil
        }
    }

    @Test func onlyWhoWantsItUnpacks() throws {
        var wanted = try life()
        #expect(head(&wanted, "gzip, br", 10) == .keep)
        #expect(wanted.codings == [.gzip, .br])
        #expect(failure(&wanted, received: 10) == nil)
        var left = try life(decodes: false)
        #expect(head(&left, "gzip", 10) == .keep)
        #expect(left.codings == [])
        #expect(head(&left, "secret-sauce", 10) == .keep)
        #expect(failure(&left, received: 10) == nil)
    }

    @Test func whatCannotBeUnpackedIsNotReceived() throws {
        var data = try life()
        #expect(head(&data, "secret-sauce", 10) == .abort)
        #expect(failure(&data, received: 0) == .cannotDecodeContentData)
        // The status is the better reason, and its page is worth telling as it came.
        var gone = try life()
        #expect(head(&gone, "secret-sauce", 10, status: 404) == .keep)
        #expect(failure(&gone, received: 10) == .unexpectedResponse)
        #expect(gone.codings == [])
    }

    @Test func whatHasNoBodyIsNotPacked() throws {
        var question = try life(method: "HEAD")
        #expect(head(&question, "gzip", 10) == .keep)
        #expect(question.codings == [])
        #expect(failure(&question, received: 0) == nil)
        var expect = Expectations()
        expect.status = StatusSet(204)
        var empty = try life(expect)
        #expect(head(&empty, "secret-sauce", nil, status: 204) == .keep)
        #expect(failure(&empty, received: 0) == nil)
    }

    @Test func sizesSpeakOfWhatIsUnpacked() throws {
        var expect = Expectations()
        expect.size = 1_000
        expect.minimumSize = 900
        var packed = try life(type: .download, maximumSize: 1_000, expect)
        #expect(head(&packed, "gzip", 20) == .keep)
        #expect(failure(&packed, received: 20) == nil)
        #expect(packed.announcedLength == nil)
        var plain = try life(type: .download, maximumSize: 1_000, expect)
        #expect(head(&plain, "identity", 20) == .abort)
        #expect(failure(&plain, received: 0) == .unexpectedResponse)
    }

    @Test func aPackedBodyIsHardlyLongerThanItsContents() throws {
        var life = try life(maximumSize: 1 << 20)
        // What gzip adds to noise.
        #expect(head(&life, "gzip", (1 << 20) + 400) == .keep)
        #expect(failure(&life, received: (1 << 20) + 400) == nil)
        #expect(head(&life, "gzip", 2 << 20) == .abort)
        #expect(failure(&life, received: 0) == .dataLengthExceedsMaximum)
        #expect(head(&life, "gzip", nil) == .keep)
        #expect(failure(&life, received: 2 << 20) == .dataLengthExceedsMaximum)
        #expect(head(&life, "identity", nil) == .keep)
        #expect(life.receivableSize == 1 << 20)
        // The next hop's headers speak for themselves.
        #expect(life.codings == [])
    }

    @Test func aCutBodyIsCutWhateverItHolds() throws {
        var life = try life()
        #expect(head(&life, "gzip", 20) == .keep)
        #expect(failure(&life, received: 19) == .networkConnectionLost)
    }
}
