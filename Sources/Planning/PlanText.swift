import Reporting
import TransferModel

extension JobPlan {
    /// Most tasks that are listed unless the user asks for all.
    private static let mostTasks = 40
    private static let mostHosts = 10

    /// Returns the plan for people, a summary first. `isWhole` lists all tasks and hosts, however many there are.
    package func lines(isWhole: Bool) -> [String] {
        let redactor = job.redactor
        var lines = [headline(redactor)]
        func section(_ title: String, _ rows: [String]) {
            guard !rows.isEmpty else { return }
            lines += ["", title] + rows
        }
        section("What a run would do", actionRows)
        section("Hosts", hostRows(isWhole))
        section("Sessions", sessionRows)
        section("Limits of the run", limitRows)
        section("Held by a policy to", policyNotes.map { "  \($0.what) (\(SafeText.line($0.place)))" })
        section("Room", diskRows(redactor))
        section("Files that groups remove", removalRows(redactor))
        if let duration { section("How long", ["  at least \(HumanText.duration(duration.span)): \(duration.basis)"]) }
        section("Not known", unknownRows.map { "  \($0)" })
        section("Tasks", taskRows(redactor, isWhole))
        return lines
    }

    private func headline(_ redactor: Redactor) -> String {
        let name = SafeText.line(redactor.redacted(name: job.name))
        let depth = steps.max() ?? 0
        let parts = [
            HumanText.count(job.tasks.count, "task"), hosts.isEmpty ? nil : HumanText.count(hosts.count, "host"),
            sum(totals.bytes, unknown: totals.unknownSizes).map { "\($0) to move" },
            depth > 1 ? "\(depth) steps" : nil,
        ]
        return "\(name): " + parts.compactMap { $0 }.joined(separator: " · ")
    }

    /// Returns `1.2 GiB` or `at least 1.2 GiB`; `nil` when nothing is known.
    private func sum(_ bytes: Int64, unknown: Int) -> String? {
        if unknown == 0 { return HumanText.size(bytes) }
        return bytes > 0 ? "at least \(HumanText.size(bytes))" : nil
    }

    private var actionRows: [String] {
        let rows = TaskOutlook.Action.allCases.compactMap { action -> [String]? in
            guard let count = totals.count[action], count > 0 else { return nil }
            let amounts = [
                totals.moving[action].flatMap { $0 > 0 ? HumanText.size($0) : nil },
                totals.kept[action].flatMap { $0 > 0 ? "\(HumanText.size($0)) kept" : nil },
                totals.there[action].flatMap { $0 > 0 ? "\(HumanText.size($0)) there" : nil },
            ]
            return [HumanText.grouped(count), action.words, amounts.compactMap { $0 }.joined(separator: ", ")]
        }
        return TextLayout.columns(rows, right: [0])
    }

    private func hostRows(_ isWhole: Bool) -> [String] {
        let shown = isWhole ? hosts[...] : hosts.prefix(Self.mostHosts)
        let rows = shown.map { host in
            let size = sum(host.bytes, unknown: host.unknownSizes) ?? "size unknown"
            return [
                "\(host.origin)", host.tasks == 0 ? "access tokens" : HumanText.count(host.tasks, "task"),
                host.tasks == 0 ? "" : size,
                "\(HumanText.count(host.connections, "connection")) at most",
            ]
        }
        return TextLayout.columns(Array(rows)) + more(hosts.count - shown.count, "host")
    }

    private var sessionRows: [String] {
        var counts = [Int](repeating: 0, count: job.sessions.count)
        for index in job.tasks.indices { counts[Int(job.tasks[index].session.raw)] += 1 }
        let rows = zip(job.sessions, counts).filter { $1 > 0 }.map { session, count in
            let kind = session.identifier.map { "background, `\($0)`" } ?? session.kind.rawValue
            let limits = [
                session.maximumConcurrentTasks.map { "\($0) tasks at a time" },
                session.requestsPerSecond.map { "\(Self.number($0.perSecond)) requests a second to a host" },
                session.bandwidth.map { Self.words($0) },
                session.window == nil ? nil : "only in its `window`",
                session.discretionary == true ? "only when it costs nothing" : nil,
            ]
            return [
                session.name, kind, HumanText.count(count, "task"), limits.compactMap { $0 }.joined(separator: ", "),
            ]
        }
        return rows.count == 1 && job.sessions.count == 1 && rows[0][3].isEmpty && job.sessions[0].kind == .default
            ? [] : TextLayout.columns(Array(rows))
    }

    private var limitRows: [String] {
        let limits = job.limits
        var rows = ["\(limits.maximumConcurrentTasks) tasks at a time"]
        if let bandwidth = limits.bandwidth { rows.append(Self.words(bandwidth)) }
        if let most = limits.maximumBytes { rows.append("\(HumanText.size(most)) of bodies, then it stops (75)") }
        if let timeout = limits.timeout { rows.append("cancelled after \(HumanText.duration(timeout))") }
        if let end = limits.finishBy {
            switch end {
            case .afterStart(let span): rows.append("stops cleanly after \(HumanText.duration(span))")
            case .at: rows.append("stops cleanly at its `finishBy`")
            }
        }
        if let free = limits.minimumFreeDisk { rows.append("\(HumanText.size(free)) of disk stay free") }
        for host in limits.hosts {
            let words = [
                host.maximumConnections.map { HumanText.count($0, "connection") },
                host.requestsPerSecond.map { "\(Self.number($0.perSecond)) requests a second" },
            ]
            rows.append("`\(host.pattern)`: \(words.compactMap { $0 }.joined(separator: ", "))")
        }
        return rows.map { "  \($0)" }
    }

