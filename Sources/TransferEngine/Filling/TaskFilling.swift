import AttemptLife
import Codecs
import CurlCore
import FileDelivery
import Glibc
import HTTPRules
import SystemIO
import TransferModel

/// Fills captured values into a task when it begins, and follows its destination where that is a link.
///
/// A `to` of the job that is a symlink means the file that the link leads to: that one is asked about, revalidated and
/// replaced, and the link stays. So does the `to` of a rule of `onResponse`. Names that servers chose, and paths with
/// captured values in them, are never followed: a link that has such a name is itself replaced.
final class TaskFilling: Participant {
    let core: EngineCore
    /// Results of attempts that could not begin because a captured value does not fit.
    private var unfilled: [TaskIndex: AttemptResult] = [:]
    private var trustedFolders = TrustedFolders()
    /// What was seen at the destinations of tasks that are soon to begin, and when.
    private var foreseen: [TaskIndex: (seen: SeenDestination, at: Instant)] = [:]
    /// For so long nobody is expected to change what was seen; publishing finds out where somebody did.
    private static let freshness = TimeSpan.milliseconds(100)

    init(_ core: EngineCore) { self.core = core }

    /// Returns, once, the result of a task that could not begin.
    func takeUnfilled(_ task: TaskIndex) -> AttemptResult? {
        unfilled.isEmpty ? nil : unfilled.removeValue(forKey: task)
    }

    /// Follows the link at the destination of a task that is soon to begin; returns whether that can be a file.
    func lookAhead(of task: TaskIndex) -> Bool {
        let seen = followLink(task)
        // What a task needs may change it.
        if seen.problem == nil, core.job.tasks[Int(task.raw)].needs.isEmpty {
            foreseen[task] = (seen, core.now.instant)
        }
        return seen.problem == nil
    }

    /// Makes the destination of a task that begins what its link leads to.
    func seenDestination(_ task: TaskIndex) -> SeenDestination {
        if !foreseen.isEmpty, let (seen, time) = foreseen.removeValue(forKey: task),
            core.now.instant < time + Self.freshness
        {
            return seen
        }
        return followLink(task)
    }

    private func followLink(_ task: TaskIndex) -> SeenDestination {
        let index = Int(task.raw)
        guard core.job.tasks[index].type == .download || core.job.tasks[index].savesAnswer,
            core.job.tasks[index].group == nil,
            let path = core.job.tasks[index].destination
        else { return SeenDestination() }
        do throws(TransferError) {
            switch try WrittenPath.standing(at: path, &trustedFolders) {
            case .nothing: return SeenDestination(isFree: true)
            case .itself: return SeenDestination()
            case .link(let end):
                core.job.tasks[index].destination = end
                // What was known of another file says nothing of this one.
                participants.keptFiles.forget(task)
                return SeenDestination()
            }
        } catch {
            return SeenDestination(problem: error)
        }
    }

    /// Returns why a path with captured values in it can be no file.
    func refuseFilled(_ task: TaskIndex, _ filled: TaskSpecification) -> TransferError? {
        guard core.job.tasks[Int(task.raw)].destination == nil, filled.type == .download || filled.savesAnswer,
            filled.group == nil, let path = filled.destination
        else { return nil }
        do throws(TransferError) {
            try WrittenPath.check(path)
            return nil
        } catch {
            return error
        }
    }

    /// The task with all that others captured in it; `nil` when it cannot begin, which is told.
    func filled(_ task: TaskIndex, _ number: Int, _ mirror: Int) -> TaskSpecification? {
        let specification = core.job.tasks[Int(task.raw)]
        guard specification.options.values.awaitsCaptures else { return specification }
        do throws(TransferError) {
            core.captured.page = participants.pages.present(of: task).number
            var filled = try specification.filled(from: core.captured)
            try rewrite(&filled, of: specification)
            if filled.options.values.object != nil {
                filled.destination = try participants.objects.transfers.path(of: filled)
            }
            try checkFolders(filled, specification.options.values.awaitedDestination)
            return filled
        } catch {
            tellUnfilled(task, number, specification, mirror, error)
            let session = core.sessions[Int(specification.session.raw)].configuration
            if let url = specification.location(mirror: mirror).url, session.takesSlot(url) {
                core.reports.append(.released(task, core.origins.id(of: url)))
            }
            core.reports.append(.ended(task, Verdict(.failed(error))))
            return nil
        }
    }

    /// Leads URLs that captured values completed where the operator's rules want them; the job's own were when it was read.
    private func rewrite(_ filled: inout TaskSpecification, of specification: TaskSpecification) throws(TransferError) {
        let session = core.sessions[Int(specification.session.raw)]
        guard session.configuration.policy?.rewrite.isEmpty == false else { return }
        func place(
            _ known: TaskSpecification.Location, _ filled: TaskSpecification.Location
        ) throws(TransferError) -> TaskSpecification.Location {
            guard known.url == nil, let url = filled.url else { return filled }
            return .url(try session.rewritten(url))
        }
        filled.location = try place(specification.location, filled.location)
        var values = filled.options.values
        for index in values.mirrors.indices {
            values.mirrors[index] = try place(specification.options.values.mirrors[index], values.mirrors[index])
        }
        filled.options = TaskOptions(values)
    }

