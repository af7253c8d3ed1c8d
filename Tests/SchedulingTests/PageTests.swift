import Scheduling
import TestSupport
import Testing
import TransferModel

/// Tasks that fetch one page after the other.
struct PageTests {
    private static let cut = Verdict(.failed(TransferError(.networkConnectionLost, "cut")), sentSomething: true)

    @Test func eachPage_hasAllTriesOfTheTask() {
        var stage = Stage(plan(1) { $0.policies[0].retry.attempts = 2 })
        for page in 1...3 {
            stage.end(0, Self.cut)
            stage.turn()
            #expect(stage.ends[0] == nil, "page \(page) is tried again")
            #expect(stage.turn(after: .seconds(120)) == [0])
            stage.receive(.turnedPage(TaskIndex(raw: 0)))
        }
        stage.end(0, Self.cut)
        stage.turn(after: .zero)
        #expect(stage.turn(after: .seconds(120)) == [0])
        stage.end(0, Self.cut)
        stage.turn()
        #expect(stage.ends[0]?.outcome == .failed)
    }
}
