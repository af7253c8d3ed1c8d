internal import TransferModel

/// Collects what the summary at the end of a run needs to know of its tasks.
struct RunTally {
    /// Most causes that the summary prints; the report has all.
    private static let mostCauses = 20
    /// Most task ids beside a cause.
    private static let mostIDs = 10
    /// A failure printed at most this many lines ago is still on the screen, and is not repeated.
    private static let screenful = 20
    /// Most tasks that are named as sent again.
    private static let mostSentAgain = 3

    private var job: Job
    private let advice: RerunAdvice
    private let redactor: Redactor
    private var counts: [Int] = Array(repeating: 0, count: OutcomeLabel.inOrder.count)
    private var causes: RunCauses
    private(set) var finished = 0
    private var retries = 0
    private var times = RunTimes()
    /// Bytes of the bodies that were sent, and that were received with a status of success: an error's page, or what comes
    /// with the question for a password, is none that a person would count.
    private var wireBytes: Int64 = 0
    /// Body bytes moved by tasks that have ended.
    private(set) var moved: Int64 = 0
    /// Bytes of bodies that servers had already.
    private var unsent: Int64 = 0
    /// Downloads that fetched the very file that was there, because the server said nothing to ask for changes with.
    private var unprovable = 0
    /// Bytes of partial downloads that are left for the next run.
    private var kept: Int64 = 0
    /// Verified files of groups that were not published, which are left for the next run.
    private var keptMembers = 0
    /// Files that the publications of groups removed, in the order of the publications.
    private var removals: [(group: String, count: Int)] = []
    /// Tasks that had begun when `limits.timeout` ended the run, with how far each was.
    private var cut: [(task: TaskIndex, place: String)] = []
    /// Requests that succeeded and that a run of the whole job would send again: those of this process, and those of
    /// background sessions.
    private var (resentHere, resentThere) = (0, 0)
    /// `onFinish` commands of tasks that failed.
    private var failedHooks = 0
    /// Templates that became tasks.
    private var gone: Set<TaskIndex> = []
    /// Groups with members of ephemeral sessions.
    private let ephemeralGroups: Set<GroupIndex>

    init(job: Job, _ advice: RerunAdvice, _ redactor: Redactor) {
        self.job = job
        self.advice = advice
        self.redactor = redactor
        causes = RunCauses(job: job)
        let ephemeral =
            job.groups.isEmpty ? [] : job.tasks.filter { job.sessions[Int($0.session.raw)].kind == .ephemeral }
        ephemeralGroups = Set(ephemeral.compactMap(\.group))
    }

    /// Replaces a template by the tasks that it became.
    mutating func expand(_ template: TaskIndex, _ tasks: [TaskSpecification]) {
        job.tasks += tasks
        gone.insert(template)
        causes.grow(tasks)
    }

    /// Number of tasks by now.
    var taskCount: Int { job.tasks.count - gone.count }

    /// Number of tasks that did not succeed so far.
    var troubled: Int { causes.causes.reduce(causes.followerCount) { $0 + $1.tasks.count } }

    mutating func count(_ removed: RemovedFiles, of group: String) { removals.append((group, removed.count)) }

    mutating func countFailedHook() { failedHooks += 1 }

    mutating func count(_ attempt: AttemptRecord) {
        times.count(attempt)
        for transaction in attempt.transactions {
            wireBytes += transaction.requestBodyBytesSent
            if (200..<300).contains(transaction.status ?? 0) { wireBytes += transaction.responseBodyBytesReceived }
        }
    }

    /// Counts bytes of an attempt whose process died.
    mutating func countLost(_ bytes: Int64) { wireBytes += bytes }

