import AttemptLife
import FileDelivery
import HTTPRules
import TextFormats
package import TransferModel

/// Keeps what tasks brought for lists of `forEach` that are read from it.
package final class RowResults: Participant {
    let core: EngineCore
    private var sources: RowSources

    init(_ core: EngineCore) {
        self.core = core
        sources = RowSources(core.job)
    }

    /// Adds tasks that came in mid-run.
    func add(_ tasks: [TaskSpecification]) { sources.add(tasks) }

    /// Notes what a task brought that ended with success, and returns it in the form of captured values.
    func keepRows(_ attempt: Attempt, _ verdict: Verdict) -> [CapturedValue] {
        guard case .succeeded = verdict.outcome, sources.contains(attempt.specification) else { return [] }
        let rows = attempt.specification.options.values.next == nil ? origin(attempt).captures : attempt.pages.rows
        core.captured.keep(
            (core.captured.values(of: attempt.specification.id) ?? []) + rows, of: attempt.specification.id)
        return rows
    }

    /// What the attempt, or the page that it is about, brought.
    private func origin(_ attempt: Attempt) -> RowOrigin {
        let body = attempt.lastBody
        let content =
            attempt.download.file.map { RowOrigin.Content.file($0.path) }
            ?? String(validating: body, as: UTF8.self).map { .text($0) } ?? .base64(Base64.encode(body))
        return RowOrigin(content, url: attempt.life.request.url.text)
    }

    /// What a page brought for lists of `forEach`, in the form of captured values; empty where none is read from it.
    func rows(ofPage attempt: Attempt) -> [CapturedValue] {
        sources.contains(attempt.specification) ? origin(attempt).captures : []
    }

    /// Notes the file of a task that succeeded in an earlier process, if lists are read from it and that process did
    /// not say where it is. Returns that in the form of captured values.
    package func keepRows(of task: TaskIndex, at path: String?) -> [CapturedValue] {
        let specification = core.job.tasks[Int(task.raw)]
        guard sources.contains(specification), let path = path ?? specification.destination else { return [] }
        let known = core.captured.values(of: specification.id) ?? []
        guard RowOrigin(known) == nil else { return [] }
        let rows = RowOrigin(.file(path), url: specification.location.url?.text ?? "").captures
        core.captured.keep(known + rows, of: specification.id)
        return rows
    }

    /// Forgets the bodies of tasks from which no list is to be read any more.
    package func forgetRows(of tasks: Set<String>) {
        for task in tasks {
            guard let known = core.captured.values(of: task) else { continue }
            core.captured.keep(known.filter { !$0.isHidden }, of: task)
        }
    }

    /// Opens the files from which lists are read; a member of a group that is not published yet is opened where it is
    /// staged. `opened` is called on another thread, or never if the run ends first.
    package func openLists(
        _ files: [(task: String, path: String)],
        _ opened: @escaping @Sendable ([Result<ListFile, TransferError>]) -> Void
    ) {
        let listed = files.map { file in
            let group = core.job.tasks.first { $0.id == file.task && $0.group != nil }?.group
            return DeliveryOrder.ListedFile(path: file.path, group: group.map { core.groups[Int($0.raw)].place })
        }
        core.outbox.add(.open(listed) { found in opened(found.map { $0.map { ListFile($0) } }) })
    }
}

/// A file with a list, open for reading on any thread.
package struct ListFile: Sendable {
    private let file: OpenedFile

    init(_ file: OpenedFile) { self.file = file }

    /// Passes the whole file to `piece`, in pieces that are gone when it returns.
    package func read(_ piece: (UnsafeRawBufferPointer) throws(TransferError) -> Void) throws(TransferError) {
        try file.read(piece)
    }
}

/// The tasks whose results are kept for lists.
struct RowSources {
    private var ids: Set<String> = []

    init(_ job: Job) { add(job.tasks) }

    mutating func add(_ tasks: [TaskSpecification]) {
        // Not each task as a whole: copying it costs more than what is done here.
        for index in tasks.indices {
            let options = tasks[index].options
            if options.values.leavesRows { ids.insert(tasks[index].id) }
            for list in options.values.template?.lists ?? [] { ids.insert(list.task) }
        }
    }

    func contains(_ task: TaskSpecification) -> Bool { !ids.isEmpty && ids.contains(task.id) }
}
