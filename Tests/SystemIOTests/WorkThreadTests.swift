import Glibc
import Synchronization
import SystemIO
import Testing

@Suite struct WorkThreadTests {
    /// Whatever was posted before the end was asked for is done when that returns, and the end may be asked for twice.
    @Test func whatWasPostedIsDoneBeforeItEnds() throws {
        for _ in 0..<200 {
            let (thread, orders) = (WorkThread(), Mailbox<Int>())
            let sum = Mutex(0)
            try thread.start(named: "work") {
                while true {
                    let isEnding = thread.isEnding
                    let batch = orders.takeAll()
                    sum.withLock { $0 += batch.reduce(0, +) }
                    if isEnding, batch.isEmpty { return }
                    if batch.isEmpty { thread.wake.wait() }
                }
            }
            for number in 1...10 {
                orders.post([number])
                thread.wake.signal()
            }
            thread.finish()
            thread.finish()
            #expect(sum.withLock { $0 } == 55)
        }
    }

    /// Of those made ahead and those that are not, each is what was asked for.
    @Test func oneMadeAheadIsLikeAnother() throws {
        Signals.holding { Thread.makeSpare(3) }
        let own = niceness()
        let seen = Mutex<[String: Int32]>([:])
        let numbers = 0..<12
        let threads = try Signals.holding { () throws(SystemError) in
            try numbers.map { number throws(SystemError) in
                try Thread(named: "number-\(number)", standsBack: number % 2 == 0) {
                    let name = (try? WholeFile.read("/proc/thread-self/comm", limit: 64)) ?? []
                    seen.withLock { $0[String(decoding: name.dropLast(), as: UTF8.self)] = niceness() }
                }
            }
        }
        for thread in threads { thread.join() }
        let expected = numbers.map { ("number-\($0)", $0 % 2 == 0 ? min(own + 10, 19) : own) }
        #expect(seen.withLock { $0 } == Dictionary(uniqueKeysWithValues: expected))
    }

    /// Of this thread alone, not of whoever began it.
    @Test func oneThatStandsBackIsNicer() throws {
        let own = niceness()
        let seen = Mutex<[Int32]>([])
        for standsBack in [false, true, false] {
            let thread = try Thread(named: "polite", standsBack: standsBack) { seen.withLock { $0.append(niceness()) } }
            thread.join()
        }
        #expect(seen.withLock { $0 } == [own, min(own + 10, 19), own])
        #expect(niceness() == own)
    }
}

private func niceness() -> Int32 { getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) }
