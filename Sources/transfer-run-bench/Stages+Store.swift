import HTTPRules
import Stores
import TransferModel

extension Stages {
    /// What it costs to know files again: keeping them in batches as a run does, and opening a store full of them.
    func store() throws {
        let (count, few) = (100_000, 10_000)
        let now = WallTime(nanoseconds: 1_795_000_000_000_000_000)
        let changes = (0..<count).map { number in
            let name = "file-\(number).bin"
            return ValidatorChange(
                destination: "/srv/mirror/pool/\(name)",
                kept: KeptValidators(
                    url: "https://mirror.example.org/pool/\(name)", etag: "\"6b019c36-\(number)\"", lastModified: nil,
                    shape: 0, file: FileStamp(size: 1024, modifiedNanoseconds: now.nanoseconds + Int64(number))))
        }
        print("\nprocessor time and allocations of a store\n")
        let keep = try Measure.cost(per: few) { round in
            let store = try Store.open(folder: "\(folder)/store\(round)", now: now)
            let session = try store.session(job: "bench", name: "bench", now: now)
            for start in stride(from: 0, to: few, by: 500) {
                try store.change(session, Array(changes[start..<start + 500]), now: now)
            }
        }
        Table.row("keep one of \(few), in batches", keep, budget: 3)
        let full = "\(folder)/store-full"
        let fill = try Measure.cost(per: count, rounds: 1) { _ in
            let store = try Store.open(folder: full, now: now)
            try store.change(store.session(job: "bench", name: "bench", now: now), changes, now: now)
        }
        Table.row("keep one of \(count), at once", fill, budget: 3)
        let open = try Measure.cost(per: 1) { _ in _ = try Store.open(folder: full, now: now) }
        Table.row("open a store of \(count)", open, budget: 5_000)
    }
}