    mutating func count(_ task: TaskIndex, _ record: TaskRecord, _ course: TaskAttempts, shownAt lines: Int) {
        finished += 1
        retries += max(0, course.attempts - 1)
        moved += course.moved
        if record.source == .unchanged { unsent += course.unsent }
        if ResentRequests.has(job, task, record) {
            if job.sessions[Int(job.tasks[Int(task.raw)].session.raw)].kind == .background {
                resentThere += 1
            } else {
                resentHere += 1
            }
        }
        times.count(record)
        if record.outcome == .succeeded, record.source == .network, record.changed == false, !course.hasValidator {
            unprovable += 1
        }
        let word = OutcomeLabel(record)
        counts[word.place] += 1
        guard word.isTrouble else { return }
        if RunStop(record) == .timeout, course.attempts > 0 { cut.append((task, Self.place(course))) }
        causes.add(task, record, saying: record.error.map { course.message(of: $0) }, shownAt: lines)
        // A failure other than a lost connection says that the bytes may be wrong.
        let mayGoOn = record.outcome != .failed || record.error?.name.saysNobodyAnswered == true
        guard mayGoOn, course.isResumable, isKept(task) else { return }
        if course.isVerified, job.tasks[Int(task.raw)].group != nil {
            keptMembers += 1
        } else if course.kept >= TaskAttempts.leastKept, !isCancelledByCommand(record) {
            kept += course.kept
        }
    }

    /// Whether `cancel` ended the task. It removes the partial file unless `--resumable` was given, which the record does
    /// not say.
    private func isCancelledByCommand(_ record: TaskRecord) -> Bool {
        record.error?.saysTheSame(as: .cancelledByCommand) == true
    }

    /// Whether the task's partial file stays for the next run: not that of a decompressed body, nor where the session
    /// keeps nothing.
    private func isKept(_ task: TaskIndex) -> Bool {
        let specification = job.tasks[Int(task.raw)]
        let values = specification.options.values
        return specification.type == .download && values.resume != .no
            && values.decompress == .no
            && job.sessions[Int(specification.session.raw)].kind != .ephemeral
            && specification.group.map { ephemeralGroups.contains($0) } != true
    }

    // MARK: The end

    /// Returns the lines: failures with causes, the command that runs them again, and one line of counts.
    mutating func summary(_ run: RunRecord, _ style: PlainProgress.Style, lines printed: Int) -> [String] {
        var lines = style.amount == .quiet ? [] : times.lines(run.duration)
        if troubled > 0 {
            let unknown = causes.attribute()
            lines.append("")
            let own = causes.causes.filter { $0.stop == nil }
            if !own.isEmpty || unknown > 0 { lines.append(heading(own, unknown)) }
            for cause in own.prefix(Self.mostCauses) {
                let isSeen = style.amount != .quiet && printed - cause.shownAt <= Self.screenful
                lines += told(cause, isSeen: isSeen)
            }
            let untold = own.count - Self.mostCauses
            if untold > 0 { lines.append("  and \(HumanText.count(untold, "other cause")), all in the report") }
            if unknown > 0 {
                lines.append("  \(HumanText.grouped(unknown)) more were skipped or cancelled; the report says why")
            }
            lines += causes.causes.flatMap { cause in cause.stop.map { stopped($0, cause) } ?? [] }
            if kept > 0 {
                lines.append("\(HumanText.size(kept)) of half-done downloads is kept: \(nextRun) resumes them.")
            }
            if keptMembers > 0 {
                lines.append(
                    "\(HumanText.count(keptMembers, "verified file")) of unpublished groups "
                        + "\(keptMembers == 1 ? "is" : "are") kept for a week: \(nextRun) fetches only the rest.")
            }
            if resent == 0, let opening {
                lines.append("Run the job again from \(opening).")
            } else {
                lines += again(style.report)
            }
        }
        if style.amount != .quiet {
            lines += removals.map { group, count in
                "\(HumanText.count(count, "file")) removed from the group `\(redactor.redacted(name: group))`: "
                    + "no task names \(count == 1 ? "it" : "them")."
            }
            if style.explainsUnchanged, unprovable > 0 {
                lines.append(
                    "\(HumanText.count(unprovable, "file")) came again without a change: the server sends neither `ETag` "
                        + "nor `Last-Modified`, so only fetching tells; a `checksum` would save it.")
            }
        }
        if let words = words(run.exitStatus) { lines.append("Exit status \(run.exitStatus): \(words).") }
        lines.append(closing(run, style.report))
        return lines
    }

