internal import Reporting
internal import TextFormats
internal import TransferModel

/// The plain HTML of the page, which is readable without scripts.
struct PageBody {
    private let page: HTMLPage
    private var head: ReportHead { page.head }
    private var totals: ReportHead.Totals { page.head.totals }

    private static let mostCauses = 50
    private static let mostHosts = 200

    init(page: HTMLPage) { self.page = page }

    static func mark(_ outcome: PageOutcome) -> String {
        """
        <svg class="mark \(outcome)" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">\
        <use href="#i-\(outcome)"/></svg>
        """
    }

    func write(to output: ExportOutput) {
        writeHeader(to: output)
        output.write("<main>\n")
        writeTotals(to: output)
        writeCauses(to: output)
        output.write(
            """
            <section id="timeline" aria-labelledby="timeline-title" hidden>
            <h2 id="timeline-title">Timeline</h2>
            </section>

            """)
        writeTasks(to: output)
        writeHosts(to: output)
        writeRun(to: output)
        let runner = head.runner
        output.write(
            """
            </main>
            <footer>transfer-run \(PageText.escaped(runner.version)) · libcurl \(PageText.escaped(runner.libcurl)) · \
            process \(runner.pid) on \(PageText.escaped(runner.host))</footer>

            """)
    }

    private func writeHeader(to output: ExportOutput) {
        let summary = PageSummary(head)
        output.write(
            """
            <a class="skip" href="#tasks">Skip to the tasks</a>
            <header>
            <p class="product">transfer-run report</p>
            <h1>\(PageText.escaped(head.job.name))</h1>
            <p class="outcome \(summary.outcome)">\(Self.mark(summary.outcome))<strong>\(summary.word)</strong> \
            <span>\(summary.sentence)</span></p>
            <p class="when">
            """)
        if let started = head.startedAt {
            let words = PageSummary.moment(started)
            output.write("<time id=\"started\" datetime=\"\(PageSummary.date(started))\">\(words)</time>")
        }
        let (file, host) = (PageText.escaped(head.job.file), PageText.escaped(head.runner.host))
        output.write("<span>\(file)</span><span>on \(host)</span>")
        if let status = head.exitStatus { output.write("<span>exit status \(status)</span>") }
        output.write("</p>\n</header>\n")
    }

    // MARK: Totals

    private func writeTotals(to output: ExportOutput) {
        let counts: [(PageOutcome, Int)] = [
            (.succeeded, totals.succeeded), (.failed, totals.failed), (.tolerated, totals.tolerated),
            (.cancelled, totals.cancelled), (.skipped, totals.skipped), (.deferred, totals.deferred),
        ].filter { $0.1 > 0 }
        output.write(
            """
            <section id="totals" aria-label="Totals">
            <svg class="share" width="100%" height="8" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
            """)
        var x = 0
        for (outcome, count) in counts {
            let width = 1000 * count / max(totals.tasks, 1)
            output.write("<rect class=\"\(outcome)\" x=\"\(x)\" width=\"\(max(4, width + 1))\" height=\"10\"/>")
            x += width
        }
        output.write("</svg>\n<ul class=\"outcomes\">")
        for (outcome, count) in counts {
            output.write("<li>\(Self.mark(outcome))<b>\(PageText.grouped(count))</b> \(outcome)</li>")
        }
        output.write("</ul>\n<dl class=\"figures\">")
        for (name, figure, remark) in figures() {
            let small = remark.isEmpty ? "" : "<small>\(remark)</small>"
            output.write("<div><dt>\(name)</dt><dd>\(figure)\(small)</dd></div>")
        }
        output.write("</dl>\n</section>\n")
    }

