import HTTPRules
import TransferModel

/// A private cache made of the rules alone: what an engine would do with their decisions, on a clock that the test moves.
struct CacheModel {
    struct Reply {
        var status: Int
        var headers: HeaderBlock
        var body: String
    }
    struct Answer {
        var status: Int
        var headers: HeaderBlock
        var body: String
        /// The network was not asked.
        var isFromCache = false
        /// Served although the server failed or could not be reached.
        var isInstead = false
    }
    /// What a server says to a request; `nil` is a connection that breaks.
    typealias Origin = (_ method: String, _ headers: HeaderBlock) -> Reply?

    var now = WallTime(nanoseconds: 1_795_244_400_000_000_000)
    var stored: [StoredResponse] = []
    var configuration = CacheConfiguration()
    private var bodies: [CacheEntryID: String] = [:]
    private var names: Int64 = 0

    mutating func wait(_ seconds: Int64) { now = now + .seconds(seconds) }

    /// `nil` when nothing could be had.
    mutating func perform(_ request: CacheRequest, _ origin: Origin) -> Answer? {
        switch CacheDecision.of(request, stored: stored, configuration, now: now) {
        case .use(let use):
            let answer = answer(use, request)
            if use.reason == .staleWhileRevalidate { refresh(use, request, origin) }
            return answer
        case .fail: return Answer(status: 504, headers: .empty, body: "")
        case .fetch: return fetch(request, origin)
        case .validate(let question): return validate(question, request, origin)
        }
    }

    private mutating func refresh(_ use: CacheUse, _ request: CacheRequest, _ origin: Origin) {
        if let question = use.refresh {
            _ = validate(question, request, origin)
        } else {
            _ = fetch(request, origin)
        }
    }

    private mutating func validate(
        _ question: CacheValidation, _ request: CacheRequest, _ origin: Origin
    ) -> Answer? {
        let reply: Reply?
        switch question.question {
        case .head: reply = origin("HEAD", request.headers)
        case .conditional(let header):
            let lines = request.headers.lines.map { (request.headers.name($0), request.headers.value($0)) }
            reply = origin(request.method, HeaderBlock(lines + [(header.name, header.value.revealed)]))
        }
        guard let reply else { return instead(of: request, status: nil) }
        switch question.outcome(seen(reply), to: request) {
        case .confirmed(let use, let keeps):
            var answer = answer(use, request)
            answer.isFromCache = false
            stored.removeAll { $0.id == use.stored.id }
            if keeps { stored.append(use.stored) }
            return answer
        case .replaced: return take(reply, request)
        case .askAgain: return fetch(request, origin)
        case .serverFailed: return instead(of: request, status: reply.status) ?? take(reply, request)
        }
    }

    private mutating func fetch(_ request: CacheRequest, _ origin: Origin) -> Answer? {
        guard let reply = origin(request.method, request.headers) else { return instead(of: request, status: nil) }
        return instead(of: request, status: reply.status) ?? take(reply, request)
    }

    private mutating func take(_ reply: Reply, _ request: CacheRequest) -> Answer {
        let answer = Answer(status: reply.status, headers: reply.headers, body: reply.body)
        let gone = CacheInvalidation.urls(
            after: request.method, request.url, status: reply.status, reply.headers
        ).map(\.text)
        stored.removeAll { gone.contains($0.url) }
        if request.method == "HEAD" { freshen(reply, request) }
        keep(reply, request)
        return answer
    }

    private mutating func freshen(_ reply: Reply, _ request: CacheRequest) {
        for place in stored.indices where stored[place].url == request.url.text {
            switch CacheUpdate.headed(stored[place], by: seen(reply), request) {
            case .updated(let new), .stale(let new): stored[place] = new
            case .unrelated: break
            }
        }
    }

    private mutating func keep(_ reply: Reply, _ request: CacheRequest) {
        let length = Int64(reply.body.utf8.count)
        var known = seen(reply)
        known.bodyLength = length
        let verdict = CacheStorage.of(known, to: request, configuration)
        let old = stored
        let gone = Set(CacheStorage.outdated(stored, by: known, to: request))
        stored.removeAll { gone.contains($0.id) }
        guard case .store(var entry, _) = verdict else { return }
        names += 1
        entry.id = CacheEntryID(raw: names)
        bodies[entry.id] = reply.body
        for other in old where gone.contains(other.id) {
            guard let joined = PartialContent.joined(other, entry) else { continue }
            bodies[other.id] = join(other, entry)
            entry = joined
        }
        stored.append(entry)
    }

    /// The bytes of both parts, the new ones over the old.
    private func join(_ old: StoredResponse, _ new: StoredResponse) -> String {
        guard let first = old.part, let second = new.part else { return "" }
        var bytes: [Int64: UInt8] = [:]
        for (part, id) in [(first, old.id), (second, new.id)] {
            for (offset, byte) in (bodies[id] ?? "").utf8.enumerated() { bytes[part.first + Int64(offset)] = byte }
        }
        return String(decoding: bytes.sorted { $0.key < $1.key }.map(\.value), as: UTF8.self)
    }

    private func instead(of request: CacheRequest, status: Int?) -> Answer? {
        guard
            let use = CacheDecision.instead(of: request, stored: stored, configuration, status: status, now: now)
        else { return nil }
        var answer = answer(use, request)
        answer.isInstead = true
        return answer
    }

    private func answer(_ use: CacheUse, _ request: CacheRequest) -> Answer {
        var body = bodies[use.stored.id] ?? ""
        if let part = use.part {
            body = String(decoding: body.utf8.dropFirst(Int(part.offset)).prefix(Int(part.length)), as: UTF8.self)
        }
        return Answer(
            status: use.status, headers: use.headers, body: request.method == "HEAD" ? "" : body, isFromCache: true)
    }

    private func seen(_ reply: Reply) -> CacheAnswer {
        CacheAnswer(status: reply.status, headers: reply.headers, requestTime: now, responseTime: now)
    }
}
