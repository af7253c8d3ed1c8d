import BackgroundService
import TestSupport
import Testing
import TransferModel

/// What a connection may say, and what it is owed: without sockets, on a made-up clock.
struct ConversationTests {
    private static let start = Instant(nanoseconds: 5_000_000_000)
    private static let own = ServiceHello(version: "0.5.0", protocols: 2...3, process: 9)

    private func conversation(_ adjust: (inout ServiceLimits) -> Void = { _ in }) -> Conversation {
        var limits = ServiceLimits()
        adjust(&limits)
        return Conversation(Self.own, limits, Self.start)
    }

    private func hello(_ protocols: ClosedRange<Int> = 1...2) -> [UInt8] {
        ServiceHello(version: "0.4.0", protocols: protocols, process: 1).frame
    }

    private func reason(_ steps: [Conversation.Step]) -> String? {
        guard case .end(let reason)? = steps.last else { return nil }
        return reason
    }

    @Test func greetsAndAsks() {
        var talk = conversation()
        let ring = ServiceRequest(1, .ring(nil))
        #expect(talk.receive(hello() + ring.frame + ring.frame, Self.start) == [.greeted, .ask(ring), .ask(ring)])
        #expect(!talk.isOver && talk.deadline == .distantFuture)
    }

    @Test func whoDoesNotGreetIsNotHeard() {
        var talk = conversation()
        let refusal = reason(talk.receive(ServiceRequest(1, .ring(nil)).frame, Self.start))
        #expect(refusal?.contains("begins with `hello`") == true)
        #expect(talk.isOver)
        #expect(talk.receive(hello(), Self.start).isEmpty)
        var web = conversation()
        #expect(
            reason(web.receive(Array("GET / HTTP/1.1\r\n".utf8), Self.start))?.contains("a frame of 1195725856 bytes")
                == true)
    }

    /// Whatever else has changed between two versions.
    @Test func anyVersionMayAskItToMakeRoom() {
        var talk = conversation()
        #expect(talk.receive(ServiceRequest(1, .stop).frame, Self.start) == [.ask(ServiceRequest(1, .stop))])
    }

    @Test func versionsThatDoNotFitAreTold() {
        var old = conversation()
        #expect(
            reason(old.receive(hello(1...1), Self.start))?.contains("no longer speaks what transfer-run 0.4.0 does")
                == true)
        var new = conversation()
        #expect(reason(new.receive(hello(4...6), Self.start))?.contains("must be restarted") == true)
    }

    @Test func patienceIsForWhatWasBegun() {
        var talk = conversation { $0.patience = .seconds(5) }
        #expect(talk.deadline == Self.start + .seconds(5))
        // Bytes that trickle in do not buy time.
        _ = talk.receive(Array(hello().prefix(3)), Self.start + .seconds(4))
        #expect(talk.deadline == Self.start + .seconds(5))
        _ = talk.receive(Array(hello().dropFirst(3)), Self.start + .seconds(4))
        #expect(talk.deadline == .distantFuture)
        _ = talk.receive([0, 0], Self.start + .seconds(60))
        #expect(talk.deadline == Self.start + .seconds(65))
        _ = talk.receive([0], Self.start + .seconds(64))
        #expect(talk.deadline == Self.start + .seconds(65))
        #expect(reason([talk.timeOut()]) == "the rest of a frame did not come within 5.0 s")
        var silent = conversation()
        #expect(reason([silent.timeOut()]) == "no `hello` came within 5.0 s")
    }

    @Test func framesASecondAreLimited() {
        var talk = conversation { $0.framesPerSecond = 10 }
        let ring = ServiceRequest(1, .ring(nil)).frame
        _ = talk.receive(hello(), Self.start)
        for _ in 0..<9 { #expect(talk.receive(ring, Self.start).count == 1) }
        // Time gives some back.
        #expect(talk.receive(ring, Self.start + .milliseconds(150)) == [.ask(ServiceRequest(1, .ring(nil)))])
        #expect(reason(talk.receive(ring, Self.start + .milliseconds(150))) == "more than 10 frames a second")
    }

    // MARK: What is owed

    private func frames(_ queue: inout OutputQueue, take limit: Int = .max) throws -> [ServiceMessage] {
        var reader = FrameReader()
        var messages: [ServiceMessage] = []
        while messages.count < limit {
            let bytes = queue.next()
            if bytes.isEmpty { break }
            messages += try reader.receive(Array(bytes)).frames.map { try ServiceMessage.parse($0) }
            queue.sent(bytes.count)
        }
        return messages
    }

    @Test func whoIsBehindLosesProgressAndHearsTheLastWord() throws {
        var queue = OutputQueue()
        let progress = ServiceNews.progress(ProtocolTests.progress("t", 1, expected: 2)).frame
        queue.tellIfIdle(progress)
        #expect(queue.next().count == progress.count)
        // Half of it goes.
        queue.sent(10)
        for sequence in 1...1000 {
            let news = ServiceNews.events("a", upTo: UInt64(sequence), trouble: sequence > 999 ? "full" : nil)
            queue.tell("a", news, news.frame)
            queue.tellIfIdle(progress)
        }
        queue.answer(AnswerParts(1, .done))
        #expect(queue.next().count == progress.count - 10)
        queue.sent(progress.count - 10)
        // An answer before what can wait; of the news one word; no more progress.
        #expect(
            try frames(&queue) == [.part(1, .done, isLast: true), .news(.events("a", upTo: 1000, trouble: "full"))])
        #expect(queue.isEmpty)
        queue.tellIfIdle(progress)
        #expect(try frames(&queue).count == 1)
    }

    @Test func answersAreWrittenAsTheyAreTaken() throws {
        var queue = OutputQueue()
        let ids = (0..<50_000).map { "task-\($0)" }
        for number in 1...16 { queue.answer(AnswerParts(UInt32(number), .changed(ids))) }
        #expect(queue.waitingAnswers == 16)
        // Of sixteen answers of a megabyte one frame is there.
        #expect(queue.next().count <= ServiceProtocol.maximumFrame + 4)
        var count = 0
        for message in try frames(&queue) {
            guard case .part(_, .changed(let some), _) = message else { continue }
            count += some.count
        }
        #expect(count == 16 * ids.count && queue.isEmpty && queue.waitingAnswers == 0)
    }

    // MARK: The board

    @Test func theBoardKeepsLastWords() {
        let wakes = Counter()
        let board = NewsBoard { wakes.add() }
        board.events(of: "a", upTo: 7)
        #expect(wakes.value == 0, "nobody follows")
        #expect(board.follow("a") == 7 && board.follow("b") == 0)
        #expect(board.isFollowed("a") && !board.isFollowed("c"))
        for sequence: UInt64 in 8...500 { board.events(of: "a", upTo: sequence) }
        board.events(of: "a", upTo: 3)
        #expect(wakes.value == 1)
        for bytes in 1...100 as ClosedRange<Int64> {
            board.progress(ProtocolTests.progress("t", bytes))
            board.progress(ProtocolTests.progress("t", bytes, of: "c"))
        }
        #expect(wakes.value == 2)
        let first = board.takeNews(withProgress: false)
        #expect(first.events == ["a": 500] && first.progress.isEmpty && first.hasMore)
        board.events(of: "a", upTo: 501)
        #expect(wakes.value == 2, "the listener comes by of itself")
        let second = board.takeNews(withProgress: true)
        #expect(second.events == ["a": 501])
        #expect(second.progress == [ProtocolTests.progress("t", 100)])
        #expect(board.takeNews(withProgress: true).isEmpty)
        board.events(of: "a", upTo: 502)
        #expect(wakes.value == 3)
        board.unfollow("a")
        #expect(board.takeNews(withProgress: true).isEmpty && !board.isFollowed("a"))
        #expect(board.follow("a") == 502)
        board.forget("a")
        #expect(board.follow("a") == 0)
    }

    @Test func theBoardIsBounded() {
        let board = NewsBoard {}
        _ = board.follow("a")
        for number in 0..<10_000 {
            board.progress(ProtocolTests.progress("t\(number)", 1))
        }
        #expect(board.takeNews(withProgress: true).progress.count == 4096)
    }
}
