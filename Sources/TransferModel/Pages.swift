/// `next`: how a task finds the URL of each page after the first, and how many pages it has at most.
package struct NextPage: Hashable, Sendable {
    /// What the next page's URL is made of.
    package enum Way: Hashable, Sendable {
        /// The place of the answer that names the URL: a `Link`, a header or a JSON path.
        case url(Capture.Source)
        /// The place of the answer that holds a cursor, and the parameter of the first URL that it becomes.
        case cursor(Capture.Source, parameter: String)
        /// A parameter of the first URL that counts up, also in the first request.
        case count(PageCount)
    }
    /// What the next page's URL is made of.
    package var way: Way
    /// Most pages of the task.
    package var maximum: Int
    /// Whether a task with more pages ends well with the last one that it may have; else it fails.
    package var stopsAtMaximum: Bool

    /// Most pages where the job says nothing.
    package static let standardMaximum = 100

    package init(_ way: Way, maximum: Int = NextPage.standardMaximum, stopsAtMaximum: Bool = false) {
        self.way = way
        self.maximum = maximum
        self.stopsAtMaximum = stopsAtMaximum
    }

    /// Whether a number makes the URLs, which answers do not name.
    package var isCounted: Bool { if case .count = way { true } else { false } }

    /// Returns the URL of the first page: the task's own, with the counted parameter if there is one.
    package func first(_ url: ResourceURL) -> ResourceURL {
        guard case .count(let count) = way else { return url }
        return url.setting(query: count.parameter, to: "\(count.value(ofPage: 1))")
    }
}

/// `next: { page: … }`: a parameter of the URL's query that counts pages or rows.
package struct PageCount: Hashable, Sendable {
    /// What an answer is like after which there is no further page.
    package enum End: Hashable, Sendable {
        /// The JSON path leads to nothing, or to `null`, `false` or an empty text alone.
        case json(String)
        /// The answer holds fewer rows than this.
        case rowsBelow(Int)
    }
    /// Name of the parameter.
    package var parameter: String
    /// Its value in the first request.
    package var from: Int
    /// How much it grows from page to page.
    package var step: Int
    /// When the last page was reached.
    package var until: End

    package init(parameter: String, from: Int = 1, step: Int = 1, until: End) {
        self.parameter = parameter
        self.from = from
        self.step = step
        self.until = until
    }

    /// Returns the parameter's value in the request for a page, counted from 1.
    package func value(ofPage number: Int) -> Int { from + step * (number - 1) }
}

extension Capture {
    /// The name under which the next page's URL or cursor is taken from an answer; no capture of a job can have it.
    package static let nextPage = "@next"

    /// What takes the next page's URL or cursor from an answer, or finds out whether there are more pages. That there is
    /// none is no fault: it was the last page.
    package init(_ next: NextPage) {
        let source: Source =
            switch next.way {
            case .url(let source), .cursor(let source, _): source
            case .count(let count): .more(count.until)
            }
        self.init(name: Self.nextPage, source: source)
    }

    /// Whether it finds the next page.
    package var isNextPage: Bool { name == Self.nextPage }
}

extension TaskOptions.Values {
    /// Whether the task's result is taken out of an answer, so that neither a file that is there nor a 304 will do.
    package var needsAnswer: Bool { !captures.isEmpty || next != nil }

    /// Whether other tasks get a list for the capture: one of all values at a path, or one of each page.
    package func givesList(_ capture: Capture) -> Bool { capture.source.isList || next != nil }
}

/// A page that a task with `next` has fetched.
package final class PageRecord: Sendable {
    /// The page's number, from 1.
    package let number: Int
    /// URL of its last request, after redirects.
    package let url: String
    /// Status of its answer; `nil` where there are none.
    package let status: Int?
    /// Its file; `nil` of a data task.
    package let file: FileRecord?
    /// The beginning of its body as the report shows it; `nil` of a download.
    package let body: [UInt8]?
    /// Whether `body` is not all of it.
    package let isCut: Bool

    package init(
        number: Int, url: String, status: Int?, file: FileRecord? = nil, body: [UInt8]? = nil, isCut: Bool = false
    ) {
        self.number = number
        self.url = url
        self.status = status
        self.file = file
        self.body = body
        self.isCut = isCut
    }
}

/// The captures of several pages as one: a list for each name, in the order of the pages.
package struct PageCaptures: Sendable {
    private var lists: [CapturedValue] = []

    package init() {}

    /// Adds what was taken from the next page. Throws if a list becomes too long.
    package mutating func add(_ page: [CapturedValue]) throws(TransferError) {
        for value in page where value.name != Capture.nextPage {
            let more = if case .list(let values) = value.value { values } else { [value.value] }
            guard let place = lists.firstIndex(where: { $0.name == value.name }) else {
                lists.append(Self.list(more, value, value.answers))
                continue
            }
            guard case .list(let known) = lists[place].value else { continue }
            guard known.count + more.count <= CapturedValue.mostInList else {
                throw TransferError(
                    .captureUnusable,
                    "`\(value.name)` of all pages comes to more than \(CapturedValue.mostInList) values")
            }
            let answers = lists[place].answers(followedBy: value.answers, after: known.count)
            lists[place] = Self.list(known + more, value, answers)
        }
    }

    /// One list for each capture.
    package var values: [CapturedValue] { lists }

    private static func list(
        _ values: [PlainValue], _ page: CapturedValue, _ answers: [CapturedValue.AnswerPlace]
    ) -> CapturedValue {
        var list = CapturedValue(
            name: page.name, text: "", value: .list(values), isSecret: page.isSecret, hosts: page.hosts)
        list.answers = answers
        return list
    }
}
