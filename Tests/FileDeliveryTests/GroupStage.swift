import FileDelivery
import Glibc
import SystemIO
import TestSupport
import Testing
import TransferModel

/// What stands where the group's folder shall be.
enum Standing: String, CaseIterable, Sendable {
    case nothing, folder, link

    /// Puts `files` there. The folder is `site` in each case.
    func prepare(_ tree: TemporaryTree, _ files: [String: String] = [:]) throws {
        switch self {
        case .nothing: return
        case .folder: try tree.makeFolder("site")
        case .link:
            try tree.makeFolder("releases/first")
            try tree.link("site", to: "releases/first")
        }
        for (name, text) in files { try tree.write("site/\(name)", text) }
    }
}

/// A group at `site` in a tree, and a delivery thread that publishes it.
final class GroupStage {
    let tree: TemporaryTree
    let desk: Desk
    let place: GroupPlace
    private var tasks: UInt32 = 0
    /// The files that the last publication removed.
    private(set) var removed: RemovedFiles?

    init(
        _ tree: TemporaryTree, folder: String = "site", extraneous: GroupSpecification.Extraneous = .keep,
        maximumRemovals: GroupSpecification.RemovalLimit? = nil, flush: Bool = false,
        lacksUnnamedFiles: Bool = false, lacksExchange: Bool = false, run: String = "test0000state",
        patience: TimeSpan = .seconds(60), keeping: KeptPlace? = nil, hook: GroupHook? = nil
    ) throws {
        self.tree = tree
        place = GroupPlace(
            index: GroupIndex(raw: 3), folder: tree.path(folder), extraneous: extraneous,
            maximumRemovals: maximumRemovals, flush: flush, keeping: keeping)
        desk = try Desk(
            lacksUnnamedFiles: lacksUnnamedFiles, lacksExchange: lacksExchange, run: run, groupPatience: patience,
            groupHook: hook)
    }

    func nextTask() -> TaskIndex {
        tasks += 1
        return TaskIndex(raw: tasks)
    }

    @discardableResult
    func stage(
        _ name: String, _ pieces: String..., as task: TaskIndex? = nil, _ change: (inout Destination) -> Void = { _ in }
    ) throws -> FileRecord {
        var destination = Destination(path: "\(place.folder)/\(name)")
        destination.group = place
        change(&destination)
        let id = desk.staging()
        for piece in pieces.dropLast() {
            desk.submit(
                .append(
                    .init(
                        id, BodyPlacement(destination.folder, written: destination.checksum?.algorithm, group: place),
                        .bytes(bytes(piece)))))
        }
        desk.submit(
            .publish(
                .init(
                    task ?? nextTask(), id, destination, rest: .bytes(bytes(pieces.last ?? "")), lengthUnverified: false
                )))
        return try staged()
    }

    @discardableResult
    func keep(_ name: String, _ existing: ExistingPolicy = .revalidate) throws -> FileRecord {
        desk.submit(.keep(.init(nextTask(), path: "\(place.folder)/\(name)", GroupMember(place, existing))))
        return try staged()
    }

    func staged() throws -> FileRecord {
        switch try desk.next() {
        case .staged(_, let record): return record
        case .failed(_, let error): throw error
        default: throw Desk.Silence()
        }
    }

    /// The error of staging a member, which there must be.
    func failure(_ name: String, _ change: (inout Destination) -> Void = { _ in }) -> ErrorName? {
        do {
            try stage(name, "x", as: nil, change)
            return nil
        } catch {
            return (error as? TransferError)?.name
        }
    }

    func publish(absent: [String?] = []) throws -> TransferError? {
        desk.submit(.publishGroup(place, absent: absent.map { $0.map { "\(place.folder)/\($0)" } }))
        return try published()
    }

    func published() throws -> TransferError? {
        guard case .groupPublished(GroupIndex(raw: 3), let error, let removed) = try desk.next() else {
            throw Desk.Silence()
        }
        self.removed = removed
        return error
    }

    func discard() throws {
        desk.submit(.discardGroup(place), .inspect(.init(TaskIndex(raw: 0), path: "/none", nil)))
        guard case .inspected = try desk.next() else { throw Desk.Silence() }
    }
}

extension TemporaryTree {
    /// Everything under temporary names, at any depth.
    var leftovers: [String] { list().filter { $0.contains(".transfer-run-test0000state-") && !$0.contains("/site.") } }

    func texts(_ relative: String) throws -> [String: String] {
        try contents(relative).mapValues { String(decoding: $0, as: UTF8.self) }
    }

    func inode(_ relative: String) throws -> UInt64 { try FileFacts.of(path(relative)).inode }

    func target(_ relative: String) throws -> String {
        let (folder, name) = Folders.split(path(relative))
        return try Descriptor.openFolder(folder).linkTarget(of: RawName(name)).description
    }
}
