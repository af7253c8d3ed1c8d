import HTTPRules
import Stores
import TransferModel

extension Stages {
    /// What it costs to know files again: keeping them in batches as a run does, opening a store that is full of them,
    /// and finding each.
    func store() throws {
        let count = 100_000
        let now = WallTime(nanoseconds: 1_795_000_000_000_000_000)
        let changes = (0..<count).map { number in
            let name = "file-\(number).bin"
            return ValidatorChange(
                destination: "/srv/mirror/pool/\(name)",
                kept: KeptValidators(
                    url: "https://mirror.example.org/pool/\(name)", etag: "\"6b019c36-\(number)\"", lastModified: nil,
                    shape: 0, file: FileStamp(size: 1024, modifiedNanoseconds: now.nanoseconds + Int64(number))))
        }
        print("\nprocessor time and allocations of a store of \(count) files\n")
        let keep = try Measure.cost(per: 10_000) { round in
            let store = try Store.open(folder: "\(folder)/store\(round)", now: now)
            let session = try store.session(job: "bench", name: "bench", now: now)
            for start in stride(from: 0, to: 10_000, by: 500) {
                try store.change(session, Array(changes[start..<start + 500]), now: now)
            }
        }
        Table.row("keep one of 10,000, in batches", keep, budget: 2)
        let place = "\(folder)/store-full"
        do {
            let store = try Store.open(folder: place, now: now)
            try store.change(store.session(job: "bench", name: "bench", now: now), changes, now: now)
        }
        let open = try Measure.cost(per: 1) { _ in _ = try Store.open(folder: place, now: now) }
        Table.row("open", open, budget: 5_000)
        let store = try Store.open(folder: place, now: now)
        let session = try store.session(job: "bench", name: "bench", now: now)
        let find = try Measure.cost(per: count) { _ in
            for change in changes { _ = try store.validators(session, destination: change.destination) }
        }
        Table.row("find (statement prepared each time)", find, budget: 25)
    }
}
