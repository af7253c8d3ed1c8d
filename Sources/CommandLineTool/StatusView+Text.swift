import Diagnostics
import JobRunner
import TransferModel

extension StatusView {
    /// What can be used now first, then by the kernel's numbers.
    var networks: [NetworkInterface] {
        conditions.networks.filter { $0.isThere } + conditions.networks.filter { !$0.isThere }
    }

    var text: String {
        var lines = ["networks"]
        let names = networks.map { Visible.text($0.name) }
        let kinds = networks.map { $0.description }
        let width = (names.map { $0.count }.max() ?? 0, kinds.map { $0.count }.max() ?? 0)
        for ((network, name), kind) in zip(zip(networks, names), kinds) {
            let state = network.isThere ? "there" : network.isUsable ? "local" : "not there"
            lines.append(
                "  \(name.padded(to: width.0))  \(kind.padded(to: width.1))  \(state.padded(to: 9))  "
                    + Visible.text(network.why))
        }
        if networks.isEmpty { lines.append("  none") }
        lines.append("power: \(conditions.power.words)")
        lines += runLines
        return lines.joined(separator: "\n") + "\n"
    }

    private var runLines: [String] {
        runs.isEmpty ? ["no run is under way"] : ["runs"] + runs.flatMap { $0.lines }
    }
}

extension StatusView.Run {
    private static let mostLines = 10

    fileprivate var lines: [String] {
        guard let status else { return ["  \(process)  does not answer"] }
        let counts = RunStatus.State.allCases.compactMap { state in
            status.counts[state].flatMap { $0 > 0 ? "\($0) \(state.rawValue)" : nil }
        }
        var lines = ["  \(process)  \(Visible.text(status.job)): \(counts.joined(separator: ", "))"]
        let waiting = status.tasks.filter { $0.waitingFor != nil }
        for task in waiting.prefix(Self.mostLines) {
            let what = task.lacks ?? task.waitingFor.map { Explanation.words($0) } ?? ""
            lines.append("    \(Visible.text(task.id)) waits for \(Visible.text(what))")
        }
        let held = (status.counts[.waiting] ?? 0) + (status.counts[.suspended] ?? 0)
        if held > min(waiting.count, Self.mostLines) {
            lines.append("    and \(held - min(waiting.count, Self.mostLines)) more wait")
        }
        return lines
    }
}

extension PowerState {
    /// `battery, 73 %, falling`
    fileprivate var words: String {
        ([source.rawValue] + (battery.map { ["\(Int($0)) %"] } ?? []) + (isFalling ? ["falling"] : []))
            .joined(separator: ", ")
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
