import CurlCore
import TestSupport
import Testing
import TransferModel

/// Records what a loop delivers of one transfer, and replies as its test says.
final class RecordingReceiver: TransferReceiver {
    var id = TransferID(index: 0, generation: 0)
    /// How the transfer ended; `nil` while it runs, and after it was stopped.
    var completion: CurlCompletion?
    /// Number of calls, of whatever kind.
    private(set) var calls = 0
    private(set) var heads: [ResponseHead] = []
    private(set) var interims: [HeaderBlock] = []
    private(set) var files: [FTPFacts] = []
    private(set) var body: [UInt8] = []
    private(set) var framing = 0
    /// Number of times that the receiver replied `pause`.
    private(set) var pauses = 0
    /// Bytes of `upload` that libcurl took since the body last began.
    private(set) var sent = 0
    /// For each rewind of the body, whether the fate of the first request was unknown.
    private(set) var rewinds: [Bool] = []

    /// Whether heads and interim answers are accepted.
    var acceptsHeads = true
    /// The reply to a piece of the body, given the receiver's state before it.
    var replyToBody: (RecordingReceiver) -> BodyReply = { _ in .taken }
    /// The reply to framing, given the receiver's state with it.
    var replyToFraming: (RecordingReceiver) -> BodyReply = { _ in .taken }
    /// The body of the request.
    var upload: [UInt8] = []
    /// Bytes of `upload` after which `fillBody` replies `replyAtLimit`.
    var uploadLimit = Int.max
    var replyAtLimit = BodyFill.pause
    /// Whether the body can be sent again.
    var canRewind = true

    func received(head: ResponseHead) -> Bool {
        calls += 1
        heads.append(head)
        return acceptsHeads
    }

    func received(interim headers: HeaderBlock) -> Bool {
        calls += 1
        interims.append(headers)
        return acceptsHeads
    }

    func received(file: FTPFacts) -> Bool {
        calls += 1
        files.append(file)
        return true
    }

    func received(body bytes: UnsafeRawBufferPointer) -> BodyReply {
        calls += 1
        let reply = replyToBody(self)
        if case .taken = reply { body += bytes }
        if case .pause = reply { pauses += 1 }
        return reply
    }

    func received(framing count: Int) -> BodyReply {
        calls += 1
        framing += count
        return replyToFraming(self)
    }

    func fillBody(_ buffer: UnsafeMutableRawBufferPointer) -> BodyFill {
        calls += 1
        if sent >= uploadLimit {
            pauses += 1
            return replyAtLimit
        }
        let piece = upload[sent..<min(upload.count, uploadLimit, sent + buffer.count)]
        buffer.copyBytes(from: piece)
        sent += piece.count
        return .bytes(piece.count)
    }

    func rewindBody(to offset: Int64, isUnanswered: Bool) -> Bool {
        calls += 1
        rewinds.append(isUnanswered)
        guard canRewind else { return false }
        sent = Int(offset)
        return true
    }
}

/// A loop and the pools of its transfers, turned by a test until what it waits for happened.
final class LoopStage {
    // The loop is released before the pools: its handles use them until then.
    let loop: CurlLoop
    /// The pool that transfers use unless told otherwise.
    let pool: ConnectionPool
    private var others: [ConnectionPool] = []

    /// `server`: the one whose authority is trusted. `proxy`: port and kind of a proxy on 127.0.0.1.
    init(
        trusting server: ScriptedServer? = nil, idle: Int = 16, perHost: Int = 0, proxy port: UInt16? = nil,
        kind: ProxyServer.Kind = .http, path: ConnectionPath = ConnectionPath(), gate: (any ConnectionGate)? = nil,
        limits: HostLimits? = nil, _ change: (inout TLSConfiguration) -> Void = { _ in }
    ) throws {
        loop = CurlLoop(maximumConnections: idle, connectionsPerHost: perHost, streamsPerConnection: 100)
        var tls = TLSConfiguration()
        tls.ca = server?.caFile
        change(&tls)
        let proxy = port.map {
            ProxySettings(ProxyServer(kind: kind, host: "127.0.0.1", port: $0), authorization: nil)
        }
        pool = ConnectionPool(tls: TLSSettings(tls), proxy: proxy, path: path, gate: gate, limits: limits)
        try loop.open()
    }

    /// Makes another pool that lives as long as the loop.
    func addPool(limits: HostLimits? = nil) -> ConnectionPool {
        others.append(ConnectionPool(tls: TLSSettings(TLSConfiguration()), limits: limits))
        return others[others.count - 1]
    }