    private func figures() -> [(String, String, String)] {
        let seconds = head.duration?.seconds ?? 0
        var list: [(String, String, String)] = [("Duration", PageText.duration(seconds: seconds), "")]
        let rate = seconds > 0 ? Double(totals.bytesReceived) / seconds : 0
        let average = rate > 0 && rate < 1e18 ? "\(HumanText.size(Int64(rate)))/s on average" : ""
        list.append(("Received", HumanText.size(totals.bytesReceived), average))
        if totals.bytesSent > 0 { list.append(("Sent", HumanText.size(totals.bytesSent), "")) }
        if totals.bytesSaved > 0 || totals.unchanged > 0 || totals.cacheHits > 0 {
            let cached = totals.cacheHits > 0 ? ", \(PageText.grouped(totals.cacheHits)) from the cache" : ""
            list.append(
                (
                    "Not fetched again", HumanText.size(totals.bytesSaved),
                    "\(PageText.grouped(totals.unchanged)) unchanged\(cached)"
                ))
        }
        let retries = PageText.count(totals.retries, "retry", "retries")
        list.append(
            (
                "Attempts", PageText.grouped(totals.attempts),
                "\(retries), \(PageText.count(totals.redirects, "redirect"))"
            ))
        let opened = head.sessions.compactMap(\.connectionsOpened)
        if !opened.isEmpty {
            let reused = head.sessions.compactMap(\.connectionsReused).reduce(0, +)
            list.append(
                (
                    "Connections", PageText.grouped(opened.reduce(0, +)),
                    "reused \(PageText.count(reused, "time"))"
                ))
        }
        return list
    }

    // MARK: What did not succeed

    private func writeCauses(to output: ExportOutput) {
        let causes = page.causes.list()
        guard !causes.isEmpty else { return }
        output.write(
            """
            <section id="failures" aria-labelledby="failures-title">
            <h2 id="failures-title">What did not succeed <small>\(PageText.count(causes.count, "cause"))</small></h2>
            <div class="causes">

            """)
        for cause in causes.prefix(Self.mostCauses) { write(cause, to: output) }
        output.write("</div>\n")
        if causes.count > Self.mostCauses {
            writeMore(causes.count - Self.mostCauses, to: output)
        }
        output.write("</section>\n")
    }

    private func write(_ cause: FailureCauses.Cause, to output: ExportOutput) {
        let outcome = PageOutcome(cause.outcome)
        let count = cause.count > 1 ? "<b class=\"count\">\(PageText.count(cause.count, "task"))</b>" : ""
        let message = cause.message.isEmpty ? cause.error ?? outcome.word : cause.message
        output.write(
            """
            <article class="cause \(outcome)">
            <h3>\(Self.mark(outcome))<span>\(PageText.withCode(Self.shortened(message)))</span>\(count)</h3>

            """)
        if !cause.help.isEmpty { output.write("<p class=\"help\">\(PageText.withCode(cause.help))</p>\n") }
        let links = cause.tasks.map { task in
            "<a href=\"#task-\(task.number)\" data-task=\"\(task.number)\"><bdi>\(PageText.escaped(task.id))</bdi></a>"
        }
        let more = cause.count - cause.tasks.count
        let rest = more > 0 ? " <span>and \(PageText.grouped(more)) more</span>" : ""
        if !links.isEmpty { output.write("<p class=\"ids\">\(links.joined(separator: " "))\(rest)</p>\n") }
        let consequences = Self.consequences(of: cause)
        if !consequences.isEmpty { output.write("<p class=\"follow\">\(consequences)</p>\n") }
        output.write("</article>\n")
    }

    static func consequences(of cause: FailureCauses.Cause) -> String {
        func words(_ count: Int, _ one: String, _ several: String) -> String? {
            count == 0 ? nil : PageText.count(count, one, several)
        }
        return [
            words(cause.skipped, "task that needs it was skipped", "tasks that need it were skipped"),
            words(
                cause.unpublished, "other member of its group was not published",
                "other members of its group were not published"),
            words(cause.cancelled, "other task was cancelled by failFast", "other tasks were cancelled by failFast"),
        ].compactMap { $0 }.map { "\($0). " }.joined()
    }

    private static func shortened(_ message: String) -> String {
        let longest = 400
        guard message.unicodeScalars.count > longest else { return message }
        return String(String.UnicodeScalarView(message.unicodeScalars.prefix(longest))) + "…"
    }

    // MARK: Tables

    private func writeTasks(to output: ExportOutput) {
        let rows = page.rows.list
        let note =
            page.isWhole
            ? ""
            : """
            <p class="note">The run had \(PageText.count(totals.tasks, "task")): this page holds the \
            \(PageText.grouped(page.tasks.count)) that did not succeed, and counts all of them by host. The JSON report has \
            every one.</p>

            """
        output.write(
            """
            <section id="tasks" aria-labelledby="tasks-title">
            <h2 id="tasks-title">Tasks</h2>
            \(note)<noscript><p class="note">Without scripts the page shows \
            \(rows.count < totals.tasks ? "the first \(rows.count) tasks" : "the tasks"), those that did not succeed first. \
            With scripts it has a timeline, and tasks to sort, filter and open.</p></noscript>
            <div class="scroll"><table class="tasks"><thead><tr><th scope="col">Task</th><th scope="col">Outcome</th>\
            <th scope="col">Host</th><th scope="col" class="number">Status</th><th scope="col" class="number">Size</th>\
            <th scope="col" class="number">Time</th></tr></thead>
            <tbody>

            """)
        for row in rows { output.write(row) }
        output.write("</tbody></table></div>\n</section>\n")
    }

