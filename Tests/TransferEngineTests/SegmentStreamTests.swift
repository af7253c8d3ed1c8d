import CurlCore
import Testing
import TransferEngine
import TransferModel

/// One body in several streams, as far as the engine sees to it; what the plan decides has tests of its own.
@Suite struct SegmentStreamTests {
    private static let text = String(repeating: "0123456789abcdef", count: (4 << 20) / 16)

    private func head(_ status: Int, _ headers: [(String, String)]) -> ResponseHead {
        ResponseHead(status: status, version: .http1, headers: HeaderBlock(headers))
    }

    /// A download whose server announced 4 MiB, and the two requests under way once a slot was lent to it.
    private func lent() throws -> (rig: EngineRig, first: ScriptedTransfer, second: ScriptedTransfer, from: Int) {
        let rig = try EngineRig(EngineRig.job("to: f, segments: 4"))
        rig.start()
        let first = try rig.request()
        let headers = [("Content-Length", "\(Self.text.utf8.count)"), ("ETag", "\"1\""), ("Accept-Ranges", "bytes")]
        #expect(first.receiver.received(head: head(200, headers)))
        rig.turn()
        let wish = rig.reports.compactMap { report -> (TaskIndex, OriginID)? in
            if case .couldUse(let task, let origin, let slots) = report, slots > 0 { (task, origin) } else { nil }
        }
        let (task, origin) = try #require(wish.last)
        rig.perform(.lend(task, origin))
        rig.turn()
        let second = try #require(rig.loop.underWay.first { $0 !== first })
        let range = try #require(second.header("Range")?.dropFirst("bytes=".count))
        #expect(range.hasSuffix("-\(Self.text.utf8.count - 1)") && second.header("If-Range") == "\"1\"")
        return (rig, first, second, try #require(Int(range.prefix { $0 != "-" })))
    }

    @Test func partsOfTwoStreams_becomeTheFile() throws {
        let (rig, first, second, start) = try lent()
        let length = Self.text.utf8.count
        let headers = [
            ("Content-Range", "bytes \(start)-\(length - 1)/\(length)"), ("Content-Length", "\(length - start)"),
            ("ETag", "\"1\""),
        ]
        #expect(second.receiver.received(head: head(206, headers)))
        rig.send(String(Self.text.dropFirst(start)), to: second)
        rig.loop.complete(second)
        rig.turn()
        // What the other stream has brought is not read from this one.
        #expect(!rig.send(Self.text, to: first))
        rig.loop.complete(first, .writeError)
        rig.turn()
        #expect(rig.succeeded && rig.delivery.text("/here/f") == Self.text)
    }

    @Test func serverThatRefusesTheSecondRequest_isToldAbout_andTheFirstBringsAll() throws {
        let (rig, first, second, _) = try lent()
        #expect(!second.receiver.received(head: head(429, [("Retry-After", "7"), ("Content-Length", "0")])))
        rig.loop.complete(second, .writeError)
        rig.turn()
        #expect(rig.reports.contains { if case .turnedAway(_, _, status: 429, _) = $0 { true } else { false } })
        #expect(rig.send(Self.text, to: first))
        rig.loop.complete(first)
        rig.turn()
        #expect(rig.succeeded && rig.delivery.text("/here/f") == Self.text)
    }
}
