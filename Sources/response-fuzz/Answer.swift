import TestSupport
import TransferModel

/// What the server says for one task, drawn from a seed: a good answer, or one with something wrong in it.
struct Answer: Sendable {
    /// What is wrong with it; `nil` for a good one, which must come out whole.
    var fault: String?
    var script: Script
    var body: [UInt8]
    /// The bodies that a reader may take from it; `nil` where its framing can be read in several ways.
    var permitted: [[UInt8]]?

    init(_ random: inout Seeded) {
        body = random.bytes(1 + random.below(3000))
        permitted = [body]
        script = []
        if random.oneIn(2) {
            script = random.oneIn(2) ? .respond(200, body: body) : .chunked(200, [body])
        } else {
            mutate(&random)
        }
    }

    private mutating func mutate(_ random: inout Seeded) {
        let length = "Content-Length: \(body.count)\r\n"
        switch random.below(23) {
        case 0: plain("folded first line", " X-A: folded\r\n" + length)
        case 1: plain("folded line", "X-A: b\r\n\t folded\r\n" + length + "X-B: c\r\n  d\r\n")
        case 2: plain("line without colon", length + "no colon here\r\n")
        case 3: plain("NUL in a header", length + "X-A: b\0c\r\n")
        case 4: plain("many headers", String(repeating: "X-A: b\r\n", count: 1 + random.below(8000)) + length)
        case 5: plain("long header", "X-A: \(String(repeating: "b", count: random.below(400_000)))\r\n" + length)
        case 6: plain("negative length", "Content-Length: -\(body.count)\r\n", .close)
        case 7: plain("length beyond numbers", "Content-Length: 99999999999999999999999\r\n", .close)
        case 8:
            plain("two lengths", length + "Content-Length: \(body.count - 1)\r\n", .close)
            permitted?.append(body.dropLast())
        case 9:
            let codings = ["gzip, chunked", "xchunked", "chunked, chunked", "identity", ",", "chunked\r\n x"]
            let coding = random.pick(codings)
            plain("transfer coding \(coding.debugDescription)", "Transfer-Encoding: \(coding)\r\n" + length, .close)
            permitted = nil
        case 10:
            let size = random.pick(["zz", "-1", "FFFFFFFFFFFFFFFFFF", ""])
            chunks("broken chunk size", [.send("\(size)\r\nabc\r\n"), .close])
            permitted = []
        case 11:
            let extensions = String(repeating: "e=f;", count: random.below(2000))
            chunks("chunk extension", [.send("0;\(extensions)\r\n\r\n")])
        case 12:
            let trailers = String(repeating: "X-T: u\r\n", count: 60_000)
            chunks("endless trailers", [.send("0\r\n" + trailers), .reset])
        case 13:
            let early = "HTTP/1.1 103 Early\r\nX: y\r\n\r\n"
            interim("flood of 1xx", String(repeating: early, count: random.below(500)))
        case 14: interim("folded 1xx", "HTTP/1.1 103 Early\r\n X-A: folded\r\n\r\n")
        case 15:
            plain(
                "body where none may be", length, .close, status: random.pick(["204 No Content", "304 Not Modified"]))
            permitted = [[]]
        case 16:
            fault = "no status line"
            script = [.bytes(body), .close]
            permitted = []
        case 17:
            let status = random.pick(["2000 OK", "20 OK", "-200 OK", "OK", "999 Odd"])
            plain("status line \(status)", length, .close, status: status)
        case 18: cut(&random, .close)
        case 19: cut(&random, .reset)
        case 20:
            body += Array("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nnobody asked".utf8)
            plain("bytes after the body", length, .close)
            body.removeLast(body.count - (permitted?.first?.count ?? 0))
        case 21:
            plain("wrong range", length + "Content-Range: bytes 5-1/0\r\n", status: "206 Partial Content")
        default: plain("content coding", length + "Content-Encoding: identity\r\nContent-Encoding: gzip, nonsense\r\n")
        }
        if random.oneIn(6) { split(&random) }
    }

    private mutating func plain(
        _ what: String, _ lines: String, _ end: Script.Step? = nil, status: String = "200 OK"
    ) {
        fault = what
        // Of an answer that may leave bytes behind no other follows: those would be taken for the next one's, as far as any
        // client can tell.
        let last = end == nil ? "" : "Connection: close\r\n"
        let head = "HTTP/1.1 \(status)\r\n\(lines)\(last)\r\n"
        script = Script([.bytes(Array(head.utf8) + body)] + (end.map { [$0] } ?? []))
    }

    private mutating func chunks(_ what: String, _ end: [Script.Step]) {
        fault = what
        let head = Script.head(200, [("Transfer-Encoding", "chunked")])
        script = Script([.bytes(head + Script.chunk(body))] + end)
    }

    private mutating func interim(_ what: String, _ before: String) {
        fault = what
        script = [.send(before)] + Script.respond(200, body: body)
    }

    private mutating func cut(_ random: inout Seeded, _ end: Script.Step) {
        fault = "cut body"
        let head = Script.head(200, [("Content-Length", "\(body.count)")])
        script = [.bytes(head + body.prefix(random.below(body.count))), end]
        permitted = []
    }

    /// The first 64 bytes come one by one.
    private mutating func split(_ random: inout Seeded) {
        guard case .bytes(let bytes)? = script.steps.first else { return }
        let single = bytes.prefix(64).flatMap { [Script.Step.bytes([$0]), .wait(.milliseconds(1))] }
        script.steps.replaceSubrange(0..<1, with: single + [.bytes(Array(bytes.dropFirst(64)))])
    }
}
