package import TransferModel

/// A run for the journal, made of its seed: whoever knows that knows what was to be written.
package struct JournalStory: Sendable {
    package let identifier: String
    package let input: [UInt8]
    package let tasks: [String]
    /// With which it is extended after half of its batches, and what it is given then.
    package let later: [String]
    package let laterInput: [UInt8]
    package let batches: Int
    private var events: RandomEvents

    package init(seed: UInt64, secrets: [String] = []) {
        var random = Seeded(seed: seed)
        identifier = "org.example.\(seed)"
        input = random.bytes(1 + random.below(20_000))
        tasks = (0..<1 + random.below(40)).map { "t\($0)" }
        later = (0..<1 + random.below(40)).map { "later\($0)" }
        laterInput = random.bytes(1 + random.below(3_000))
        batches = 1 + random.below(20)
        events = RandomEvents(Seeded(seed: random.next()), secrets: secrets)
    }

    package mutating func batch() -> [Event] {
        (0..<1 + events.random.below(30)).map { _ in events.next(tasks: tasks.count) }
    }

    /// All that is in the journal once so many batches are.
    package func journalled(_ batches: Int) -> [Event] {
        var story = self
        return (0..<batches).flatMap { _ in story.batch() }.filter { event in
            switch event.kind {
            case .receivedData, .sentBodyData: false
            default: true
            }
        }
    }
}
