package import TransferModel

/// A run to write to a journal, made from a seed, so that a test which knows the seed knows what should have been
/// written.
package struct JournalStory: Sendable {
    /// Identifier of the run; also used as the job's name.
    package let identifier: String
    /// Bytes of the input that the run is accepted with.
    package let input: [UInt8]
    /// Ids of the tasks that the run is accepted with.
    package let tasks: [String]
    /// Ids of the tasks that the run is extended with after half of its batches.
    package let later: [String]
    /// Bytes of the input that comes with the extension.
    package let laterInput: [UInt8]
    /// Number of batches of events that the run writes.
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

    /// Returns the next batch of events.
    package mutating func batch() -> [Event] {
        (0..<1 + events.random.below(30)).map { _ in events.next(tasks: tasks.count) }
    }

    /// Returns the events that the journal holds after `batches` batches: all of them except progress.
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
