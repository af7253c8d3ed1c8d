import FileDelivery
import Glibc
import SystemIO
import TestSupport
import Testing
import TransferModel

/// Random old trees, random members, random meddling, against a model that knows nothing of how it is done.
struct GroupRandomTests {
    private enum Thing: Hashable {
        case file(String), link(String), folder
        var isLink: Bool { if case .link = self { true } else { false } }
    }

    /// Path → what is there. Every folder above an entry is an entry too.
    private struct Model {
        var things: [String: Thing] = [:]

        static func above(_ path: String) -> [String] {
            let parts = path.split(separator: "/")
            return (1..<max(1, parts.count)).map { parts[..<$0].joined(separator: "/") }
        }

        func isFree(_ path: String) -> Bool {
            things[path] == nil && Self.above(path).allSatisfy { [nil, .folder].contains(things[$0]) }
        }

        mutating func add(_ path: String, _ thing: Thing) {
            for folder in Self.above(path) { things[folder] = .folder }
            things[path] = thing
        }

        mutating func removeAll(below path: String) {
            things = things.filter { $0.key != path && !$0.key.hasPrefix(path + "/") }
        }

        /// As `TemporaryTree.contents` tells it.
        var texts: [String: String] {
            var texts: [String: String] = [:]
            for (path, thing) in things {
                switch thing {
                case .file(let text): texts[path] = text
                case .link(let target): texts[path + "@"] = target
                case .folder: texts[path + "/"] = ""
                }
            }
            return texts
        }
    }

    private func path(_ random: inout Seeded) -> String {
        (0...random.below(3)).map { _ in random.pick(["a", "b", "c", "d d", "é"]) }.joined(separator: "/")
    }

    private func oldTree(_ tree: TemporaryTree, _ random: inout Seeded) throws -> Model {
        var model = Model()
        for _ in 0..<random.below(12) {
            let path = path(&random)
            guard model.isFree(path) else { continue }
            let kind = random.below(4)
            model.add(path, kind == 0 ? .folder : kind == 1 ? .link("../\(path)") : .file("old \(path)"))
        }
        for (path, thing) in model.things.sorted(by: { $0.key < $1.key }) {
            switch thing {
            case .folder: try tree.makeFolder("site/\(path)")
            case .link(let target): try tree.link("site/\(path)", to: target)
            case .file(let text): try tree.write("site/\(path)", text)
            }
        }
        return model
    }

    /// One member: staged or kept, or refused, as the model says. Gives back whether it is in.
    private func addMember(
        _ stage: GroupStage, _ old: Model, _ members: inout Model, _ keptPaths: inout Set<String>,
        _ random: inout Seeded
    ) throws {
        let path = path(&random)
        let keeps = stage.place.extraneous == .keep
        let isKeep = random.oneIn(3)
        let isReachable = Model.above(path).allSatisfy { [nil, .folder].contains(old.things[$0]) }
        let standing = isReachable ? old.things[path] : nil
        let canStand =
            isKeep ? standing != nil && standing != .folder : !keeps || (isReachable && standing != .folder)
        let isIn = canStand && members.isFree(path)
        do {
            let record = try isKeep ? stage.keep(path) : stage.stage(path, "new ", path)
            #expect(isIn, "\(path) keep \(isKeep)")
            if !isKeep { #expect(record.changed == (standing != .file("new \(path)"))) }
        } catch {
            #expect(!isIn, "\(path) keep \(isKeep): \(error)")
        }
        guard isIn else { return }
        members.add(path, isKeep ? standing ?? .folder : .file("new \(path)"))
        if isKeep { keptPaths.insert(path) }
    }

    private func expected(_ old: Model, _ members: Model, _ extraneous: GroupSpecification.Extraneous) -> Model {
        // No member, no publication.
        if members.things.isEmpty { return old }
        if extraneous == .remove { return members }
        var result = old
        for (path, thing) in members.things { result.things[path] = thing }
        return result
    }

    @Test func theFolderIsWhatTheModelSays() throws {
        var random = Seeded("theFolderIsWhatTheModelSays")
        var published = 0
        for _ in 0..<Rounds.scaled(120) {
            let tree = try TemporaryTree("random")
            let standing = random.pick(Standing.allCases)
            try standing.prepare(tree)
            let old = standing == .nothing ? Model() : try oldTree(tree, &random)
            let extraneous = random.pick(GroupSpecification.Extraneous.allCases)
            let meddler = Flag()
            let step: GroupStep? = standing == .nothing ? nil : random.pick([.prepared, .looked, nil, nil])
            let stage = try GroupStage(
                tree, extraneous: extraneous, flush: random.oneIn(10), lacksUnnamedFiles: random.oneIn(3)
            ) { now in
                if now == step, meddler.take() { _ = try? tree.write("site/theirs", "theirs") }
                return true
            }
            var members = Model()
            var kept: Set<String> = []
            for _ in 0..<random.below(8) { try addMember(stage, old, &members, &kept, &random) }
            let inodes = try old.things.filter { $0.value != .folder && !$0.value.isLink }.keys
                .map { ($0, try tree.inode("site/\($0)")) }
            let error = try stage.publish()
            let wasMeddledWith = !meddler.take()
            var model = wasMeddledWith ? old : expected(old, members, extraneous)
            if wasMeddledWith { model.things["theirs"] = .file("theirs") }
            #expect((error?.name == .groupChanged) == wasMeddledWith && (error == nil) != wasMeddledWith)
            if standing != .nothing || !members.things.isEmpty { #expect(try tree.texts("site") == model.texts) }
            // What was carried over is the same file.
            for (path, inode) in inodes where model.things[path] == old.things[path] {
                #expect(try tree.inode("site/\(path)") == inode)
            }
            #expect(tree.leftovers == [])
            if error == nil { published += 1 }
        }
        #expect(published > 0)
    }
}
