import Glibc
import Planning
import SystemIO
import TransferModel

/// Counts the files that the publication of groups with `extraneous: remove` would remove. Reads folders alone.
struct GroupRemovals {
    /// Most entries of a group's folder that are looked at; of a larger one the number is not known.
    private static let mostEntries = 200_000

    private let job: Job

    init(_ job: Job) { self.job = job }

    /// Returns the number for each group that removes files, in the order of the job.
    func all() -> [JobPlan.Removal] {
        job.groups.indices.compactMap { index in
            guard job.groups[index].extraneous == .remove else { return nil }
            return JobPlan.Removal(
                group: job.groups[index].name, count: count(GroupIndex(raw: UInt16(index)), job.groups[index]))
        }
    }

    /// `nil` where it is not known: a member's name comes from the network or from a list of the run, or the folder is
    /// too large to look at or cannot be read.
    private func count(_ index: GroupIndex, _ group: GroupSpecification) -> Int? {
        guard let root = group.to.plain else { return nil }
        let members = job.tasks.filter { $0.group == index }
        guard !members.isEmpty else { return 0 }
        var named: Set<ExactText> = []
        for path in members.map(\.destination) + group.absent {
            guard let path = path.map({ PathText.withoutDots($0) }), path.utf8.last != UInt8(ascii: "/") else {
                return nil
            }
            named.insert(ExactText(path))
        }
        return count(below: PathText.withoutDots(root), named)
    }

    private func count(below root: String, _ named: Set<ExactText>) -> Int? {
        var open = [root]
        var (removed, seen) = (0, 0)
        while let path = open.popLast() {
            do throws(SystemError) {
                let folder = try Descriptor.openFolder(path)
                for name in try folder.names() {
                    seen += 1
                    guard seen <= Self.mostEntries else { return nil }
                    let entry = "\(path)/\(name)"
                    if try folder.facts(of: name).isFolder {
                        open.append(entry)
                    } else if !named.contains(ExactText(entry)) {
                        removed += 1
                    }
                }
            } catch {
                guard path == root, error.errno == ENOENT else { return nil }
                return 0
            }
        }
        return removed
    }
}
