import CurlCore
import Glibc
import TestSupport
import Testing

/// libcurl is played: each transfer has a body read, sends that at once, and what did not go later, from its own memory.
@Suite struct SenderTests {
    @Test func aHeadLeavesWithItsBodyInOnePacket() throws {
        let line = try Line(SOCK_SEQPACKET)
        var sender = Self.sender(withHeadFor: line)
        #expect(line.receive() == nil)
        #expect(sender.send("body", over: line.near) == 4)
        #expect(line.receive() == "HEADbody")
        #expect(sender.send("more", over: line.near) == 4)
        #expect(line.receive() == "more")
    }

    @Test func aHeadWithoutABodyLeavesAtTheEndOfTheTurn() throws {
        let line = try Line(SOCK_SEQPACKET)
        let other = try Line(SOCK_SEQPACKET)
        var sender = Self.sender(withHeadFor: line)
        #expect(sender.send("else", over: other.near) == 4)
        #expect(other.receive() == "else")
        #expect(line.receive() == nil)
        sender.release()
        #expect(line.receive() == "HEAD")
        sender.release()
        #expect(line.receive() == nil)
        // Awaited, and not sent in that turn.
        sender.awaitHead(over: line.near)
        sender.release()
        #expect(sender.send("HEAD", over: line.near) == 4)
        #expect(line.receive() == "HEAD")
    }

    @Test func theNextHeadDoesNotTakeThePlaceOfOneThatWaits() throws {
        let (line, other) = (try Line(SOCK_SEQPACKET), try Line(SOCK_SEQPACKET))
        var sender = Self.sender(withHeadFor: line)
        sender.awaitHead(over: other.near)
        #expect(line.receive() == "HEAD")
        #expect(sender.send("NEXT", over: other.near) == 4)
        #expect(sender.send("body", over: other.near) == 4)
        #expect(other.receive() == "NEXTbody")
    }

    @Test func nothingWaitsForAConnectionThatWasClosed() throws {
        let line = try Line(SOCK_SEQPACKET)
        var sender = Self.sender(withHeadFor: line)
        sender.forget(line.near)
        sender.release()
        #expect(line.receive() == nil)
        #expect(sender.send("body", over: line.near) == 4)
        #expect(line.receive() == "body")
    }

    /// libcurl believes that it is gone, and what came after a part of it would be another request.
    @Test func ofAHeadThatDoesNotFitTheRestGoesFirst() throws {
        let line = try Line(SOCK_STREAM)
        line.fillUp()
        var sender = Self.sender(withHeadFor: line)
        #expect(sender.send("body", over: line.near) == -1)
        #expect(errno == EAGAIN)
        sender.release()
        #expect(sender.send("body", over: line.near) == -1)
        #expect(errno == EAGAIN)
        line.empty()
        #expect(sender.send("body", over: line.near) == 4)
        #expect(line.receive() == "HEADbody")
        #expect(sender.send("more", over: line.near) == 4)
        #expect(line.receive() == "more")
    }

    /// Nobody comes for the rest of one whose body is still to come.
    @Test func aHeadThatDoesNotFitAloneEndsItsConnection() throws {
        let line = try Line(SOCK_STREAM)
        line.fillUp()
        var sender = Self.sender(withHeadFor: line)
        sender.release()
        line.empty()
        #expect(sender.send("body", over: line.near) == -1)
        #expect(errno == EPIPE)
    }

    @Test func otherBytesThanThoseThatWereReadAreNotSent() throws {
        let line = try Line(SOCK_SEQPACKET)
        let memory = Memory(count: 16)
        var sender = Sender()
        let place = try #require(sender.place(insteadOf: memory.all))
        place.copyBytes(from: "body".utf8)
        sender.filled(4, insteadOf: memory.all, over: line.near)
        // Others go on without.
        #expect(sender.place(insteadOf: Memory(count: 16).all) == nil)
        #expect(sender.send("else", over: line.near) == -1)
        #expect(errno == EIO)
        #expect(line.receive() == nil)
        #expect(sender.send(UnsafeRawBufferPointer(rebasing: memory.all[..<4]), over: line.near) == 4)
        #expect(line.receive() == "body")
        #expect(sender.place(insteadOf: memory.all) != nil)
    }