    /// What the exit status says. All tasks may be well where the commands after them are not.
    private func words(_ status: Int) -> String? {
        if status == ExitStatus.incomplete.code, resent > 0 || isCountedFromStart, troubled > 0 {
            return "some tasks are put off; the command above goes on with them"
        }
        guard status == ExitStatus.failed.code, troubled == 0, failedHooks > 0 else { return ExitStatus.words(status) }
        return failedHooks == 1 ? "an `onFinish` command failed" : "\(failedHooks) `onFinish` commands failed"
    }

    /// `3 of 20 tasks failed, 12 were skipped or cancelled because of them:`
    private func heading(_ causes: [RunCauses.Cause], _ unknown: Int) -> String {
        let all = counts.reduce(0, +)
        let words = [("FAILED", "failed"), ("cancelled", "cancelled"), ("deferred", "deferred")]
        let own = words.map { word, verb in
            (causes.reduce(0) { $0 + ($1.record.outcome.rawValue == verb ? $1.tasks.count : 0) }, verb)
        }.filter { $0.0 > 0 }
        if all == 1, own.count == 1 { return "The task \(Self.verb(own[0])):" }
        let parts = own.enumerated().map { place, part in
            place == 0
                ? "\(HumanText.grouped(part.0)) of \(HumanText.count(all, "task")) \(Self.verb(part))"
                : "\(HumanText.grouped(part.0)) \(Self.verb(part))"
        }
        let start =
            parts.isEmpty ? "Not all of \(HumanText.count(all, "task")) succeeded" : parts.joined(separator: ", ")
        let followers = causes.reduce(unknown) { $0 + $1.followers }
        guard followers > 0 else { return start + ":" }
        return "\(start), \(HumanText.grouped(followers)) because of that:"
    }

    private static func verb(_ part: (count: Int, verb: String)) -> String {
        part.verb == "failed" ? "failed" : part.count == 1 ? "was \(part.verb)" : "were \(part.verb)"
    }

    /// `Stopped by a signal: 12 of 20 tasks are not done.` The tasks are not named: the same command continues with
    /// them.
    private func stopped(_ stop: RunStop, _ cause: RunCauses.Cause) -> [String] {
        let count = cause.tasks.count + cause.followers
        let all = HumanText.count(counts.reduce(0, +), "task")
        let rule = job.timeIsOver == .runTimedOut ? nil : job.policy?.limits.time
        let who = rule.map { " It is bounded by \(Policy.words)\($0.place)." }
        let advice = stop == .timeout ? who ?? " Raise it if they need longer." : ""
        let line =
            "\(stop.words): \(HumanText.grouped(count)) of \(all) \(count == 1 ? "is" : "are") not done.\(advice)"
        guard stop == .timeout, !cut.isEmpty else { return [line] }
        return [line, "  cut: \(cutTasks(of: count))"]
    }

    /// `big at 3.4 MiB of 7.4 MiB, b after 3 attempts; 9 had not begun`
    private func cutTasks(of count: Int) -> String {
        let named = cut.prefix(Self.mostIDs).map { "\(id($0.task)) \($0.place)" }.joined(separator: ", ")
        let more = cut.count > Self.mostIDs ? " and \(HumanText.grouped(cut.count - Self.mostIDs)) more" : ""
        let left = count - cut.count
        return named + more + (left > 0 ? "; \(HumanText.grouped(left)) had not begun" : "")
    }

    private static func place(_ course: TaskAttempts) -> String {
        if course.reached > 0 {
            let whole = course.expected.map { " of \(HumanText.size($0))" } ?? ""
            return "at \(HumanText.size(course.reached))\(whole)"
        }
        return course.attempts > 1 ? "after \(course.attempts) attempts" : "before its first byte"
    }

