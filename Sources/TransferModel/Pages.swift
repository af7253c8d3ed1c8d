/// `next`: where an answer names the URL of the next page, and how many pages a task has at most.
package struct NextPage: Hashable, Sendable {
    /// The place of the answer: a `Link`, a header or a JSON path.
    package var source: Capture.Source
    /// Most pages of the task.
    package var maximum: Int
    /// Whether a task with more pages ends well with the last one that it may have; else it fails.
    package var stopsAtMaximum: Bool

    /// Most pages where the job says nothing.
    package static let standardMaximum = 100

    package init(source: Capture.Source, maximum: Int = NextPage.standardMaximum, stopsAtMaximum: Bool = false) {
        self.source = source
        self.maximum = maximum
        self.stopsAtMaximum = stopsAtMaximum
    }
}

extension Capture {
    /// The name under which the next page's URL is taken from an answer; no capture of a job can have it.
    package static let nextPage = "@next"

    /// What takes the next page's URL from an answer. That there is none is no fault: it was the last page.
    package init(_ next: NextPage) { self.init(name: Self.nextPage, source: next.source) }

    /// Whether it takes the next page's URL.
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
                lists.append(Self.list(more, value))
                continue
            }
            guard case .list(let known) = lists[place].value else { continue }
            guard known.count + more.count <= CapturedValue.mostInList else {
                throw TransferError(
                    .captureUnusable,
                    "`\(value.name)` of all pages comes to more than \(CapturedValue.mostInList) values")
            }
            lists[place] = Self.list(known + more, value)
        }
    }

    /// One list for each capture.
    package var values: [CapturedValue] { lists }

    private static func list(_ values: [PlainValue], _ page: CapturedValue) -> CapturedValue {
        CapturedValue(
            name: page.name, text: "", value: .list(values), isSecret: page.isSecret, hosts: page.hosts)
    }
}