    @Test func whatIsSentIsWhatWasRead() throws {
        var random = Seeded("whatIsSentIsWhatWasRead")
        for _ in 0..<Rounds.scaled(60) {
            var sender = Sender()
            var transfers = try (0..<1 + random.below(5)).map { _ in try Transfer(&random) }
            while transfers.contains(where: { !$0.isOver }) {
                for index in transfers.indices { transfers[index].turn(&sender, &random) }
                sender.release()
                for index in transfers.indices where random.below(3) > 0 { transfers[index].drain(&random) }
            }
            for transfer in transfers { #expect(transfer.arrived == transfer.head + transfer.body) }
        }
    }

    /// It keeps a head that waits for its body.
    private static func sender(withHeadFor line: Line) -> Sender {
        var sender = Sender()
        sender.awaitHead(over: line.near)
        #expect(sender.send("HEAD", over: line.near) == 4)
        return sender
    }

    /// One request, as libcurl sends it.
    private struct Transfer {
        let line: Line
        let head: [UInt8]
        let body: [UInt8]
        private let memory: Memory
        private var (hasHead, hasRest, read, pending) = (false, false, 0, 0..<0)
        private(set) var arrived: [UInt8] = []

        var isOver: Bool { arrived.count == head.count + body.count }

        init(_ random: inout Seeded) throws {
            line = try Line(SOCK_STREAM, buffer: 1 + random.below(60_000))
            head = random.bytes(1 + random.below(random.below(4) == 0 ? 4_000 : 400))
            body = random.bytes(1 + random.below(Sender.longestBody))
            memory = Memory(count: Sender.longestBody)
        }

        mutating func turn(_ sender: inout Sender, _ random: inout Seeded) {
            if !hasHead {
                sender.awaitHead(over: line.near)
                hasHead = head.withUnsafeBytes { sender.send($0, over: line.near) } == head.count
                // Whatever it waits for.
                guard hasHead, random.below(4) > 0 else { return }
            }
            if pending.isEmpty, read < body.count { fill(&sender, &random) }
            guard !pending.isEmpty else { return }
            let sent = sender.send(UnsafeRawBufferPointer(rebasing: memory.all[pending]), over: line.near)
            if sent < 0 { #expect(errno == EAGAIN) }
            hasRest = sent < pending.count
            pending = pending.lowerBound + max(0, sent)..<pending.upperBound
        }

        private mutating func fill(_ sender: inout Sender, _ random: inout Seeded) {
            let count = min(body.count - read, 1 + random.below(Sender.longestBody))
            let isDirect = !hasRest && random.below(4) > 0
            let place = isDirect ? sender.place(insteadOf: memory.all) : nil
            (place ?? memory.all).copyBytes(from: body[read..<read + count])
            if place != nil { sender.filled(count, insteadOf: memory.all, over: line.near) }
            (read, pending) = (read + count, 0..<count)
        }

        mutating func drain(_ random: inout Seeded) {
            if let came = line.receive(upTo: 1 + random.below(100_000)) { arrived += came }
        }
    }

    private final class Memory {
        let all: UnsafeMutableRawBufferPointer
        init(count: Int) {
            all = .allocate(byteCount: count, alignment: 16)
            all.initializeMemory(as: UInt8.self, repeating: 0xEE)
        }
        deinit { all.deallocate() }
    }

    /// Two ends that wait for nobody.
    private final class Line {
        let near: Int32
        private let far: Int32

        init(_ type: __socket_type, buffer: Int? = nil) throws {
            var ends: [Int32] = [-1, -1]
            guard socketpair(AF_UNIX, Int32(type.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0, &ends) == 0 else {
                throw SystemFailure("socketpair")
            }
            (near, far) = (ends[0], ends[1])
            // A head finds room there, as on a connection that carries nothing yet.
            if var size = buffer.map({ Int32($0 + 16_384) }) {
                setsockopt(near, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
            }
        }

        deinit { for end in [near, far] { close(end) } }

        func fillUp() {
            let filler = [UInt8](repeating: 0, count: 64 << 10)
            while filler.withUnsafeBytes({ send(near, $0.baseAddress, $0.count, 0) }) > 0 {}
        }

        func empty() { while receive(upTo: 100_000) != nil {} }

        func receive(upTo count: Int) -> [UInt8]? {
            var bytes = [UInt8](repeating: 0, count: count)
            let came = recv(far, &bytes, count, 0)
            return came > 0 ? Array(bytes[..<came]) : nil
        }

        func receive() -> String? { receive(upTo: 100_000).map { String(decoding: $0, as: UTF8.self) } }
    }
}

extension Sender {
    fileprivate mutating func send(_ text: String, over socket: Int32) -> Int {
        Array(text.utf8).withUnsafeBytes { send($0, over: socket) }
    }
}