    private func told(_ cause: RunCauses.Cause, isSeen: Bool) -> [String] {
        let record = cause.record
        let ids = cause.tasks.sorted().map { id($0) }
        let isAlone = ids.count == 1
        var lines: [String] = []
        let reason = PeopleText.message(
            cause.message.map { isAlone ? $0 : TransferError.sharedMessage($0, of: record.error?.name) }
                ?? Explanation.withoutOutcome(record.explanation ?? "no reason is known"))
        let name = record.error.map { " (\($0.name.rawValue))" }
        let effort = Explanation.effort(record.explanation).map { isAlone ? ", \($0)" : ", the first \($0)" } ?? ""
        let who = isAlone ? ids[0] : HumanText.count(ids.count, "task")
        // Until when it was put off is what a person plans by, so that it is said here as well.
        let isKnown = isSeen && isAlone && !RunCauses.isFolded(record) && record.outcome != .deferred
        let what = isKnown ? "" : ": \(reason)"
        lines.append("  \(who) \(record.outcome.rawValue)\(name ?? "")\(effort)\(what)")
        if !isAlone {
            let more = ids.count > Self.mostIDs ? " and \(HumanText.grouped(ids.count - Self.mostIDs)) more" : ""
            lines.append("    " + ids.prefix(Self.mostIDs).joined(separator: ", ") + more)
        }
        lines += cause.consequences.map { "    \($0)" }
        // A deferred or cancelled task's reason says what helps as well.
        if record.outcome == .failed, let error = record.error {
            let task = job.tasks[Int(cause.tasks[0].raw)]
            let retry = task.options.values.policies.retry
            lines.append("    \(error.whatHelps(task.type, tasks: cause.tasks.count, retry: retry))")
        }
        return lines
    }

    private func id(_ task: TaskIndex) -> String { redactor.redacted(name: job.tasks[Int(task.raw)].id) }

    // MARK: Again

    /// When the window opens, or the time comes, that all unsuccessful tasks were put off for; `nil` if that is not so, or
    /// not one time.
    private var opening: String? {
        guard causes.causes.allSatisfy({ [.window, .earliestBegin].contains($0.record.deferral) }) else { return nil }
        let times = causes.causes.compactMap { Explanation.opening($0.record.explanation) }
        // How long it is until then differs from minute to minute.
        return Set(times.map { $0.prefix { $0 != "(" } }).count == 1 ? times.last : nil
    }

    /// Requests that the same command sends again. Where a signal ended the command, or tasks are left, background sessions
    /// go on, and know what they have sent.
    private var resent: Int {
        let goesOnThere = finished < taskCount || causes.causes.contains { $0.stop == .signal }
        return resentHere + (goesOnThere ? 0 : resentThere)
    }

    /// Whether a task was put off for a duration, which a run that does not wait never lets pass.
    private var isCountedFromStart: Bool {
        causes.causes.contains { Explanation.isCountedFromStart($0.record.explanation) }
    }

    /// What goes on where this run ended: the same command, unless that sends again what was sent.
    private var nextRun: String { resent == 0 ? "the same command" : "the next run" }

    /// Returns the command that goes on with a stopped run, or runs the unsuccessful tasks again: from the report where
    /// there is one, else by their ids. Before it stands what the whole job would send a second time.
    private func again(_ report: String?) -> [String] {
        let troubled = causes.troubledTasks
        var advice = advice
        if isCountedFromStart { advice.options.removeAll { $0 == "--no-wait" } }
        let isStopped = causes.causes.contains { $0.stop != nil }
        let sendsAgain = resent == 0 ? nil : "The same command sends \(HumanText.count(resent, "request")) again"
        if !advice.command.isEmpty {
            let words = advice.command.map { HumanText.shellWord(redactor.redacted($0)) }
            let command = "\(isStopped ? "Go on" : "Run it again"): transfer-run \(words.joined(separator: " "))"
            return [sendsAgain.map { "\($0)." }, command].compactMap(\.self)
        }
        // A stopped run is continued by the command that began it, unless that sends again what was sent.
        if let report, !isStopped || resent > 0, job.files.count == 1, job.file != "-" {
            let words = advice.words(job, report: report, hiding: redactor)
            let start =
                isStopped ? "Go on" : "Run only \(troubled.count == 1 ? "this task" : "these") again\(sendsTwice)"
            let command =
                "\(start)\(Self.given(words)): "
                + "transfer-run rerun \(words.map { HumanText.shellWord($0) }.joined(separator: " "))"
            return [isStopped ? sendsAgain.map { "\($0); `rerun` does only what is left." } : nil, command]
                .compactMap(\.self)
        }
        let chosen = isStopped ? nil : pattern(troubled)
        let words = advice.words(job, tasks: chosen, hiding: redactor)
        let command = words.map { HumanText.shellWord($0) }.joined(separator: " ")
        let given = Self.given(words, job.files.contains("-") ? ["the job on standard input"] : [])
        let what = chosen == nil ? "the job" : troubled.count == 1 ? "only this task" : "only these"
        let start = isStopped ? "Go on" : "Run \(what) again\(sendsTwice)"
        return [chosen == nil ? sendsAgain.map { "\($0)." } : nil, "\(start)\(given): transfer-run run \(command)"]
            .compactMap(\.self)
    }

