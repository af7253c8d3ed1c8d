import AttemptLife
import HTTPRules
import TestSupport
import Testing
import TransferModel

/// A download over many broken attempts from a server that changes its file, ignores ranges, and answers them wrongly:
/// what is delivered is always one version of the file, whole.
struct ResumedAttemptTests {
    /// Keeps what an engine would keep.
    private struct Client {
        var kept: [UInt8] = []
        var point: ResumePoint?

        enum Outcome {
            case delivered([UInt8])
            case failed
        }

        /// One attempt; the world answers each request with a head and as much of the body as comes through.
        mutating func attempt(_ url: ResourceURL, _ world: inout World) -> Outcome {
            let life = AttemptLife(url, AttemptRules(type: .download, method: "GET"), resume: point)
            for _ in 0..<5 {
                let hadResume = life.resume != nil
                let answer = world.answer(life.request)
                let decision = life.head(status: answer.status, version: .http1, headers: answer.headers)
                if hadResume, life.resume == nil { kept = [] }
                var received: Int64 = 0
                if decision == .keep {
                    kept += answer.body
                    received = Int64(answer.body.count)
                    let validator = life.offset > 0 ? life.resume?.validator : Resuming.validator(answer.headers)
                    point = validator.map {
                        ResumePoint(
                            url: url.text, offset: Int64(kept.count), validator: $0, total: life.announcedLength,
                            headers: Resuming.kept(life.fileHeaders ?? answer.headers))
                    }
                } else {
                    point = life.resume
                }
                let cut = answer.isCut ? TransferError(.networkConnectionLost, "cut") : nil
                switch life.ended(TransportEnd(error: cut, received: received, sawCloseNotify: false)) {
                case .send: continue
                case .deliver: return .delivered(kept)
                // Nothing was asked under a condition.
                case .keep, .isThere, .judged, .fail, .ask, .cancel:
                    if point == nil { kept = [] }
                    return .failed
                }
            }
            Issue.record("it asks for ever")
            return .failed
        }
    }

    private struct World {
        var random: Seeded
        var version = 0
        var versions: [[UInt8]] = []

        init(_ random: Seeded) {
            self.random = random
            change()
        }

        mutating func change() {
            version = versions.count
            versions.append((0..<(1 + random.below(60))).map { _ in UInt8(random.below(4)) })
        }

        struct Answer {
            var status: Int
            var headers: HeaderBlock
            var body: [UInt8]
            var isCut: Bool
        }

        mutating func answer(_ request: OutgoingRequest) -> Answer {
            if random.oneIn(6) { change() }
            let bytes = versions[version]
            let tag = "\"\(version)\""
            if random.oneIn(8) {
                return Answer(status: 503, headers: HeaderBlock([("Content-Length", "0")]), body: [], isCut: false)
            }
            let range = request.headers.first { $0.name == "Range" }?.value.revealed
            let ifRange = request.headers.first { $0.name == "If-Range" }?.value.revealed
            if let range, let from = Int(range.dropFirst("bytes=".count).dropLast()), !random.oneIn(5) {
                if ifRange == tag || random.oneIn(4) { return part(bytes, tag, from) }
            }
            var headers = [("Content-Length", "\(bytes.count)")]
            if !random.oneIn(5) { headers.append(("ETag", random.oneIn(6) ? "W/" + tag : tag)) }
            if random.oneIn(2) { headers.append(("Last-Modified", date)) }
            return send(200, headers, bytes)
        }

        private var date: String { "Sat, 21 Nov 2026 07:00:\(version / 10)\(version % 10) GMT" }

        /// Perhaps not the part that was asked for; but it says which one it is. Of what version it may leave unsaid,
        /// and may never have heard of `If-Range`.
        private mutating func part(_ bytes: [UInt8], _ tag: String, _ asked: Int) -> Answer {
            guard asked < bytes.count else {
                return Answer(
                    status: 416, headers: HeaderBlock([("Content-Range", "bytes */\(bytes.count)")]), body: [],
                    isCut: false)
            }
            let from = random.oneIn(4) ? random.below(bytes.count) : asked
            let last = random.oneIn(4) ? from + random.below(bytes.count - from) : bytes.count - 1
            let range = "bytes \(from)-\(last)/\(bytes.count)"
            var body = Array(bytes[from...last])
            // Or it brings another length than it says.
            if random.oneIn(5) { body.removeLast(random.below(body.count)) }
            let framings = [
                [("Content-Length", "\(body.count)")], [("Transfer-Encoding", "chunked")], [("Connection", "close")],
            ]
            let said = random.pick([[("ETag", tag)], [("ETag", tag)], [("Last-Modified", date)], []])
            return send(206, [("Content-Range", range)] + said + random.pick(framings), body)
        }

        private mutating func send(_ status: Int, _ headers: [(String, String)], _ body: [UInt8]) -> Answer {
            let isCut = random.oneIn(2)
            let sent = isCut ? Array(body.prefix(random.below(body.count + 1))) : body
            return Answer(status: status, headers: HeaderBlock(headers), body: sent, isCut: isCut)
        }
    }

    @Test func neverTwoVersionsInOneFile() throws {
        var random = Seeded("neverTwoVersionsInOneFile")
        let url = try ResourceURL.parse("http://host/file")
        var (delivered, resumed) = (0, 0)
        for _ in 0..<Rounds.scaled(3_000) {
            var world = World(Seeded(seed: random.next()))
            var client = Client()
            for _ in 0..<12 {
                let wasResumed = client.point != nil
                guard case .delivered(let bytes) = client.attempt(url, &world) else { continue }
                #expect(world.versions.contains(bytes), "\(bytes) is none of \(world.versions)")
                delivered += 1
                if wasResumed { resumed += 1 }
                break
            }
        }
        // The test is one of resuming only if that happens.
        #expect(delivered > 100 && resumed > 20)
    }
}
