import CAllocationCounter
import SystemIO
import TransferModel

/// Processor time and allocations of one stage, for one task.
struct Cost {
    var microseconds: Double
    var allocations: Double

    static func - (left: Cost, right: Cost) -> Cost {
        Cost(
            microseconds: left.microseconds - right.microseconds, allocations: left.allocations - right.allocations)
    }
}

enum Measure {
    /// The median of `rounds` runs, by processor time of the whole process or of the calling thread alone.
    static func cost(
        per tasks: Int, rounds: Int = 5, wholeProcess: Bool = false, _ body: (Int) throws -> Void
    ) rethrows -> Cost {
        var costs: [Cost] = []
        for round in 0..<rounds {
            let allocations = tr_allocation_count()
            let start = wholeProcess ? Clocks.processTime() : Clocks.threadTime()
            try body(round)
            let end = wholeProcess ? Clocks.processTime() : Clocks.threadTime()
            costs.append(
                Cost(
                    microseconds: (end - start).seconds * 1e6 / Double(tasks),
                    allocations: Double(tr_allocation_count() - allocations) / Double(tasks)))
        }
        costs.sort { $0.microseconds < $1.microseconds }
        return costs[costs.count / 2]
    }

    /// What `body` costs over `base`, measured in turn so that a slow moment of the machine hits both: the median of
    /// the differences.
    static func difference(
        per tasks: Int, rounds: Int = 5, wholeProcess: Bool = false, _ body: (Int) throws -> Void,
        over base: (Int) throws -> Void
    ) rethrows -> Cost {
        var costs: [Cost] = []
        for round in 0..<rounds {
            let whole = try cost(per: tasks, rounds: 1, wholeProcess: wholeProcess) { _ in try body(round) }
            let part = try cost(per: tasks, rounds: 1, wholeProcess: wholeProcess) { _ in try base(round) }
            costs.append(whole - part)
        }
        costs.sort { $0.microseconds < $1.microseconds }
        return costs[costs.count / 2]
    }
}

/// A table for people.
enum Table {
    static func row(_ name: String, _ cost: Cost, budget: Double) {
        let mark = cost.microseconds <= budget ? "within" : "OVER"
        print(
            pad(name, 36) + pad(number(cost.microseconds, 2), 10, left: true) + pad(number(budget, 0), 9, left: true)
                + "  " + pad(mark, 8) + pad(number(cost.allocations, 1), 12, left: true))
    }

    static func pad(_ text: String, _ width: Int, left: Bool = false) -> String {
        let space = String(repeating: " ", count: max(0, width - text.count))
        return left ? space + text : text + space
    }

    static func number(_ value: Double, _ digits: Int) -> String {
        var scale = 1.0
        for _ in 0..<digits { scale *= 10 }
        let scaled = Int64((value * scale).rounded())
        guard digits > 0 else { return "\(scaled)" }
        let fraction = String(abs(scaled) % Int64(scale))
        let sign = scaled < 0 ? "-" : ""
        return "\(sign)\(abs(scaled) / Int64(scale))." + String(repeating: "0", count: digits - fraction.count)
            + fraction
    }
}
