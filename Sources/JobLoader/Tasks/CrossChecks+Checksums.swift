import Diagnostics
import TransferModel
import YAMLTree

/// Resolves the task names of `checksum: { from: … }`.
extension TaskChecker {
    /// Results so far. Tasks share options: the name in shared options is resolved once, and the new options stay
    /// shared.
    struct Checksums {
        struct Shared: Hashable {
            let options: ObjectIdentifier
            let isDownload: Bool
        }
        /// New options for old ones. The old ones are kept alive, so that no other object gets their identifier.
        var options: [Shared: (old: TaskOptions, new: TaskOptions)] = [:]
        var owners: [ChecksumTask: UInt32?] = [:]
        var reported: [ChecksumTask: UInt32] = [:]
    }

    mutating func findChecksums() {
        var known = Checksums()
        for number in tasks.indices {
            let options = tasks[number].options
            guard case .task(let name, let listed)? = options.values.checksum else { continue }
            let shared = Checksums.Shared(
                options: ObjectIdentifier(options), isDownload: tasks[number].type == .download)
            let named = reader.checksumTasks[Int(name.raw)]
            // A default that does not fit the task's type is left out silently.
            let owner = shared.isDownload ? owner(of: named, &known.owners) : nil
            if known.options[shared] == nil {
                var values = options.values
                values.checksum = owner.map { .task(TaskIndex(raw: $0), proven(listed, named, $0)) }
                known.options[shared] = (options, TaskOptions(values))
            }
            if let found = known.options[shared] { tasks[number].options = found.new }
            guard let owner, known.reported[named] != tasks[number].line else { continue }
            if checkChecksum(of: UInt32(number), named, owner) { known.reported[named] = tasks[number].line }
        }
        // An unknown task in `defaults` is reported even if no task uses the default.
        for named in Set(reader.checksumTasks.prefix(checks.defaultChecksums)) where known.owners[named] == nil {
            if ids.owner(of: named.text) == nil, !fitsDeferred(named.text) { reportUnknown(named.text, named.node) }
        }
    }

    /// Returns the line with the signature that the owner's file must have, once the owner's URL is known.
    private func proven(_ listed: ListedChecksum, _ named: ChecksumTask, _ owner: UInt32) -> ListedChecksum {
        guard let proof = named.proof else { return listed }
        var listed = listed
        guard let url = tasks[Int(owner)].location.url ?? proof.url else {
            reader.error(
                "missing-key", "`signature` needs `url` here: the URL of `\(named.text)` is known only in mid-run",
                at: reader.beginning(proof.node))
            return listed
        }
        listed.signature = ChecksumReader(reader: reader).signature(proof, of: url)
        return listed
    }

    private mutating func owner(of named: ChecksumTask, _ known: inout [ChecksumTask: UInt32?]) -> UInt32? {
        if let known = known[named] { return known }
        let owner = ids.owner(of: named.text)
        known[named] = .some(owner)
        guard let owner else {
            if !fitsDeferred(named.text) { reportUnknown(named.text, named.node) }
            return nil
        }
        if leavesNoFile(owner) {
            let why = whyNoFile(tasks[Int(owner)])
            reader.error("not-for-type", "`\(named.text)` \(why): it leaves no file with checksums", named.node)
        }
        return owner
    }

    /// Checks that the task needs the one whose file it reads; returns whether it reported something.
    private mutating func checkChecksum(of task: UInt32, _ named: ChecksumTask, _ owner: UInt32) -> Bool {
        guard !reaches(from: task, owner) else { return false }
        let place = place(of: named.node, tasks[Int(task)])
        guard task != owner else {
            reader.error(
                "needs-cycle", "the task `\(named.text)` cannot be checked by the file that it fetches itself",
                hint: "`checksum: null` takes a default away", at: place)
            return true
        }
        reader.error(
            "missing-need", "this task reads what `\(named.text)` writes but does not need it",
            hint: "add `needs: [\(named.text)]`", at: place)
        return true
    }

    /// Returns the node's position, or the task's own `checksum` if the node stands outside of the task, in `defaults`.
    private mutating func place(of node: NodeID, _ task: TaskSpecification) -> SourceSpan {
        let (span, whole) = (reader.tree.span(node), self.node(of: task).map { reader.tree.span($0) })
        guard let whole, !(whole.line...max(whole.line, whole.endLine)).contains(span.line) else { return span }
        return place(of: "checksum", task)
    }
}
