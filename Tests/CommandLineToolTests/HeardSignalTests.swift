import CommandLineTool
import Testing
import TransferModel

@Suite struct HeardSignalTests {
    private static let (hangUp, interrupt, terminate): (Int32, Int32, Int32) = (1, 2, 15)

    @Test(
        arguments: [
            // `timeout` tells the command and then its group.
            ([(terminate, 0), (terminate, 1)], [.first, .companion]),
            ([(terminate, 0), (terminate, 1), (terminate, 150)], [.first, .companion, .second]),
            ([(interrupt, 0), (interrupt, 100)], [.first, .second]),
            ([(interrupt, 0), (terminate, 1)], [.first, .second]),
            ([(hangUp, 0), (hangUp, 500)], [.first, .companion]),
            ([(hangUp, 0), (terminate, 500), (terminate, 900)], [.first, .companion, .second]),
            ([(terminate, 0), (hangUp, 500), (terminate, 900)], [.first, .companion, .second]),
        ] as [([(Int32, Int64)], [HeardSignal.Meaning])])
    func whatASignalMeans(_ signals: [(Int32, Int64)], _ meanings: [HeardSignal.Meaning]) {
        let heard = HeardSignal()
        let start = Instant(nanoseconds: 5_000_000_000)
        #expect(signals.map { heard.signalReceived($0.0, at: start + .milliseconds($0.1)) } == meanings)
    }
}
