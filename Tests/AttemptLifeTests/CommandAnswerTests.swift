import AttemptLife
import HTTPRules
import TestSupport
import Testing
import TransferModel

/// What a command writes, in whatever pieces it comes.
struct CommandAnswerTests {
    private func read(
        _ text: String, pieces: (Int) -> Int = { $0 }
    ) throws(TransferError) -> (head: CommandAnswer.Head?, rest: String, answer: CommandAnswer) {
        var answer = CommandAnswer()
        var left = Array(text.utf8)[...]
        while !left.isEmpty {
            let (head, taken) = try answer.take(left.prefix(pieces(left.count)))
            left = left.dropFirst(taken)
            if let head { return (head, String(decoding: left, as: UTF8.self), answer) }
        }
        return (nil, "", answer)
    }

    @Test func headersAndBody() throws {
        let (head, rest, answer) = try read("Status: 404 Not Found\r\nContent-Type: text/plain\nX-A: b\r\n\r\nbody\n\n")
        #expect(head?.status == 404 && rest == "body\n\n" && answer.isComplete)
        #expect(head?.headers.first("content-type") == "text/plain" && head?.headers.first("x-a") == "b")
        // CGI's own word is no header of the answer.
        #expect(head?.headers.first("status") == nil)
        #expect(try read("A: b\n\n").head?.status == 200)
        #expect(try read("\nall of it").rest == "all of it")
    }

