internal import Reporting
internal import TransferModel

/// Compares two reports, usually of two runs of one job: which tasks failed anew, became slower, larger or smaller, are
/// redirected elsewhere, or get another certificate.
package struct ReportDiff {
    /// The kinds of differences, as `--fail-on` names them.
    package enum Kind: String, CaseIterable, Sendable {
        case failed, slower, larger, smaller, redirected, certificate, missing, added, mended

        var title: String {
            switch self {
            case .failed: "Failed anew"
            case .slower: "Slower"
            case .larger: "Larger"
            case .smaller: "Smaller"
            case .redirected: "Redirected elsewhere"
            case .certificate: "Certificates"
            case .missing: "Not there any more"
            case .added: "New"
            case .mended: "Mended"
            }
        }
    }

    private struct Difference {
        let subject: String
        let words: String
        /// Orders the differences of one kind, largest first.
        let weight: Double
    }

    /// Fingerprints of the certificates that a server presented in each of the runs.
    private struct Certificates {
        var old: Set<String> = []
        var new: Set<String> = []
        /// Earliest expiry among the certificates of the new run.
        var expiry: WallTime?
    }

    /// The values of one task that are compared between the runs.
    private struct Side {
        let outcome: TaskOutcome
        let tolerated: Bool
        let isPassedOver: Bool
        let time: TimeSpan
        let bytes: Int64?
        let redirects: [String]

        init(_ task: ReportedTask) {
            (outcome, tolerated, isPassedOver) = (task.outcome, task.tolerated, task.isPassedOver)
            time = task.attempts.reduce(.zero) { $0 + $1.duration }
            bytes = task.fileBytes
            redirects = task.redirects.filter { $0.action == "followed" }.map { HostTallies.origin(of: $0.to) }
        }

        var isGood: Bool { outcome == .succeeded || tolerated || isPassedOver }
    }

    /// The parts of a task that the comparison reads.
    package static let parts: ReportParts = [.transactions, .detours]

    private let old: ReportHead
    private let new: ReportHead
    private var before: [ExactText: Side] = [:]
    /// Certificates by the server's origin.
    private var certificates: [String: Certificates] = [:]
    private var found: [Kind: [Difference]] = [:]

    /// A task counts as slower when its attempts took this many times as long and at least `slowerLeast` longer; less
    /// is chance.
    private static let slowerFactor = 1.5
    private static let slowerLeast = TimeSpan.seconds(1)
    private static let largerFactor = 1.1
    private static let smallerFactor = 0.5
    private static let sizeLeast: Int64 = 64 << 10
    private static let soon = TimeSpan.seconds(30 * 86_400)
    private static let mostShown = 20

    package init(old: ReportHead, new: ReportHead) { (self.old, self.new) = (old, new) }

    /// Records a task of the old report. Call it for all of them before the first task of the new one.
    package mutating func add(old task: ReportedTask) {
        before[ExactText(task.id)] = Side(task)
        note(task) { seen, print, _ in seen.old.insert(print) }
    }

    /// Compares a task of the new report with the old report's task of the same id, and records the differences.
    package mutating func add(new task: ReportedTask) {
        note(task) { seen, print, expiry in
            seen.new.insert(print)
            if let expiry { seen.expiry = min(seen.expiry ?? expiry, expiry) }
        }
        let now = Side(task)
        let formerly = before.removeValue(forKey: ExactText(task.id))
        if !now.isGood, formerly?.isGood ?? true, now.outcome != .deferred { addFailure(task) }
        guard let formerly else { return add(.added, task.id, now.outcome.rawValue, weight: 0) }
        if now.isGood, !formerly.isGood { add(.mended, task.id, "was \(formerly.outcome.rawValue)", weight: 0) }
        guard now.outcome == .succeeded, formerly.outcome == .succeeded else { return }
        compareTimes(task.id, formerly, now)
        compareSizes(task.id, formerly, now)
        if now.redirects != formerly.redirects, !now.redirects.isEmpty {
            let before = formerly.redirects.isEmpty ? "" : ", formerly to \(formerly.redirects.joined(separator: ", "))"
            add(.redirected, task.id, "to \(now.redirects.joined(separator: ", "))\(before)", weight: 0)
        }
    }

    /// Records the tasks that the new report lacks, and changed or expiring certificates. Call it after the last task.
    package mutating func finish() {
        for (id, side) in before { add(.missing, id.text, "it \(Self.past(side.outcome))", weight: 0) }
        before = [:]
        for (server, seen) in certificates {
            let isNew = !seen.old.isEmpty && !seen.new.subtracting(seen.old).isEmpty
            if isNew { add(.certificate, server, "it shows one that it did not show before", weight: 0) }
            if let words = ending(seen) { add(.certificate, server, words, weight: 1) }
        }
    }

    /// Returns a sentence if a certificate expires within 30 days of the new run, else `nil`.
    private func ending(_ seen: Certificates) -> String? {
        guard let expiry = seen.expiry, let now = new.finishedAt ?? new.startedAt else { return nil }
        let left = expiry.nanoseconds - now.nanoseconds
        guard left < Self.soon.nanoseconds else { return nil }
        if left < 0 { return "it ended at \(PageSummary.moment(expiry))" }
        return
            "it ends in \(PageText.count(Int(left / (86_400 * 1_000_000_000)), "day")), at \(PageSummary.moment(expiry))"
    }

    /// Returns whether differences of this kind were found.
    package func contains(_ kind: Kind) -> Bool { !(found[kind] ?? []).isEmpty }

    // MARK: Comparing

    private mutating func note(
        _ task: ReportedTask, _ put: (inout Certificates, _ print: String, _ expiry: WallTime?) -> Void
    ) {
        for attempt in task.attempts {
            for request in attempt.transactions {
                guard let print = request.tlsFingerprint else { continue }
                let server = HostTallies.origin(of: request.url)
                put(&certificates[server, default: Certificates()], print, request.tlsExpiry)
            }
        }
    }

    private mutating func addFailure(_ task: ReportedTask) {
        let why = task.error.map { "\($0.message) (`\($0.name)`)" } ?? task.explanation ?? task.outcome.rawValue
        add(.failed, task.id, why, weight: task.outcome == .failed ? 1 : 0)
    }

    private mutating func compareTimes(_ id: String, _ formerly: Side, _ now: Side) {
        let more = now.time - formerly.time
        guard more >= Self.slowerLeast, now.time.seconds >= formerly.time.seconds * Self.slowerFactor else { return }
        let words = "\(HumanText.duration(formerly.time)) → \(HumanText.duration(now.time))"
        add(.slower, id, words, weight: more.seconds)
    }

    private mutating func compareSizes(_ id: String, _ formerly: Side, _ now: Side) {
        guard let before = formerly.bytes, let after = now.bytes else { return }
        let words = "\(HumanText.size(before)) → \(HumanText.size(after))"
        let (small, large) = (Double(before), Double(after))
        if after - before >= Self.sizeLeast, large >= small * Self.largerFactor {
            add(.larger, id, words, weight: large - small)
        } else if before - after >= Self.sizeLeast, large <= small * Self.smallerFactor {
            add(.smaller, id, words, weight: small - large)
        }
    }

    private mutating func add(_ kind: Kind, _ subject: String, _ words: String, weight: Double) {
        found[kind, default: []].append(Difference(subject: subject, words: words, weight: weight))
    }

    // MARK: Telling

    /// Returns the whole text, one element for each line; the caller wraps the lines.
    package func lines() -> [String] {
        var lines = head
        for kind in Kind.allCases {
            guard let differences = found[kind] else { continue }
            let sorted = differences.sorted { ($1.weight, $0.subject) < ($0.weight, $1.subject) }
            lines += ["", "\(kind.title) (\(PageText.grouped(sorted.count)))"]
            lines += sorted.prefix(Self.mostShown).map { SafeText.line("  \($0.subject): \($0.words)") }
            if sorted.count > Self.mostShown {
                lines.append("  and \(PageText.grouped(sorted.count - Self.mostShown)) more")
            }
        }
        if found.isEmpty { lines += ["", "Nothing else changed."] }
        return lines
    }

    private var head: [String] {
        func moment(_ head: ReportHead) -> String { head.startedAt.map { PageSummary.moment($0) } ?? "unknown" }
        var lines = ["\(SafeText.line(new.job.name)): \(moment(old)) → \(moment(new))"]
        if !old.job.name.isExactly(new.job.name) {
            lines.append("  the old report is of another job, \(SafeText.line(old.job.name))")
        }
        lines.append("  outcome: \(Self.outcome(old)) → \(Self.outcome(new))")
        if let before = old.duration, let after = new.duration {
            let change = Self.change(before.seconds, after.seconds)
            lines.append("  time: \(HumanText.duration(before)) → \(HumanText.duration(after))\(change)")
        }
        let (before, after) = (old.totals, new.totals)
        lines.append("  tasks: \(PageText.grouped(before.tasks)) → \(PageText.grouped(after.tasks))")
        let change = Self.change(Double(before.bytesReceived), Double(after.bytesReceived))
        let (less, more) = (HumanText.size(before.bytesReceived), HumanText.size(after.bytesReceived))
        lines.append("  received: \(less) → \(more)\(change)")
        if before.retries + after.retries > 0 {
            lines.append("  retries: \(PageText.grouped(before.retries)) → \(PageText.grouped(after.retries))")
        }
        return lines
    }

    private static func outcome(_ head: ReportHead) -> String { head.outcome?.rawValue ?? "unfinished" }

    /// Returns the change in percent, as ` (+12 %)`; empty if there is nothing to compare with or no change.
    private static func change(_ before: Double, _ after: Double) -> String {
        guard before > 0 else { return "" }
        let percent = ((after - before) / before * 100).rounded()
        guard percent != 0, abs(percent) < 1e9 else { return "" }
        return " (\(percent > 0 ? "+" : "−")\(PageText.grouped(Int(abs(percent)))) %)"
    }

    private static func past(_ outcome: TaskOutcome) -> String {
        switch outcome {
        case .succeeded, .failed: outcome.rawValue
        case .cancelled, .skipped, .deferred: "was \(outcome.rawValue)"
        }
    }
}
