/// The `explanation` of a task that did not succeed: what happened in plain words, and what would help.
package enum Explanation {
    /// Returns the explanation, or `nil` for a task that succeeded. `attempts` counts those that began; `triedFor` is the
    /// time over which they failed; `lacks` says what networks or power would have to be like; `retry` is the task's; `unmet` says which `when`
    /// passed the task over.
    package static func sentence(
        outcome: TaskOutcome, error: TransferError?, waits: [TaskRecord.Wait], attempts: Int,
        triedFor: TimeSpan? = nil, deferral: Deferral? = nil, lacks: String? = nil, type: TaskType? = nil,
        retry: RetryPolicy? = nil, unmet: String? = nil
    ) -> String? {
        switch outcome {
        case .succeeded: nil
        case .failed: join([failure(error, attempts, triedFor), error?.whatHelps(type, retry: retry)])
        case .cancelled:
            join([cancellation(error, attempts: attempts), error?.whatHelps(type) ?? ErrorName.runCancelled.whatHelps])
        case .skipped where error == nil && unmet != nil: unmet.map { "Skipped: \(ended($0))" }
        case .skipped: join([skip(error), (error?.name ?? .dependencyFailed).whatHelps])
        case .deferred:
            deferral.map { words($0, lacks) } ?? join([putOff(waits), "Run the job again when that is over."])
        }
    }

    private static func failure(_ error: TransferError?, _ attempts: Int, _ time: TimeSpan?) -> String {
        let reason = error.map { ended($0.message) } ?? "It failed."
        guard attempts > 1 else { return reason }
        guard let time else { return "Failed after \(attempts) attempts: \(reason)" }
        return "\(triedFor)\(words(time)), \(attempts) times: \(reason)"
    }

    private static let triedFor = "Tried for "

    /// Returns how long and how often a task was tried, in words that follow its name: `tried for 10 m 3 s, 24 times`; `nil`
    /// where its explanation does not begin so.
    package static func effort(_ sentence: String?) -> String? {
        guard let sentence, sentence.hasPrefix(triedFor), let end = sentence.firstIndex(of: ":") else { return nil }
        return "t" + String(sentence[..<end].dropFirst())
    }

    /// Returns a time in words: `0.4 s`, `45 s`, `10 m 3 s`, `2 h 5 m`.
    package static func words(_ time: TimeSpan) -> String {
        let tenths = (time.nanoseconds + 50_000_000) / 100_000_000
        if tenths < 100 { return tenths % 10 == 0 ? "\(tenths / 10) s" : "\(tenths / 10).\(tenths % 10) s" }
        let seconds = (tenths + 5) / 10
        if seconds < 60 { return "\(seconds) s" }
        let (first, second) = seconds < 3600 ? (seconds / 60, seconds % 60) : (seconds / 3600, seconds / 60 % 60)
        let units = seconds < 3600 ? ("m", "s") : ("h", "m")
        return second == 0 ? "\(first) \(units.0)" : "\(first) \(units.0) \(second) \(units.1)"
    }

    private static func cancellation(_ error: TransferError?, attempts: Int) -> String {
        let moment = attempts == 0 ? "Cancelled before it began" : "Cancelled"
        return error.map { "\(moment): \(ended($0.message))" } ?? "\(moment)."
    }

    private static func skip(_ error: TransferError?) -> String {
        error.map { "Skipped: \(ended($0.message))" } ?? "Skipped: a task it needs did not succeed."
    }

    /// The subject of sentences about a task that was put off in a run that does not wait: another task may be the
    /// reason.
    private static let whose = "it, or a task it needs or is published with,"

    /// Returns why a task was put off, recognised by the words of `sentence`: no other field of an event says so.
    static func deferral(_ sentence: String?) -> Deferral? {
        guard let sentence else { return nil }
        if sentence == formerly { return .maximumBytes }
        if isCountedFromStart(sentence) { return .earliestBegin }
        return Deferral.allCases.first { deferral in
            if words(deferral, nil) == sentence { return true }
            // What the task lacks stands between these two.
            let parts = words(deferral, "\n").split(separator: "\n")
            return parts.count == 2 && sentence.hasPrefix(parts[0]) && sentence.hasSuffix(parts[1])
        }
    }

    /// A sentence of an earlier version, which may stand in a journal.
    private static let formerly =
        "Put off: the run moved all the bytes of `limits.maximumBytes`. Run the job again to go on."

    private static let closed = "Put off: its `window` is closed until "
    private static let early = "Put off: its `earliestBegin` does not come until "

    /// Follows the time of an `earliestBegin` that is a duration: a later run that does not wait comes too early again.
    package static let fromEachStart = ", counted from each start"

    /// Whether a task was put off for an `earliestBegin` that is a duration, as its explanation says.
    package static func isCountedFromStart(_ sentence: String?) -> Bool {
        sentence.map { $0.hasPrefix(early) && $0.contains(fromEachStart) } ?? false
    }

    /// Returns until when a task was put off for its `window` or its `earliestBegin`, as its explanation says: `01:00
    /// Europe/Berlin (in 3 h 12 min)`; `nil` where it does not say so, or that differs from run to run.
    package static func opening(_ sentence: String?) -> String? {
        guard let sentence, !isCountedFromStart(sentence),
            let start = [closed, early].first(where: { sentence.hasPrefix($0) }),
            let end = sentence.firstRange(of: ", and")
        else { return nil }
        return String(sentence[..<end.lowerBound].dropFirst(start.count))
    }

    private static func words(_ deferral: Deferral, _ lacks: String?) -> String {
        switch deferral {
        case .finishBy: "Put off: the run's `limits.finishBy` came before it was done. Run the job again to go on."
        case .maximumBytes:
            "Put off: `limits.maximumBytes` leaves too little of this run for it. Run the job again to go on."
        case .suspended:
            "Put off: it, or a task it needs, is `suspended: true` and nothing else was left to do. Resume it, or take the key out."
        case .network:
            "Put off: \(waiting(.network, lacks)), and the run was told not to wait. Run it again when one is there."
        case .power:
            "Put off: \(waiting(.power, lacks)), and the run was told not to wait. Run it again then."
        case .window:
            lacks.map { "\(closed)\($0), and the run was told not to wait. Run it again then." }
                ?? "Put off: \(whose) has its `window` closed, and the run was told not to wait. Run it again inside the window."
        case .earliestBegin where lacks?.hasSuffix(fromEachStart) == true:
            "\(early)\(lacks ?? ""), and the run was told not to wait. Give a date, or run it without `--no-wait`."
        case .earliestBegin:
            lacks.map { "\(early)\($0), and the run was told not to wait. Run it again then." }
                ?? "Put off: \(whose) has an `earliestBegin` to come, and the run was told not to wait. Run it again after that."
        }
    }

    /// The clause that says what is waited for. With `lacks` the task itself waits, and not another one.
    private static func waiting(_ reason: WaitReason, _ lacks: String?) -> String {
        lacks.map { "it waits for \($0)" } ?? "\(whose) waits for \(words(reason))"
    }

    /// The last wait is the one that was not over when the run ended.
    private static func putOff(_ waits: [TaskRecord.Wait]) -> String {
        waits.last.map { "Put off: it waited for \(words($0.reason)) when the run ended." }
            ?? "Put off: the run ended before its turn came."
    }

    /// Returns what a task waits for, in words that follow "waits for".
    package static func words(_ reason: WaitReason) -> String {
        switch reason {
        case .dependency: "the tasks it needs"
        case .hostLimit: "a free connection to the host"
        case .sessionLimit: "a free place in its session (`maximumConcurrentTasks`)"
        case .runLimit: "a free place in the run (`limits.maximumConcurrentTasks`)"
        case .requestRate: "its turn under `requestsPerSecond` or the server's own limit"
        case .backoff: "the pause before the next attempt"
        case .retryAfter: "the time the server asked for with `Retry-After`"
        case .hostParked: "a host that asked for quiet or did not answer"
        case .network: "a network it may use"
        case .power: "mains power or a fuller battery"
        case .window: "the hours of its `window`"
        case .bandwidth: "bandwidth"
        case .earliestBegin: "the time in `earliestBegin`"
        case .suspended: "being resumed"
        case .credential: "a credential"
        case .flush: "its bytes to be flushed to the disk"
        case .processLimit: "a free descriptor or thread of the process (`ulimit -n`, `ulimit -u`)"
        }
    }

    /// Returns the sentence without its first word, for places that show the outcome already.
    package static func withoutOutcome(_ sentence: String) -> String {
        for word in ["Skipped: ", "Put off: ", "Cancelled: "] where sentence.hasPrefix(word) {
            return String(sentence.dropFirst(word.count))
        }
        return sentence
    }

    /// Returns the message with a full stop, so that a sentence can follow it.
    private static func ended(_ message: String) -> String {
        guard let last = message.last else { return "no reason is known." }
        return ".!?".contains(last) ? message : message + "."
    }

    private static func join(_ sentences: [String?]) -> String {
        sentences.compactMap { $0 }.joined(separator: " ")
    }
}