    /// Where it is cut means nothing.
    @Test func inAnyPieces() throws {
        var random = Seeded("CommandAnswerTests.inAnyPieces")
        let breaks = ["\n", "\r\n"]
        for _ in 0..<Rounds.scaled(300) {
            var text = ""
            var wanted: [String] = []
            for place in 0..<random.below(6) {
                wanted.append("v\(place)")
                text += "X-\(place): v\(place)\(random.pick(breaks))"
            }
            let body = String(repeating: random.pick(["a", "\n", "\r\n", ":"]), count: random.below(9))
            text += random.pick(breaks) + body
            let (head, rest, _) = try read(text) { 1 + random.below($0) }
            #expect(rest == body)
            #expect(head?.headers.lines.count == wanted.count)
            #expect(head?.headers.lines.map { line in head.map { String($0.headers.value(line)) } } == wanted)
        }
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\n\r\n", "hello\n", ": x\n\n", "Na me: x\n\n", "Status: 99\n\n", "Status: 600\n\n",
        "Status: 2000\n\n", "Status: +20\n\n", "Status:\n\n", "Status: 200\nStatus: 200\n\n",
        "Transfer-Encoding: chunked\n\n", "A: b\u{0}c\n\n", "A: b\rc\n\n",
    ])
    func whatIsNoAnswer(_ text: String) {
        #expect(throws: TransferError.self) { try read(text) }
        #expect(throws: TransferError.self) { try read(text) { _ in 1 } }
    }

    @Test func headersEndSometime() {
        let error = #expect(throws: TransferError.self) { try read("A: " + String(repeating: "b", count: 70_000)) }
        #expect(error?.name == .commandFailed && error?.message.contains("65536") == true)
        #expect(throws: TransferError.self) { try read(String(repeating: "A: b\n", count: 20_000)) }
    }

    @Test func ends() throws {
        func end(_ status: Int32?, _ text: String, signal: Int32 = 0, says words: String? = nil) throws -> CommandEnd {
            CommandEnd.of(status: status, signal: signal, try read(text).answer, command: "gen x", lastWords: words)
        }
        func message(_ end: CommandEnd) -> String {
            if case .failed(let error) = end, error.name == .commandFailed { error.message } else { "\(end)" }
        }
        #expect(try end(0, "A: b\n\n") == .whole && end(0, "\n") == .whole)
        #expect(try end(64, "") == .passes)
        #expect(try message(end(64, "A: b\n")).contains("after it had begun"))
        #expect(try message(end(64, "A: b\n\n")).contains("after it had begun"))
        #expect(try message(end(0, "")).contains("gave no answer"))
        #expect(try message(end(0, "A: b\n")).contains("no empty line"))
        #expect(try message(end(3, "A: b\n\n", says: "no disk")) == "the command `gen x` ended with status 3: no disk")
        #expect(try message(end(nil, "A: b\n\n", signal: 9)) == "the command `gen x` was ended by signal 9")
    }

    @Test func bodies() {
        #expect(CommandAnswer.hasBody(status: 200, method: "GET") && CommandAnswer.hasBody(status: 404, method: "PUT"))
        #expect(!CommandAnswer.hasBody(status: 200, method: "HEAD"))
        #expect(
            !CommandAnswer.hasBody(status: 204, method: "GET") && !CommandAnswer.hasBody(status: 304, method: "GET"))
    }

    @Test func lastWords() {
        #expect(LastErrorLine.of("") == nil && LastErrorLine.of(" \n\n") == nil)
        #expect(LastErrorLine.of("first\nlast\n\n") == "last")
        #expect(LastErrorLine.of("a\u{1b}[31mb\u{7f}\r\n") == "a [31mb ")
        let long = LastErrorLine.of("begin" + String(repeating: "x", count: 900) + "end")
        #expect(long?.hasPrefix("…x") == true && long?.hasSuffix("end") == true && long?.count == 201)
    }

    // MARK: Judged by the rules of HTTP

    private func life(_ method: String = "GET", maximum: Int64? = nil, requiresLength: Bool = false) throws
        -> AttemptLife
    {
        AttemptLife(
            try ResourceURL.parse("gen://store/object"),
            AttemptRules(type: .download, method: method, maximumSize: maximum, requireLength: requiresLength))
    }

    private func step(
        _ life: AttemptLife, _ text: String, received: Int64, error: TransferError? = nil
    ) throws -> (HeadDecision, NextStep) {
        let life = life
        var lore = SessionState(SessionConfiguration(name: "s"), at: WallTime(nanoseconds: 0))
        let head = try #require(try read(text).head)
        let decision = life.head(
            status: head.status, version: .http1, headers: head.headers, sessionState: &lore,
            at: WallTime(nanoseconds: 0))
        return (decision, life.ended(TransportEnd(error: error, received: received, sawCloseNotify: false)))
    }

    @Test func itsEndProvesTheBody() throws {
        guard
            case (.keep, .deliver(lengthUnverified: false, nil)) = try step(
                life(requiresLength: true), "\n", received: 7)
        else { return #expect(Bool(false), "an orderly end is the end") }
        guard
            case (.keep, .deliver(lengthUnverified: false, nil)) = try step(
                life(), "Content-Length: 7\n\n", received: 7)
        else { return #expect(Bool(false), "the length is met") }
        for received in [6, 8] as [Int64] {
            guard case (.keep, .fail) = try step(life(), "Content-Length: 7\n\n", received: received) else {
                return #expect(Bool(false), "\(received) are not 7")
            }
        }
        let failed = TransferError(.commandFailed, "it died")
        guard case (.keep, .fail(failed, nil)) = try step(life(), "\n", received: 7, error: failed) else {
            return #expect(Bool(false), "what a failed command wrote is nothing")
        }
    }

    /// A command is nobody to log in to, and what it says of other places is for who reads its answer.
    @Test(arguments: [301, 302, 307, 401, 407])
    func nothingIsFollowedAndNobodyAsked(_ status: Int) throws {
        let text = "Status: \(status)\nLocation: https://example.org/\nWWW-Authenticate: Basic realm=x\n\n"
        guard case (.keep, .fail(let error, nil)) = try step(life(), text, received: 0) else {
            return #expect(Bool(false), "the answer is final")
        }
        #expect(error.name == .unexpectedResponse)
    }
}
