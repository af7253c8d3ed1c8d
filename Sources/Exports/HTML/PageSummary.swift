internal import TextFormats
internal import TransferModel

/// The outcome of a run in a few words.
struct PageSummary {
    private let head: ReportHead

    init(_ head: ReportHead) { self.head = head }

    /// The outcome, which names the class of the sign beside it.
    var outcome: PageOutcome {
        switch head.outcome {
        case .succeeded: .succeeded
        case .failed: .failed
        case .cancelled: .cancelled
        case .deferred, nil: .deferred
        }
    }

    var word: String {
        switch head.outcome {
        case .succeeded: "Succeeded"
        case .failed: "Failed"
        case .cancelled: "Stopped"
        case .deferred: "Put off"
        case nil: "Unfinished"
        }
    }

    /// The outcome in a few words, for the page's title.
    var short: String {
        let totals = head.totals
        let all = PageText.count(totals.tasks, "task")
        return switch head.outcome {
        case .succeeded: "\(all) succeeded"
        case .failed where totals.tasks == 1 && totals.failed == 1: "1 task failed"
        case .failed where totals.failed > 0: "\(PageText.grouped(totals.failed)) of \(all) failed"
        case .failed where failedHooks > 0:
            "\(PageText.grouped(totals.succeeded)) of \(all) succeeded, \(failedHooksWords)"
        default: "\(word.lowercased()), \(PageText.grouped(totals.succeeded)) of \(all) succeeded"
        }
    }

    var sentence: String {
        let totals = head.totals
        let all = PageText.count(totals.tasks, "task")
        var parts: [String] = []
        if head.outcome == .failed, totals.tasks == 1, totals.failed == 1 {
            parts.append("The task failed")
        } else if head.outcome == .failed, totals.failed > 0 {
            parts.append("\(PageText.grouped(totals.failed)) of \(all) failed")
        } else if totals.succeeded == totals.tasks, totals.tasks > 0 {
            parts.append(
                totals.tasks == 1
                    ? "The task succeeded" : totals.tasks == 2 ? "Both tasks succeeded" : "All \(all) succeeded")
        } else {
            parts.append("\(PageText.grouped(totals.succeeded)) of \(all) succeeded")
        }
        if totals.skipped > 0 {
            parts.append("\(PageText.grouped(totals.skipped)) \(totals.skipped == 1 ? "was" : "were") skipped")
        }
        if totals.cancelled > 0 {
            parts.append("\(PageText.grouped(totals.cancelled)) \(totals.cancelled == 1 ? "was" : "were") cancelled")
        }
        if totals.deferred > 0 {
            parts.append(
                "\(PageText.grouped(totals.deferred)) \(totals.deferred == 1 ? "is" : "are") left to the next run")
        }
        if failedHooks > 0 { parts.append(failedHooksWords) }
        return parts.joined(separator: ", ") + "."
    }

    private var failedHooks: Int { head.hooks.count { $0.hasFailed } }

    private var failedHooksWords: String {
        failedHooks == 1 ? "an onFinish command failed" : "\(failedHooks) onFinish commands failed"
    }

    /// Returns a time such as `2026-11-27T06:18:21.076Z`.
    static func date(_ time: WallTime) -> String {
        var bytes: [UInt8] = []
        RFC3339.append(time, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns a time such as `2026-11-27 06:18:21 UTC`.
    static func moment(_ time: WallTime) -> String {
        let date = date(time)
        guard date.utf8.count >= 19 else { return date }
        return date.prefix(10) + " " + date.dropFirst(11).prefix(8) + " UTC"
    }
}
