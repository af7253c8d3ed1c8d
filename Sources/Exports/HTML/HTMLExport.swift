internal import CReportPage
internal import Digests
internal import TextFormats
internal import TransferModel

/// Writes a report as one HTML page: outcome, totals, what failed and why, a timeline and a table of tasks.
///
/// The page loads nothing. Totals, failures and the first tasks are plain HTML; the rest is data in the page that its
/// script shows. Up to `mostWhole` tasks are in the page with every request; of a larger run it has the tasks that did
/// not succeed, and counts of all tasks by host.
package struct HTMLExport: Export {
    /// Every part of a task.
    package let parts = ReportParts.all
    private let mostWhole: Int
    private let mostFailures: Int

    private var page: HTMLPage?
    private var number = 0

    /// `mostFailures`: number of tasks that did not succeed in the page of a run with more than `mostWhole` tasks.
    package init(mostWhole: Int = 20_000, mostFailures: Int = 2_000) {
        self.mostWhole = mostWhole
        self.mostFailures = mostFailures
    }

    /// Begins the page; nothing is written before `finish(to:)`.
    package mutating func begin(_ head: ReportHead, to output: ExportOutput) {
        page = HTMLPage(head, isWhole: head.totals.tasks <= mostWhole)
    }

    /// Adds a task to the page.
    package mutating func add(_ task: ReportedTask, to output: ExportOutput) {
        page?.add(task, number: number, mostFailures: mostFailures)
        number += 1
    }

    /// Writes the whole page.
    package mutating func finish(to output: ExportOutput) {
        page?.write(to: output)
        page = nil
    }
}

/// The content of the page, collected task by task until it is written.
struct HTMLPage {
    let head: ReportHead
    /// Whether every task is in the page with all its requests.
    let isWhole: Bool
    let window: RunWindow
    private(set) var hosts: HostTallies
    private(set) var causes: FailureCauses
    private(set) var tasks: PageTasks
    private(set) var rows = TaskRows()

    init(_ head: ReportHead, isWhole: Bool) {
        self.head = head
        self.isWhole = isWhole
        window = RunWindow(head)
        causes = FailureCauses(head.hooks)
        hosts = HostTallies(window, countsCourse: !isWhole)
        tasks = PageTasks(window, isWhole: isWhole)
    }

    mutating func add(_ task: ReportedTask, number: Int, mostFailures: Int) {
        hosts.add(task)
        causes.add(task, number: number)
        if rows.wants(task) {
            rows.add(task, number: number, host: hosts.hosts[hosts.place(ofURL: task.original.url)].origin)
        }
        if isWhole || task.outcome != .succeeded && tasks.count < mostFailures {
            tasks.add(task, number: number, hosts: &hosts)
        }
    }

    func write(to output: ExportOutput) {
        let (style, script) = (ReportPage.style, ReportPage.script)
        output.write(
            """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta http-equiv="Content-Security-Policy" content="\(Self.policy(style: style, script: script))">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>\(PageText.escaped("\(head.job.name): \(PageSummary(head).short)"))</title>
            <style>
            """)
        output.bytes += style
        output.write("</style>\n</head>\n<body>\n")
        output.bytes += ReportPage.symbols
        PageBody(page: self).write(to: output)
        output.write("<script type=\"application/json\" id=\"data\">")
        writeData(to: output)
        output.write("</script>\n<script>")
        output.bytes += script
        output.write("</script>\n</body>\n</html>\n")
    }

    private func writeData(to output: ExportOutput) {
        output.write("{\"version\":1,\"whole\":\(isWhole),\"start\":\(window.start / 1_000_000),\"duration\":")
        PageColumn.append(tenths: RunWindow.tenths(ofSpan: window.length), to: &output.bytes)
        output.write(",\"count\":\(head.totals.tasks),\n\"insecure\":[")
        list(head.sessions.filter(\.insecure), to: output) { PageText.append(json: $0.name, to: &output.bytes) }
        output.write("],\n")
        tasks.write(to: &output.bytes)
        output.drain()
        output.write("\"hosts\":[")
        list(hosts.hosts, to: output) { PageText.append(json: $0.origin, to: &output.bytes) }
        output.write("]")
        if !isWhole { writeCourses(to: output) }
        output.write("}\n")
    }

    private func writeCourses(to output: ExportOutput) {
        output.write(",\n\"series\":{\"step\":")
        PageColumn.append(
            tenths: RunWindow.tenths(ofSpan: window.length / Int64(HostActivity.steps)), to: &output.bytes)
        output.write(",\"hosts\":[")
        list(hosts.hosts, to: output) { host in
            guard let course = host.course else { return }
            output.write("\n{\"host\":")
            PageText.append(json: host.origin, to: &output.bytes)
            output.write(
                """
                ,"requests":\(host.requests),"failed":\(host.failed),"received":\(host.received),\
                "connections":\(host.connections),"phases":[
                """)
            list(RequestPhases.Phase.allCases, to: output) { phase in
                let numbers = course.occupancy(phase)
                output.write("[")
                list(numbers, to: output) { PageColumn.append($0, to: &output.bytes) }
                output.write("]")
            }
            output.write("],\"bytes\":[")
            list(course.bytesMoved(), to: output) { PageColumn.append($0, to: &output.bytes) }
            output.write("]}")
            output.drain()
        }
        output.write("]}")
    }

    private func list<Element>(_ elements: [Element], to output: ExportOutput, _ write: (Element) -> Void) {
        for (place, element) in elements.enumerated() {
            if place > 0 { output.bytes.append(UInt8(ascii: ",")) }
            write(element)
        }
    }

    /// Returns the page's own content security policy: only this style and this script apply, and nothing is loaded.
    private static func policy(style: [UInt8], script: [UInt8]) -> String {
        func source(_ bytes: [UInt8]) -> String { "'sha256-\(Base64.encode(Checksum.mark(of: bytes).bytes))'" }
        return [
            "default-src 'none'", "style-src \(source(style))", "script-src \(source(script))", "base-uri 'none'",
            "form-action 'none'",
        ].joined(separator: "; ")
    }
}

/// The fixed parts of the page, from the files in `CReportPage/page`.
enum ReportPage {
    static var style: [UInt8] { copy(tr_page_style) }
    static var script: [UInt8] { copy(tr_page_script) }
    static var symbols: [UInt8] { copy(tr_page_symbols) }

    private static func copy(_ part: (UnsafeMutablePointer<Int>?) -> UnsafePointer<UInt8>?) -> [UInt8] {
        var length = 0
        let start = part(&length)
        return Array(UnsafeBufferPointer(start: start, count: length))
    }
}
