import BackgroundService
import Synchronization
import TestSupport
import Testing
import TransferModel

/// Nobody hears that something was done before the journal has it, and everybody does once it has.
struct ReceiptTests {
    private static func event(_ sequence: UInt64, isProgress: Bool) -> Event {
        Event(
            time: WallTime(nanoseconds: 0), sequence: sequence, session: nil, task: nil,
            kind: isProgress ? .receivedData(Event.Progress(bytes: 1, expected: nil)) : .taskResumed)
    }

    /// Any order of asking, telling and writing.
    @Test func answersComeWhenTheyAreTrue() {
        var random = Seeded("answersComeWhenTheyAreTrue")
        for _ in 0..<Rounds.scaled(2000) {
            let receipts = Receipts()
            let given = Mutex<[UInt64]>([])
            let written = Mutex<UInt64>(0)
            var (sequence, seen, journalled) = (UInt64(0), UInt64(0), [UInt64]())
            var asked: [UInt64] = []
            receipts.resume(after: 0)
            var queue: [Event] = []
            for _ in 0..<40 {
                switch random.below(4) {
                case 0:
                    sequence += 1
                    let isProgress = random.oneIn(3)
                    queue.append(Self.event(sequence, isProgress: isProgress))
                    if !isProgress { journalled.append(sequence) }
                case 1:
                    let number = sequence
                    let needed = journalled.last ?? 0
                    asked.append(number)
                    receipts.hold(upTo: number) { _ in
                        #expect(written.withLock { $0 } >= needed)
                        given.withLock { $0.append(number) }
                    }
                case 2:
                    seen = queue.last?.sequence ?? seen
                    receipts.consume(queue[...])
                    queue = []
                default:
                    guard let last = journalled.last(where: { $0 <= seen }) else { continue }
                    written.withLock { $0 = last }
                    receipts.written(upTo: last)
                }
            }
            receipts.consume(queue[...])
            if let last = journalled.last {
                written.withLock { $0 = last }
                receipts.written(upTo: last)
            }
            #expect(given.withLock { $0.count } == asked.count)
        }
    }

    @Test(arguments: [false, true]) func theEndAnswersAll(_ isWritten: Bool) {
        let receipts = Receipts()
        let answers = Mutex<[Bool]>([])
        receipts.resume(after: 0)
        receipts.hold(upTo: 5) { isWritten in answers.withLock { $0.append(isWritten) } }
        #expect(answers.withLock { $0.isEmpty })
        receipts.close(isWritten: isWritten)
        receipts.close(isWritten: !isWritten)
        receipts.hold(upTo: 9) { isWritten in answers.withLock { $0.append(isWritten) } }
        #expect(answers.withLock { $0 } == [isWritten, isWritten])
    }

    /// Who asks while nothing can be written is told so at once, and nobody after that.
    @Test func whoCannotBeServedIsToldAtOnce() {
        let receipts = Receipts()
        let answers = Mutex<[Bool]>([])
        let give: Receipts.Give = { isWritten in answers.withLock { $0.append(isWritten) } }
        receipts.resume(after: 0)
        receipts.hold(upTo: 1, give)
        receipts.holdUp()
        receipts.hold(upTo: 2, give)
        #expect(answers.withLock { $0 } == [false, false])
        receipts.consume([Self.event(1, isProgress: false), Self.event(2, isProgress: false)])
        receipts.written(upTo: 2)
        receipts.hold(upTo: 3, give)
        #expect(answers.withLock { $0 } == [false, false])
        receipts.consume([Self.event(3, isProgress: false)])
        receipts.written(upTo: 3)
        #expect(answers.withLock { $0 } == [false, false, true])
    }
}
