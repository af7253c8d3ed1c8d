import CurlCore
import TestSupport
import Testing

/// libcurl is played: it asks for bytes in its own memory, which stays as it was, hands that over in pieces of up to 16 KiB,
/// and keeps what nobody took.
@Suite struct DirectBodyTests {
    @Test func whatIsHandedOverIsWhatCame() {
        var random = Seeded("whatIsHandedOverIsWhatCame")
        for _ in 0..<Rounds.scaled(200) {
            let body = random.bytes(1 + random.below(200_000))
            #expect(Played(body).receive(&random) == body)
            #expect(Played(body).receive(&random, ahead: true) == body)
        }
    }

    @Test func otherBytesThanThoseThatCameAreRefused() {
        let line = Memory(count: 100)
        let place = Memory(count: 100)
        var direct = DirectBody()
        direct.came(100, in: place.start, for: line.start)
        #expect(direct.bytes(of: line[1..<100]) == nil)
        #expect(direct.bytes(of: place[0..<100]) == nil)
        #expect(direct.bytes(of: UnsafeRawBufferPointer(start: line.start, count: 101)) == nil)
        #expect(direct.bytes(of: line[0..<40])?.baseAddress == UnsafeRawPointer(place.start))
        direct.taken(40)
        #expect(direct.bytes(of: line[0..<40]) == nil)
        #expect(direct.bytes(of: line[40..<100])?.baseAddress == UnsafeRawPointer(place.start + 40))
        #expect(!direct.isEmpty)
        direct.taken(60)
        #expect(direct.isEmpty)
    }

    /// All that came is taken with the first piece, but for what is no part of the body.
    @Test func whatFollowsMayBeTakenBefore() {
        let line = Memory(count: 100)
        let place = Memory(count: 100)
        var direct = DirectBody()
        direct.came(100, in: place.start, for: line.start)
        let first = direct.bytes(of: line[0..<40], most: 70)
        #expect(first?.baseAddress == UnsafeRawPointer(place.start) && first?.count == 70)
        direct.taken(70, handed: 40)
        #expect(direct.bytes(of: line[40..<71], most: 30) == nil, "more than what was the body's")
        #expect(direct.bytes(of: line[41..<60], most: 30) == nil)
        #expect(direct.bytes(of: line[40..<60], most: 30)?.count == 0, "it was taken")
        direct.taken(0, handed: 20)
        #expect(direct.bytes(of: line[60..<70], most: 10)?.count == 0)
        direct.taken(0, handed: 10)
        // What libcurl hands over all the same is what came.
        let rest = direct.bytes(of: line[70..<100], most: 0)
        #expect(rest?.baseAddress == UnsafeRawPointer(place.start + 70) && rest?.count == 30)
        direct.taken(30)
        #expect(direct.isEmpty)
    }

    private final class Memory {
        let start: UnsafeMutableRawPointer
        let count: Int
        init(count: Int) {
            self.count = count
            start = .allocate(byteCount: count, alignment: 16)
            start.initializeMemory(as: UInt8.self, repeating: 0xEE, count: count)
        }
        deinit { start.deallocate() }
        subscript(range: Range<Int>) -> UnsafeRawBufferPointer {
            UnsafeRawBufferPointer(start: start + range.lowerBound, count: range.count)
        }
    }

    private struct Played {
        private let body: [UInt8]
        private let line = Memory(count: 64 << 10)

        init(_ body: [UInt8]) { self.body = body }

        func receive(_ random: inout Seeded, ahead: Bool = false) -> [UInt8] {
            var (taken, sent) = ([UInt8](), 0)
            while sent < body.count {
                let place = Memory(count: 1 + random.below(80_000))
                let count = min(place.count, line.count, body.count - sent, 1 + random.below(64 << 10))
                body[sent..<sent + count].withUnsafeBytes {
                    UnsafeMutableRawBufferPointer(start: place.start, count: count).copyMemory(from: $0)
                }
                sent += count
                var direct = DirectBody()
                direct.came(count, in: place.start, for: line.start)
                var handed = 0
                while handed < count {
                    let piece = line[handed..<min(handed + (16 << 10), count)]
                    let bytes = direct.bytes(of: piece, most: ahead ? body.count - taken.count : 0)
                    // What was taken before cannot be left.
                    if random.below(8) == 0, bytes?.isEmpty != true {
                        // Nobody takes it: libcurl keeps all that is left, and hands over its own bytes later.
                        direct.giveBack()
                        taken += line[handed..<count]
                        break
                    }
                    taken += bytes ?? UnsafeRawBufferPointer(start: nil, count: 0)
                    direct.taken(bytes?.count ?? 0, handed: piece.count)
                    handed += piece.count
                }
                if !direct.isEmpty { return [] }
                line.start.initializeMemory(as: UInt8.self, repeating: 0xEE, count: line.count)
            }
            return taken
        }
    }
}