    private static func words(_ bandwidth: Bandwidth) -> String {
        switch bandwidth {
        case .steady(let rate): "\(HumanText.size(rate))/s"
        case .byTimeOfDay: "bandwidth by time of day"
        }
    }

    private static func number(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? "\(Int64(value))" : "\(value)"
    }

    private func removalRows(_ redactor: Redactor) -> [String] {
        let rows = removals.map { removal in
            let count = removal.count.map { $0 == 0 ? "none" : HumanText.count($0, "file") } ?? "known in the run"
            return [SafeText.line(redactor.redacted(name: removal.group)), count]
        }
        return TextLayout.columns(rows)
    }

    private func diskRows(_ redactor: Redactor) -> [String] {
        disks.map { disk in
            let short = disk.needed > disk.free - (job.limits.minimumFreeDisk ?? 0) ? ": too little" : ""
            return "  \(SafeText.line(redactor.redacted(disk.folder))): \(HumanText.size(disk.needed)) to write, "
                + "\(HumanText.size(disk.free)) free\(short)"
        }
    }

    private var unknownRows: [String] {
        var rows = notes
        let unknown = totals.unknownSizes - (totals.count[.expand] ?? 0)
        if unknown > 0 {
            let hint = words.isEmpty ? " (`--online` asks the servers)" : ""
            rows.insert(
                "how much \(HumanText.count(unknown, "task")) \(unknown == 1 ? "moves" : "move")\(hint)",
                at: 0)
        }
        let asked = outlooks.count { $0.action == .revalidate || $0.action == .validateCache }
        if asked > 0, words.isEmpty {
            rows.append("whether \(HumanText.count(asked, "file")) changed at the server: the run asks")
        }
        return rows
    }

    // MARK: Tasks

    private func taskRows(_ redactor: Redactor, _ isWhole: Bool) -> [String] {
        let shown = isWhole ? outlooks.count : min(outlooks.count, Self.mostTasks)
        // Ordered by steps, so that what comes first stands first.
        var order = Array(outlooks.indices)
        if steps.contains(where: { $0 > 1 }) { order.sort { (steps[$0], $0) < (steps[$1], $1) } }
        let rows = order.prefix(shown).map { row($0, redactor) }
        return TextLayout.columns(rows, right: [2]) + more(outlooks.count - shown, "task")
    }

    private func row(_ index: Int, _ redactor: Redactor) -> [String] {
        let task = job.tasks[index]
        let outlook = outlooks[index]
        var remarks: [String] = []
        if let kept = outlook.bytesKept { remarks.append("\(HumanText.size(kept)) kept") }
        if let why = outlook.why { remarks.append(SafeText.line(why)) }
        if let signature = task.options.values.checksum?.signature {
            remarks.append("its checksum file signed by the minisign key \(signature.key)")
        }
        if !words.isEmpty, let word = words[index].remark(for: outlook) { remarks.append(word) }
        if let after = after(index) { remarks.append("after \(SafeText.line(redactor.redacted(name: after)))") }
        let size = outlook.size ?? (words.isEmpty ? nil : words[index].length)
        return [
            SafeText.line(redactor.redacted(name: task.id)), outlook.action.words,
            size.map { HumanText.size($0) } ?? "?", remarks.joined(separator: "; "),
        ]
    }

    /// What the task waits for, in words; `nil` for nothing.
    private func after(_ index: Int) -> String? {
        let task = job.tasks[index]
        let needs = task.needs.map { "`\(job.tasks[Int($0.raw)].id)`" }
        let groups = task.options.values.neededGroups.map { "the group `\($0)`" }
        let all = needs + groups
        guard let first = all.first else { return nil }
        return all.count <= 3 ? all.joined(separator: ", ") : "\(first) and \(all.count - 1) more"
    }

    private func more(_ count: Int, _ noun: String) -> [String] {
        count > 0 ? ["  and \(HumanText.count(count, "more \(noun)")): `-v` lists all"] : []
    }
}

extension ServerAnswer {
    /// Returns what the answer adds to the outlook, in a phrase.
    fileprivate func remark(for outlook: TaskOutlook) -> String? {
        switch result {
        case .failed(let why): return SafeText.line(why)
        case .notAsked(let why): return "not asked: \(why)"
        case .answered: break
        }
        switch isChanged {
        case true?: return "changed at the server"
        case false?: return "unchanged at the server"
        case nil: return nil
        }
    }
}

extension TaskOutlook.Action {
    /// The action in words for people.
    package var words: String {
        switch self {
        case .fetch: "fetch"
        case .resume: "go on where it stopped"
        case .revalidate: "ask whether it changed"
        case .verify: "compare the checksum, fetch if it differs"
        case .keep: "nothing, it is there"
        case .cache: "take from the cache"
        case .validateCache: "ask whether the cached response changed"
        case .send: "send"
        case .sendIfMissing: "ask, send if it is not there"
        case .resumeUpload: "go on sending"
        case .local: "copy, no server"
        case .expand: "become more tasks"
        case .refuse: "fail"
        }
    }
}
