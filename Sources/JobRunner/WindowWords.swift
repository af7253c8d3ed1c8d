import TextFormats
import TransferModel

/// Says when the closed windows of a run's sessions open. Remembers each opening: looking for one takes longer than a
/// hundred thousand tasks that wait for it should each wait.
struct WindowWords {
    private var known: [SessionIndex: (window: WindowHours, opens: WallTime, since: WallTime, words: String)] = [:]

    /// Returns when the session's closed window opens; `nil` while it is open.
    mutating func opening(_ index: SessionIndex, of job: Job, at date: WallTime) -> String? {
        if let known = known[index], date < known.opens, date >= known.since, date - known.since < .seconds(60) {
            return known.words
        }
        guard let window = job.sessions[Int(index.raw)].window else { return nil }
        let hours = known[index]?.window ?? WindowHours(inItsZone: window)
        guard let opening = hours.opening(after: date) else { return nil }
        known[index] = (hours, opening.at, date, opening.words)
        return opening.words
    }
}
