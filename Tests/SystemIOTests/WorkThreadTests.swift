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
}
