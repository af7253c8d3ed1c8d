import RowFormats
import TextFormats
import TransferEngine
import TransferModel

/// The lists of a template that are not read yet, and where they are read from.
struct ListSources: Sendable {
    /// A list of a task with `next` is read from each of its pages, in their order.
    private let lists: [(list: RowList, origins: [RowOrigin])]

    /// Throws if a task did not bring what a list is to be read from.
    init(_ template: TaskTemplate, _ captured: CapturedValues) throws(TransferError) {
        var lists: [(list: RowList, origins: [RowOrigin])] = []
        for list in template.lists where captured.values(of: list.key) == nil {
            guard let values = captured.values(of: list.task) else {
                throw TransferError(
                    .expansionFailed, "there is no list: `\(list.task)` did not run or succeed in this run")
            }
            let origins = RowOrigin.all(in: values)
            guard !origins.isEmpty else {
                throw TransferError(
                    .expansionFailed,
                    "what `\(list.task)` brought is not known any more: it ended before a list was to be read from it")
            }
            lists.append((list, origins))
        }
        self.lists = lists
    }

    /// The files to be opened, with the ids of their tasks.
    var files: [(task: String, path: String)] {
        lists.flatMap { list, origins in
            origins.compactMap { origin in
                if case .file(let path) = origin.content { (list.task, path) } else { nil }
            }
        }
    }

    /// Reads all lists; `opened` are the files of `files`. Returns the rows by `RowList.key`.
    func read(_ opened: [Result<ListFile, TransferError>]) throws(TransferError) -> [String: CapturedValue] {
        var rows: [String: CapturedValue] = [:]
        var opened = opened[...]
        for (list, origins) in lists {
            for origin in origins {
                guard let page = try Self.read(list, origin, &opened) else { continue }
                rows[list.key] = rows[list.key].map { $0.adding(page) } ?? page
            }
        }
        return rows
    }

    private static func read(
        _ list: RowList, _ origin: RowOrigin, _ opened: inout ArraySlice<Result<ListFile, TransferError>>
    ) throws(TransferError) -> CapturedValue? {
        switch origin.content {
        case .file: try opened.popFirst().map { file throws(TransferError) in try read(list, file, origin.url) }
        case .text(let text): try ListReading.rows(list, Array(text.utf8), page: origin.url)
        case .base64(let text): try ListReading.rows(list, Base64.decode(text) ?? [], page: origin.url)
        }
    }

    private static func read(
        _ list: RowList, _ file: Result<ListFile, TransferError>, _ page: String
    ) throws(TransferError) -> CapturedValue {
        let reading = try ListReading(list, page: page)
        do throws(TransferError) {
            try file.get().read { piece throws(TransferError) in try reading.take(piece) }
        } catch {
            guard error.name != .expansionFailed else { throw error }
            throw TransferError(.expansionFailed, "what `\(list.task)` brought cannot be read: \(error.message)")
        }
        return try reading.finish()
    }
}

extension CapturedValue {
    /// Returns the list with another one after it.
    fileprivate func adding(_ other: CapturedValue) -> CapturedValue {
        guard case .list(let own) = value, case .list(let more) = other.value else { return self }
        var both = CapturedValue(name: name, text: "", value: .list(own + more), isSecret: isSecret, hosts: hosts)
        both.answers = answers(followedBy: other.answers, after: own.count)
        return both
    }
}
