import Synchronization
import Testing
import TransferModel

@Suite struct LateTextTests {
    @Test func itIsWorkedOutOnceAndNotBefore() {
        let count = Atomic(0)
        let text = LateText {
            count.add(1, ordering: .relaxed)
            return "a"
        }
        #expect(count.load(ordering: .relaxed) == 0)
        #expect([text.text, text.text] == ["a", "a"])
        #expect(count.load(ordering: .relaxed) == 1)
        #expect(LateText("b").text == "b")
    }
}