    private func writeHosts(to output: ExportOutput) {
        let hosts = page.hosts.hosts
        guard !hosts.isEmpty else { return }
        output.write(
            """
            <section id="hosts" aria-labelledby="hosts-title">
            <h2 id="hosts-title">Hosts</h2>
            <div class="scroll"><table><thead><tr><th scope="col">Host</th>
            """)
        let names = [
            "Tasks", "Failed", "Requests", "Retries", "Connections", "Received", "Half under", "95 % under", "Waited",
        ]
        for name in names { output.write("<th scope=\"col\" class=\"number\">\(name)</th>") }
        output.write("</tr></thead>\n<tbody>\n")
        for host in hosts.prefix(Self.mostHosts) { output.write(Self.row(host)) }
        output.write("</tbody></table></div>\n")
        if hosts.count > Self.mostHosts {
            writeMore(hosts.count - Self.mostHosts, to: output)
        }
        output.write("</section>\n")
    }

    private func writeMore(_ count: Int, to output: ExportOutput) {
        output.write("<p class=\"note\">\(PageText.grouped(count)) more are in the report.</p>\n")
    }

    private static func row(_ host: HostTally) -> String {
        let quantiles = host.quantiles()
        let cells = [
            PageText.grouped(host.tasks), PageText.grouped(host.failed), PageText.grouped(host.requests),
            PageText.grouped(host.retries), PageText.grouped(host.connections), HumanText.size(host.received),
            quantiles.map { PageText.duration(seconds: $0.half) } ?? "–",
            quantiles.map { PageText.duration(seconds: $0.most) } ?? "–",
            host.waited > 0 ? PageText.duration(seconds: host.waited) : "–",
        ]
        let columns = cells.map { "<td class=\"number\">\($0)</td>" }.joined()
        return "<tr><th scope=\"row\">\(PageText.escaped(host.origin))</th>\(columns)</tr>\n"
    }

    // MARK: The run

    private func writeRun(to output: ExportOutput) {
        output.write("<section id=\"run\" aria-labelledby=\"run-title\">\n<h2 id=\"run-title\">Run</h2>\n")
        output.write("<dl class=\"facts\">")
        for (name, text) in facts() {
            output.write("<div><dt>\(PageText.escaped(name))</dt><dd>\(PageText.escaped(text))</dd></div>\n")
        }
        output.write("</dl>\n</section>\n")
    }

    private func facts() -> [(String, String)] {
        var facts = [("Job file", head.job.file)]
        if let sum = head.job.sha256 { facts.append(("SHA-256 of it", sum)) }
        if let finished = head.finishedAt { facts.append(("Finished", PageSummary.moment(finished))) }
        for variable in head.job.variables { facts.append(("Variable \(variable.name)", variable.text)) }
        for session in head.sessions {
            var words = [session.configuration]
            if let identifier = session.identifier { words.append(identifier) }
            if session.reassociated { words.append("came back to an earlier run") }
            if session.insecure { words.append("no certificate was checked") }
            facts.append(("Session \(session.name)", words.joined(separator: ", ")))
        }
        for group in head.groups {
            let gone = group.removedCount.flatMap { $0 > 0 ? ", \(HumanText.count($0, "file")) removed" : nil }
            let state = group.published ? "published\(gone ?? "")" : "not published"
            let words = [state, group.error?.message].compactMap { $0 }
            facts.append(("Group \(group.name)", words.joined(separator: ": ")))
        }
        for hook in head.hooks {
            let words = hook.command.joined(separator: " ")
            let name = hook.task.map { "onFinish of \($0)" } ?? "onFinish"
            facts.append((name, "\(words): \(hook.end), \(PageText.duration(seconds: hook.duration.seconds))"))
        }
        return facts
    }
}
