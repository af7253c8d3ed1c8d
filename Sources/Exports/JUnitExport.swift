internal import TextFormats
internal import TransferModel

/// Writes a JUnit report: a suite for each session, a case for each task with its place in the job file.
///
/// A rejected response is a `failure`, a transfer that did not complete an `error`. Tasks that were skipped or
/// deferred, and failures that `allowFailure` lets pass, are `skipped`. The `onFinish` commands are a suite of their own.
struct JUnitExport: Export {
    let parts: ReportParts = []

    /// The cases of one session, kept until `finish(to:)` because the suite's counts stand before them.
    private struct Suite {
        let name: String
        var cases: [UInt8] = []
        var counts = Counts()
    }

    private struct Counts {
        var tests = 0
        var failures = 0
        var errors = 0
        var skipped = 0
        var time = TimeSpan.zero
    }

    private var head = ReportHead()
    private var suites: [Suite] = []
    private var places: [ExactText: Int] = [:]

    mutating func begin(_ head: ReportHead, to output: ExportOutput) {
        self.head = head
        for session in head.sessions { _ = place(of: session.name) }
    }

    private mutating func place(of session: String) -> Int {
        if let place = places[ExactText(session)] { return place }
        places[ExactText(session)] = suites.count
        suites.append(Suite(name: session))
        return suites.count - 1
    }

    mutating func add(_ task: ReportedTask, to output: ExportOutput) {
        let place = place(of: task.session ?? "default")
        suites[place].counts.tests += 1
        suites[place].counts.time = suites[place].counts.time + (task.duration ?? .zero)
        let suite = suites[place].name
        Self.write(to: &suites[place].cases) { xml in
            xml.open("    <testcase", [("name", task.id), ("classname", "\(head.job.name).\(suite)")])
            xml.attribute("time", Self.seconds(task.duration ?? .zero))
            if let line = task.line {
                xml.attribute("file", task.jobFile ?? head.job.file)
                xml.attribute("line", String(line))
            }
        }
        guard let verdict = Verdict(task) else { return suites[place].cases.append(contentsOf: "/>\n".utf8) }
        switch verdict {
        case .failure: suites[place].counts.failures += 1
        case .error: suites[place].counts.errors += 1
        case .skipped: suites[place].counts.skipped += 1
        }
        let why = task.error?.message ?? task.explanation ?? task.outcome.rawValue
        Self.write(to: &suites[place].cases) { xml in
            xml.text(">\n      <\(verdict.rawValue)")
            xml.attribute("message", why)
            if verdict == .skipped { return xml.text("/>\n    </testcase>\n") }
            xml.attribute("type", task.error?.name ?? task.outcome.rawValue)
            xml.text(">")
            let text = task.explanation ?? why
            // The text may name the URL itself.
            let isNamed = text.contains(task.current.url)
            xml.escaped(isNamed ? text : "\(task.current.method) \(task.current.url): \(text)")
            xml.text("</\(verdict.rawValue)>\n    </testcase>\n")
        }
    }

    /// Adds a suite of the `onFinish` commands, for a run may fail by them alone.
    private mutating func addHooks() {
        guard !head.hooks.isEmpty else { return }
        var suite = Suite(name: "onFinish")
        for hook in head.hooks {
            suite.counts.tests += 1
            suite.counts.time += hook.duration
            if hook.hasFailed { suite.counts.failures += 1 }
            Self.write(to: &suite.cases) { xml in
                let name = hook.task.map { "onFinish of \($0)" } ?? "onFinish"
                xml.open("    <testcase", [("name", name), ("classname", "\(head.job.name).onFinish")])
                xml.attribute("time", Self.seconds(hook.duration))
                guard hook.hasFailed else { return xml.text("/>\n") }
                xml.text(">\n      <failure")
                xml.attribute("message", "the command \(hook.end)")
                xml.attribute("type", "onFinish")
                xml.text(">")
                xml.escaped("\(hook.command.joined(separator: " ")): \(hook.end)")
                xml.text("</failure>\n    </testcase>\n")
            }
        }
        suites.append(suite)
    }

    mutating func finish(to output: ExportOutput) {
        addHooks()
        var all = Counts()
        for suite in suites {
            all.tests += suite.counts.tests
            all.failures += suite.counts.failures
            all.errors += suite.counts.errors
        }
        Self.write(to: &output.bytes) { xml in
            xml.text("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")
            xml.open("<testsuites", [("name", head.job.name), ("tests", String(all.tests))])
            xml.attribute("failures", String(all.failures))
            xml.attribute("errors", String(all.errors))
            if let duration = head.duration { xml.attribute("time", Self.seconds(duration)) }
            xml.text(">\n")
        }
        for suite in suites where suite.counts.tests > 0 {
            Self.write(to: &output.bytes) { xml in
                xml.open("  <testsuite", [("name", suite.name), ("tests", String(suite.counts.tests))])
                xml.attribute("failures", String(suite.counts.failures))
                xml.attribute("errors", String(suite.counts.errors))
                xml.attribute("skipped", String(suite.counts.skipped))
                xml.attribute("time", Self.seconds(suite.counts.time))
                if let start = head.startedAt { xml.attribute("timestamp", String(PageSummary.date(start).prefix(19))) }
                if !head.runner.host.isEmpty { xml.attribute("hostname", head.runner.host) }
                xml.text(">\n")
            }
            output.bytes += suite.cases
            output.write("  </testsuite>\n")
            output.drain()
        }
        output.write("</testsuites>\n")
        suites = []
    }

    /// The JUnit element of a task that did not succeed.
    private enum Verdict: String {
        case failure, error, skipped

        init?(_ task: ReportedTask) {
            switch task.outcome {
            case .succeeded: return nil
            case .skipped, .deferred: self = .skipped
            case .cancelled: self = .error
            case .failed where task.tolerated: self = .skipped
            // Errors with Apple's numbers come from the transport; transfer-run's own judge the response.
            case .failed: self = task.error?.code == nil ? .failure : .error
            }
        }
    }

    private static func seconds(_ span: TimeSpan) -> String {
        var json = JSONWriter()
        json.seconds(span)
        return String(decoding: json.bytes, as: UTF8.self)
    }

    private static func write(to bytes: inout [UInt8], _ body: (inout XMLText) -> Void) {
        var xml = XMLText()
        swap(&xml.bytes, &bytes)
        body(&xml)
        swap(&xml.bytes, &bytes)
    }
}

/// Text with the escapes of XML. Characters that XML forbids are shown as `\u{…}`, as on the page.
private struct XMLText {
    var bytes: [UInt8] = []

    mutating func text(_ text: String) { bytes.append(contentsOf: text.utf8) }
    mutating func escaped(_ text: String) { PageText.append(text, to: &bytes) }

    mutating func open(_ tag: String, _ attributes: [(name: String, value: String)]) {
        text(tag)
        for (name, value) in attributes { attribute(name, value) }
    }

    mutating func attribute(_ name: String, _ value: String) {
        text(" \(name)=\"")
        escaped(value)
        text("\"")
    }
}