    /// Starts a transfer, with `upload` as the request's body.
    func start(
        _ url: String, method: String? = nil, upload: [UInt8]? = nil, in other: ConnectionPool? = nil,
        _ receiver: RecordingReceiver = RecordingReceiver(), with change: (inout CurlRequest) -> Void = { _ in }
    ) throws -> RecordingReceiver {
        var request = CurlRequest(url: url, method: method ?? (upload == nil ? "GET" : "PUT"), pool: other ?? pool)
        if let upload {
            receiver.upload = upload
            request.bodyLength = Int64(upload.count)
        }
        change(&request)
        receiver.id = try loop.start(request, receiver: receiver)
        return receiver
    }

    /// Turns the loop once.
    func turn(wait: TimeSpan = .zero) {
        for completion in loop.turn(wait: wait) {
            guard let receiver = completion.receiver as? RecordingReceiver else { continue }
            #expect(receiver.completion == nil, "a transfer ended twice")
            receiver.completion = completion
        }
    }

    /// Turns the loop until `isDone`, which a busy machine may take long to reach.
    func turn(sourceLocation: SourceLocation = #_sourceLocation, until isDone: () -> Bool) {
        let deadline = ContinuousClock.now + .seconds(60)
        while !isDone() {
            guard ContinuousClock.now < deadline else {
                Issue.record("the loop never got there", sourceLocation: sourceLocation)
                return
            }
            turn(wait: .milliseconds(10))
        }
    }

    /// Turns the loop until a transfer has ended.
    func finish(
        _ receiver: RecordingReceiver, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> CurlCompletion {
        turn(sourceLocation: sourceLocation) { receiver.completion != nil }
        return try #require(receiver.completion, sourceLocation: sourceLocation)
    }

    /// Performs a transfer from start to end and returns how it ended.
    func fetch(
        _ url: String, method: String? = nil, upload: [UInt8]? = nil, in other: ConnectionPool? = nil,
        _ receiver: RecordingReceiver = RecordingReceiver(), sourceLocation: SourceLocation = #_sourceLocation,
        with change: (inout CurlRequest) -> Void = { _ in }
    ) throws -> CurlCompletion {
        try finish(
            start(url, method: method, upload: upload, in: other, receiver, with: change),
            sourceLocation: sourceLocation)
    }

    /// Turns the loop while another transfer begins and ends: whatever else was due has happened then.
    func passTime() throws {
        let server = try ScriptedServer { _ in .respond(200, body: "meanwhile") }
        defer { server.stop() }
        #expect(try fetch(server.url(), in: addPool()).code == .ok)
    }

    /// Stops a transfer, checks that nothing is heard of it afterwards, and returns what was measured of it.
    func stop(
        _ receiver: RecordingReceiver, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> CurlMetrics {
        let metrics = try #require(loop.stop(receiver.id), "it was over", sourceLocation: sourceLocation)
        #expect(loop.activeCount == 0, sourceLocation: sourceLocation)
        let calls = receiver.calls
        #expect(loop.lastActivity(of: receiver.id) == nil, sourceLocation: sourceLocation)
        loop.resume(receiver.id)
        try passTime()
        #expect(loop.stop(receiver.id) == nil, sourceLocation: sourceLocation)
        #expect(receiver.completion == nil && receiver.calls == calls, sourceLocation: sourceLocation)
        return metrics
    }
}

extension CurlCompletion {
    /// The receiver of a transfer that a `LoopStage` started.
    var recorded: RecordingReceiver { receiver as? RecordingReceiver ?? RecordingReceiver() }
}

extension CurlCode {
    // libcurl's numbers, as its manual has them.
    static let unsupportedProtocol = CurlCode(rawValue: 1)
    static let noAddress = CurlCode(rawValue: 6)
    static let noConnection = CurlCode(rawValue: 7)
    static let oddReply = CurlCode(rawValue: 8)
    static let writeError = CurlCode(rawValue: 23)
    static let noHandshake = CurlCode(rawValue: 35)
    static let stopped = CurlCode(rawValue: 42)
    static let gotNothing = CurlCode(rawValue: 52)
    static let receiveError = CurlCode(rawValue: 56)
    static let noRewind = CurlCode(rawValue: 65)
    static let untrusted = CurlCode(rawValue: 60)
    static let stream = CurlCode(rawValue: 92)
}
