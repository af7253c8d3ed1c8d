import CurlCore
import SystemIO
import Testing
import TransferModel

@Suite struct LoopWakerTests {
    /// Who posts something before the loop is open need not wait until something else happens.
    @Test func whoWakesALoopBeforeItIsOpenIsHeard() throws {
        let loop = CurlLoop(maximumConnections: 1, streamsPerConnection: 1)
        loop.waker.wake()
        try loop.open()
        let start = Clocks.instant()
        #expect(loop.turn(wait: .seconds(60)).isEmpty)
        #expect(Clocks.instant() < start + .seconds(30))
    }
}
