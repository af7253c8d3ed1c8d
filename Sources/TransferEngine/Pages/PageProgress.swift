import HTTPRules
import TransferModel

/// How far a task with `next` is: which page its attempt asks for, and what those before it brought. Kept by task
/// between attempts, so that one that follows a failure goes on at the page that failed.
struct PageProgress: Sendable {
    /// The page that is asked for, from 1.
    private(set) var number = 1
    /// Whether that page is whole, so that what fails now is the step to the next one.
    private(set) var isWhole = false
    /// Where that page is; `nil` for the first, which is at the task's own URL.
    private(set) var url: ResourceURL?
    /// Whether a server outside named that page's URL.
    private(set) var isLedFromPublic = false
    /// The URLs of all pages so far, as they were asked for.
    private var asked: [String] = []
    private var captures = PageCaptures()
    /// Whether a page's file has other content than the one before it.
    private(set) var hasChangedFile = false
    /// What the pages brought for lists of `forEach`, in the form of captured values.
    private(set) var rows: [CapturedValue] = []
    private var rowBytes = 0
    /// Bytes of bodies that the report shows of the pages so far.
    private var shownBytes = 0

    /// Bytes of bodies that the report shows of all pages of a task together.
    private static let mostShown = 1 << 20

    /// Bytes of bodies that are kept for lists; files are kept by their names.
    private static let mostKept = 64 << 20

    /// Keeps what the page brought for lists of `forEach`.
    mutating func keep(rows more: [CapturedValue]) throws(TransferError) {
        rowBytes += more.reduce(0) { $0 + $1.text.utf8.count }
        guard rowBytes <= Self.mostKept else {
            throw TransferError(
                .dataLengthExceedsMaximum,
                "the pages come to more than 64 MiB, \(TransferError.manyRowsWords)")
        }
        rows += more
    }

    /// Cuts the page's body to what the report shows.
    func shown(_ body: [UInt8]?) -> (body: [UInt8]?, isCut: Bool) {
        guard let body else { return (nil, false) }
        let most = max(0, min(Redactor.shownOfBody, Self.mostShown - shownBytes))
        guard body.count > most else { return (body, false) }
        var end = most
        while end > 0, body[end] & 0xC0 == 0x80 { end -= 1 }
        return (Array(body[..<end]), true)
    }

    /// Records a page that was fetched; `first` is the task's own URL.
    mutating func pageFetched(_ page: PageRecord, _ found: [CapturedValue], first: ResourceURL) throws(TransferError) {
        isWhole = true
        if asked.count < number { asked.append((url ?? first).text) }
        shownBytes += page.body?.count ?? 0
        if page.file?.changed == true { hasChangedFile = true }
        try captures.add(found)
    }

    /// Goes on to the page at `target`, or throws if that was asked for before or is one too many. Counted pages do not
    /// repeat.
    mutating func turn(
        to target: ResourceURL, most: Int, isCounted: Bool, isLedFromPublic: Bool = false
    ) throws(TransferError) {
        if !isCounted, let loop = NextPages.loop(target, asked: asked) { throw loop }
        guard number < most else {
            throw TransferError(
                .nextPageUnusable, "there are more than \(most) pages, and `next.maximum` allows no more")
        }
        number += 1
        (url, self.isLedFromPublic) = (target, isLedFromPublic)
        isWhole = false
    }

    /// What was captured from all pages so far.
    var captured: [CapturedValue] { captures.values }
}
