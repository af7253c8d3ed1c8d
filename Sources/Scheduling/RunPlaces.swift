/// Decides which runs of one process work at the same time: a limited number, in the order in which they were accepted.
///
/// A run holds a place while it has something to do. One that only waits, for time, a network or a person, gives its
/// place up, so that it keeps no other from beginning, and asks again when it has something to do.
package struct RunPlaces: Sendable {
    /// Most runs that hold a place.
    package let limit: Int
    /// The runs that hold a place, by their numbers in the order of acceptance.
    package private(set) var holders: Set<Int64> = []
    /// The runs that wait for a place, the one accepted first at the front.
    package private(set) var line: [Int64] = []

    package init(limit: Int) { self.limit = max(1, limit) }

    /// Notes that the run has something to do: it waits in line unless it holds a place.
    package mutating func ask(_ run: Int64) {
        guard !holders.contains(run), !line.contains(run) else { return }
        line.insert(run, at: line.firstIndex { $0 > run } ?? line.endIndex)
    }

    /// Notes that the run has nothing to do, or has ended: it neither holds a place nor waits for one.
    package mutating func leave(_ run: Int64) {
        holders.remove(run)
        line.removeAll { $0 == run }
    }

    /// Gives the free places to those at the front of the line, and returns these runs.
    package mutating func fill() -> [Int64] {
        let next = Array(line.prefix(max(0, limit - holders.count)))
        line.removeFirst(next.count)
        holders.formUnion(next)
        return next
    }

    /// How many runs the run waits behind: those with a place and those before it in line. `nil` if it does not wait.
    package func runsBefore(_ run: Int64) -> Int? { line.firstIndex(of: run).map { holders.count + $0 } }
}
