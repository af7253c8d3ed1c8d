internal import Reporting
internal import TransferModel

/// Explains from a report how one task ended and where its time went: its waits, attempts and requests in their order.
package struct TaskExplanation {
    private let task: ReportedTask

    package init(_ task: ReportedTask) { self.task = task }

    /// Returns the whole text, one element for each line; the caller wraps the lines.
    package func lines() -> [String] {
        var lines = [title, "  \(SafeText.line("\(task.original.method) \(task.original.url)"))"]
        if let explanation = task.explanation {
            lines.append("  \(SafeText.line(explanation))")
        } else if let error = task.error {
            lines.append("  \(SafeText.line(error.message))")
        }
        lines.append("")
        lines += waits
        for attempt in task.attempts { lines += self.lines(of: attempt) }
        if !task.redirects.isEmpty {
            lines += ["", "Redirects"] + task.redirects.map(words)
        }
        if !task.challenges.isEmpty {
            lines += ["", "Challenges"] + task.challenges.map(words)
        }
        if !summary.isEmpty { lines += ["", summary] }
        return lines
    }

    private var title: String {
        var words = "\(SafeText.line(task.id)): \(task.outcome.rawValue)"
        if let duration = task.duration { words += " in \(HumanText.duration(duration))" }
        if task.tolerated { words += ", which `allowFailure` lets pass" }
        switch task.source {
        case .cache: words += ", from the cache"
        case .revalidated: words += ", the cached answer was still right"
        case .unchanged: words += ", the file was there already"
        case .resumed: words += ", resumed"
        case .local: words += ", without a network"
        case .network, nil: break
        }
        if task.pageFiles.count > 1 {
            words += ", \(HumanText.size(task.fileBytes ?? 0)) in \(task.pageFiles.count) files of its pages"
        } else if let file = task.file {
            words += ", \(HumanText.size(file.bytes)) in \(SafeText.line(file.path))"
        }
        return words
    }

    private var waits: [String] {
        told.map { "  waited \(HumanText.duration($0.time)) for \($0.words)" }
    }

    /// What the task waited for, and for how long; its wait for its group apart.
    private var told: [(words: String, time: TimeSpan)] {
        let staged = task.stagedTime
        let waits = task.waits.map { wait in
            (Explanation.words(wait.reason), wait.reason == .dependency ? wait.duration - staged : wait.duration)
        }
        return (waits + [(ReportedTask.stagedWords, staged)]).filter { $0.1 > .zero }
    }

    /// Returns the time since the task's creation, as `+12 s  `; empty if the report does not say when that was.
    private func moment(_ time: WallTime) -> String {
        guard let created = task.createdAt else { return "" }
        return "+" + HumanText.duration(time - created) + "  "
    }

    private func lines(of attempt: ReportedAttempt) -> [String] {
        var words = "\(moment(attempt.startedAt))attempt \(attempt.number)"
        if attempt.resumedFrom > 0 { words += " from \(HumanText.size(attempt.resumedFrom)) on" }
        words += ": \(attempt.outcome.rawValue) after \(HumanText.duration(attempt.duration))"
        if let error = attempt.error { words += ": \(SafeText.line(error.message)) (`\(error.name)`)" }
        var lines = [words]
        if let reason = attempt.startedOver { lines.append("    from the beginning: \(SafeText.line(reason))") }
        attempt.eachRequest { request, phases in lines += self.lines(of: request, phases) }
        if let pause = attempt.backoff {
            let bound = attempt.retriesUntil.flatMap { until in
                task.createdAt.map { ", to be tried until +\(HumanText.duration(until - $0)) at most" }
            }
            lines.append("    then a pause of \(HumanText.duration(pause))\(bound ?? "")")
        }
        return lines
    }

    private func lines(of request: TransactionMetrics, _ phases: RequestPhases) -> [String] {
        var words = "    \(request.method) \(SafeText.line(request.url))"
        words += request.status.map { " → \($0)" } ?? ", no answer"
        if request.fetchType == .localCache { return [words + ", from the cache"] }
        var facts: [String] = []
        if let name = request.networkProtocolName { facts.append(name) }
        if let address = request.remoteAddress {
            facts.append((request.isReusedConnection ? "over an open connection to " : "to ") + SafeText.line(address))
        }
        if request.requestBodyBytesSent > 0 { facts.append("\(HumanText.size(request.requestBodyBytesSent)) sent") }
        if request.responseBodyBytesReceived > 0 {
            facts.append("\(HumanText.size(request.responseBodyBytesReceived)) received")
        }
        if !facts.isEmpty { words += ", \(facts.joined(separator: ", "))" }
        let spent = RequestPhases.Phase.allCases.filter { phases.lengths[$0] > 0 }.map {
            "\(RunExplanation.words($0)) \(PageText.duration(seconds: Double(phases.lengths[$0]) / 1e9))"
        }
        return spent.isEmpty ? [words] : [words, "      " + spent.joined(separator: ", ")]
    }

    private func words(_ redirect: ReportedTask.Redirect) -> String {
        let stripped = redirect.stripped.isEmpty ? "" : ", without \(redirect.stripped.joined(separator: ", "))"
        return SafeText.line(
            "  \(redirect.status) from \(redirect.from) to \(redirect.to): \(redirect.action)\(stripped)")
    }

    private func words(_ challenge: ReportedTask.Challenge) -> String {
        let realm = challenge.realm.map { " for “\($0)”" } ?? ""
        return SafeText.line("  \(challenge.method) of \(challenge.host)\(realm): \(challenge.disposition)")
    }

    /// Smallest share of the task's time, in percent, that the summary mentions.
    private static let leastShare = 20

    /// A sentence about the largest part of the task's time; empty if no part is large enough.
    private var summary: String {
        guard let duration = task.duration, duration > .zero else { return "" }
        var parts: [(words: String, time: Int64)] = told.map { ("waiting for \($0.words)", $0.time.nanoseconds) }
        var phases: [RequestPhases.Phase: Int64] = [:]
        for attempt in task.attempts {
            attempt.eachRequest { _, lengths in
                for phase in RequestPhases.Phase.allCases { phases[phase, default: 0] += lengths.lengths[phase] }
            }
        }
        for phase in RequestPhases.Phase.allCases { parts.append((RunExplanation.words(phase), phases[phase] ?? 0)) }
        guard let most = parts.max(by: { $0.time < $1.time }), most.time > 0 else { return "" }
        let share = RunExplanation.percent(most.time, of: duration.nanoseconds)
        guard share >= Self.leastShare else { return "" }
        let (part, whole) = (HumanText.duration(TimeSpan(nanoseconds: most.time)), HumanText.duration(duration))
        return "The largest part of its time went into \(most.words): \(part) of \(whole), \(min(share, 100)) %."
    }
}