    /// ` (sends post1, post2 again)`: the requests of failed tasks that their servers may have heard.
    private var sendsTwice: String {
        let heard = causes.causes.filter { $0.record.error?.mayHaveBeenHeard == true }.flatMap(\.tasks).sorted()
        if heard.isEmpty { return "" }
        let named = heard.prefix(Self.mostSentAgain).map { id($0) }.joined(separator: ", ")
        let more = heard.count - Self.mostSentAgain
        return " (sends \(named)\(more > 0 ? " and \(HumanText.grouped(more)) more" : "") again)"
    }

    /// Returns what has to be given beside a command's words: ", with secrets in the place of `***`".
    private static func given(_ words: [String], _ others: [String] = []) -> String {
        let masked = words.contains { $0.contains(RerunAdvice.mask) }
        let gaps = others + (masked ? ["secrets in the place of `***`"] : [])
        return gaps.isEmpty ? "" : ", with \(gaps.joined(separator: " and "))"
    }

    /// Returns ids or one pattern that choose exactly these tasks; `nil` where that takes too many words: running the
    /// whole job again costs at most one conditional request for each task that succeeded.
    private func pattern(_ tasks: [TaskIndex]) -> [String]? {
        let ids = tasks.map { id($0) }
        if ids.count <= 3 { return ids }
        guard var start = ids.first.map({ Array($0.utf8) }) else { return nil }
        var end = start
        for id in ids.dropFirst() {
            let bytes = Array(id.utf8)
            start = Array(zip(start, bytes).prefix { $0 == $1 }.map(\.0))
            end = Array(zip(end.reversed(), bytes.reversed()).prefix { $0 == $1 }.map(\.0).reversed())
        }
        let shortest = ids.map(\.utf8.count).min() ?? 0
        guard !start.isEmpty || !end.isEmpty, start.count + end.count <= shortest,
            let text = String(validating: start + [UInt8(ascii: "*")] + end, as: UTF8.self)
        else { return nil }
        let pattern = TaskPattern(text)
        let chosen = job.tasks.indices.reduce(0) { count, index in
            !gone.contains(TaskIndex(raw: UInt32(index))) && pattern.matches(job.tasks[index].id) ? count + 1 : count
        }
        return chosen == tasks.count ? [text] : nil
    }

    // MARK: The last line

    /// `20 ok · 4.0 GiB · 94.0 MiB/s · 42.8s · 15 retries · report: data.report.json`
    private func closing(_ run: RunRecord, _ report: String?) -> String {
        let outcomes = zip(OutcomeLabel.inOrder, counts).filter { $0.1 > 0 }
            .map { "\(HumanText.grouped($0.1)) \($0.0.lowercased())" }
        let rate = HumanText.rate(wireBytes, in: run.duration).map { "\(HumanText.size($0))/s" }
        let parts = [
            outcomes.isEmpty ? "no task" : outcomes.joined(separator: ", "),
            wireBytes > 0 ? HumanText.size(wireBytes) : nil,
            rate, unsent > 0 ? "\(HumanText.size(unsent)) not sent" : nil, HumanText.duration(run.duration),
            retries == 0 ? nil : retries == 1 ? "1 retry" : "\(HumanText.grouped(retries)) retries",
            report.map { "report: \($0)" },
        ]
        return parts.compactMap { $0 }.joined(separator: " · ")
    }
}
