import FileDelivery
import TestSupport
import Testing
import TransferModel

/// How much is written at once.
@Suite struct WriteStepTests {
    private static let piece = 256 << 10

    /// A machine on which each way has its price, in nanoseconds for a page.
    private struct Machine {
        var step = WriteStep()
        var short: Int64
        var long: Int64
        private(set) var written: Int64 = 0
        /// How many bytes went the long way, and how many times the clock was asked.
        private(set) var longBytes: Int64 = 0
        private(set) var weighed = 0

        init(short: Int64, long: Int64) { (self.short, self.long) = (short, long) }

        mutating func write(_ count: Int = WriteStepTests.piece, interrupt: TimeSpan = .zero) {
            let isLong = step.isLong
            let time = TimeSpan(nanoseconds: (isLong ? long : short) * Int64(count / 4096)) + interrupt
            let isWeighed = step.isWeighing
            step.wrote(count, took: isWeighed ? time : .zero)
            written += Int64(count)
            if isLong { longBytes += Int64(count) }
            if isWeighed { weighed += 1 }
        }

        mutating func write(bytes: Int64) { for _ in 0..<bytes / Int64(WriteStepTests.piece) { write() } }
    }

    @Test func theCheaperWayIsTaken() {
        var plain = Machine(short: 600, long: 400)
        plain.write(bytes: 1 << 30)
        #expect(plain.longBytes > plain.written * 9 / 10)
        #expect(plain.weighed < 4096 / 3, "the clock is asked for one piece in four, and for those that are compared")
        // Where the host has to fetch the pages.
        var cold = Machine(short: 600, long: 3_000)
        cold.write(bytes: 1 << 30)
        #expect(cold.longBytes == 6 * WriteStep.window, "less and less often: after 32, 64, 128, 256 and 512 MiB")
        var even = Machine(short: 600, long: 600)
        even.write(bytes: 1 << 30)
        #expect(even.longBytes < even.written / 100)
    }

    /// Memory that was at hand may be used up.
    @Test func whatBecomesDearIsLeftAtOnce() {
        var machine = Machine(short: 600, long: 400)
        machine.write(bytes: 16 << 20)
        #expect(machine.step.isLong)
        machine.long = 3_000
        let before = machine.longBytes
        machine.write(bytes: 16 << 20)
        #expect(!machine.step.isLong)
        #expect(machine.longBytes - before <= 5 * Int64(Self.piece))
        // And taken again when it is cheap.
        machine.long = 400
        machine.write(bytes: 64 << 20)
        #expect(machine.step.isLong)
    }

    /// Whatever the prices do, both are looked at again.
    @Test func nothingIsForEver() {
        var random = Seeded("nothingIsForEver")
        for _ in 0..<Rounds.scaled(20) {
            var machine = Machine(short: 600, long: 400)
            for _ in 0..<200 {
                machine.short = Int64(300 + random.below(2_000))
                machine.long = Int64(300 + random.below(2_000))
                for _ in 0..<random.below(200) {
                    let interrupt = random.oneIn(50) ? TimeSpan.microseconds(Int64(random.below(3_000))) : .zero
                    machine.write((64 << 10) + random.below(192 << 10), interrupt: interrupt)
                }
            }
            (machine.short, machine.long) = (600, 400)
            machine.write(bytes: 3 * WriteStep.longestStay)
            var before = machine.longBytes
            machine.write(bytes: 128 << 20)
            #expect(machine.longBytes - before > 100 << 20, "but for what is weighed")
            (machine.short, machine.long) = (600, 3_000)
            machine.write(bytes: 4 << 20)
            before = machine.longBytes
            machine.write(bytes: 16 << 20)
            #expect(machine.longBytes == before)
        }
    }
}