    /// Tells of a task that cannot begin. That counts as an attempt, however short: its time is part of the task's.
    private func tellUnfilled(
        _ task: TaskIndex, _ number: Int, _ specification: TaskSpecification, _ mirror: Int, _ error: TransferError
    ) {
        let url = specification.location(mirror: mirror).shown
        core.events.append(
            .attemptStarted(AttemptStart(number: number, url: url)), task: task, session: specification.session)
        unfilled[task] = AttemptResult(
            number: number, url: url, startedAt: core.now, endedAt: core.now.instant, transactions: [], body: nil,
            file: nil,
            source: .network, lengthUnverified: false, error: error, waits: [],
            resumedFrom: 0, startedOver: nil, cache: nil, captures: [], parts: [])
    }

    /// A name that came from the network leads through no symlink: that could end outside the folder which `to` names.
    private func checkFolders(_ task: TaskSpecification, _ awaited: SecretText?) throws(TransferError) {
        guard let path = task.destination, case .literal(let start)? = awaited?.pieces.first else { return }
        var end = path.utf8.index(path.startIndex, offsetBy: start.utf8.count)
        while let slash = path.utf8[end...].firstIndex(of: UInt8(ascii: "/")) {
            let folder = String(path[..<slash])
            if LinkCheck.isLink(folder) {
                throw TransferError(
                    .captureUnusable, "\(folder) is a symlink: a captured value must not lead through it")
            }
            end = path.utf8.index(after: slash)
        }
    }
}

/// What a task saw at its destination before it began.
struct SeenDestination {
    /// Whether nothing had the name.
    var isFree = false
    /// Why what stands there can be no file.
    var problem: TransferError?
}

/// Follows the paths of files that a job writes itself.
enum WrittenPath {
    /// What has a path's name.
    enum Standing {
        case nothing
        /// A file, or a folder in which the file gets a name.
        case itself
        /// A symlink to the file of this path.
        case link(String)
    }

    /// What has the name `path`. Throws where no file can have that path.
    static func standing(at path: String, _ folders: inout TrustedFolders) throws(TransferError) -> Standing {
        guard let facts = try facts(of: path) else { return .nothing }
        // An existing file is compared and may stay, so its path must hold no link of another user either.
        if let link = folders.foreignLink(above: path) {
            throw TransferError(.cannotMoveFile, SystemError.isForeign(link), errno: EPERM)
        }
        guard !facts.isRegular, !facts.isFolder else { return .itself }
        do throws(DestinationLink.Problem) {
            return try DestinationLink.end(of: path).map { .link($0) } ?? .itself
        } catch {
            throw explain(error, path)
        }
    }

    /// Refuses a path whose file could not be made, whatever the server sends: a folder has the name, or a file stands where
    /// one of its folders should be.
    static func check(_ path: String) throws(TransferError) { _ = try facts(of: path) }

    /// The facts of what has the path's name; `nil` where nothing has it. Of a path that ends in `/` they are those of the
    /// folder, through a link too.
    private static func facts(of path: String) throws(TransferError) -> FileFacts? {
        do throws(SystemError) {
            let facts = try FileFacts.ofName(path)
            guard facts.isFolder, path.utf8.last != UInt8(ascii: "/") else { return facts }
            throw SystemError(call: "stat", errno: EISDIR)
        } catch {
            switch error.errno {
            case EISDIR: throw TransferError(.cannotMoveFile, "\(path) is a folder", errno: error.errno)
            case ENOTDIR:
                throw TransferError(
                    .cannotCreateFile, "cannot create a file in \(Folders.split(path).folder): \(error.reason)",
                    errno: error.errno)
            default: return nil
            }
        }
    }

    private static func explain(_ problem: DestinationLink.Problem, _ path: String) -> TransferError {
        switch problem {
        case .noFile:
            TransferError(
                .cannotMoveFile,
                "\(path) is, or leads to, a device, pipe or socket",
                errno: ENOTSUP)
        case .folder, .place(.noName):
            TransferError(.cannotMoveFile, "\(path) leads to a folder", errno: EISDIR)
        case .place(.foreign(let link)):
            TransferError(.cannotMoveFile, SystemError.isForeign(link), errno: EPERM)
        case .place(.noFolder(let folder, let error)):
            TransferError(
                .cannotCreateFile, "\(path) leads to a file in \(folder), which cannot be opened: \(error.reason)",
                errno: error.errno)
        case .place(.unreadable(let error)):
            TransferError(
                .cannotMoveFile, "\(path) is a link that cannot be followed: \(error.reason)", errno: error.errno)
        case .place(.tooManyLinks):
            TransferError(.cannotMoveFile, "\(path) leads through too many links", errno: ELOOP)
        case .place(.noText):
            TransferError(.cannotMoveFile, "\(path) leads to a path that is no UTF-8", errno: EILSEQ)
        }
    }
}
