import TransferModel
import YAMLTree

/// Reads rates, numbers of attempts, and limits of a run.
struct LimitReader {
    let reader: Reader

    func requestRate(_ node: NodeID) -> RequestRate? {
        guard reader.tree.kind(node) == .mapping else {
            return reader.number(node, 0.001...1_000_000).map { RequestRate(perSecond: $0) }
        }
        var rate = RequestRate(perSecond: 1)
        Sections.requestRate.decode(node, into: &rate, reader)
        return rate
    }

    func minimumRate(_ node: NodeID) -> MinimumRate? {
        guard reader.tree.kind(node) == .mapping else { return reader.wrongType(node, .object("minimumRate")) }
        var floor = MinimumRate.blank
        Sections.minimumRate.decode(node, into: &floor, reader)
        return floor.rate > 0 && floor.over > .zero ? floor : nil
    }

    /// Reads one rate, or a list of rates with their hours.
    func bandwidth(_ node: NodeID) -> Bandwidth? {
        guard reader.tree.kind(node) == .sequence else { return reader.rate(node).map { .steady($0) } }
        if reader.tree.count(node) == 0 {
            return reader.error(
                "invalid-value", "`bandwidth` has no entry", hint: "leave it out where there is no limit", node)
        }
        let hours = reader.tree.children(node).compactMap { bandwidthHours($0) }
        return hours.isEmpty ? nil : .byTimeOfDay(hours)
    }

    private func bandwidthHours(_ node: NodeID) -> Bandwidth.Hours? {
        var draft = Sections.BandwidthDraft()
        let known = reader.problems.count
        Sections.bandwidthHours.decode(node, into: &draft, reader)
        if reader.problems.count == known, draft.from == draft.to {
            reader.error(
                "empty-window", "these hours end when they begin",
                hint: "for one rate at all times write `bandwidth: 10MiB/s`", at: reader.beginning(node))
        }
        return reader.problems.count == known ? draft.hours : nil
    }

    func hostLimits(_ node: NodeID) -> [RunLimits.HostLimit]? {
        var names: [String: String] = [:]
        return reader.named(node, .map(.object("hostLimit"))).compactMap { name, key, value in
            if let first = names.updateValue(name, forKey: name.lowercased()) {
                reader.error(
                    "duplicate-key", "the host `\(name)` is `\(first)` once more: letter case makes no other name",
                    hint: "write one of them", key)
            }
            guard let pattern = HostPattern(name) else {
                return reader.error(
                    "invalid-value", "`\(Reader.short(name))` is no host pattern",
                    hint: "such as `example.org` or `*.example.org`", key)
            }
            var draft = Sections.HostLimitDraft()
            Sections.hostLimit.decode(value, into: &draft, reader)
            return RunLimits.HostLimit(
                pattern: pattern, maximumConnections: draft.maximumConnections, requestsPerSecond: draft.rate)
        }
    }

    func stopRule(_ node: NodeID) -> RunLimits.StopRule? {
        var draft = Sections.StopRuleDraft.blank
        Sections.stopWhen.decode(node, into: &draft, reader)
        return draft.failed > 0 ? RunLimits.StopRule(failedPercent: draft.failed, atLeast: draft.atLeast) : nil
    }

    /// Reads a share such as `80%`, above 0 and up to 100.
    func failureShare(_ node: NodeID) -> Double? {
        let shape = Sections.failureShape
        switch reader.scalar(node, shape) {
        case .number(let number):
            let isShare = ValueText.number(number).map { $0 > 0 && $0 <= 100 } ?? false
            reader.invalid(node, shape, number, hint: isShare ? "write `\(number)%`" : nil)
        case .text(let text):
            guard let share = reader.plain(text, node) else { return nil }
            let digits = share.dropLast()
            if share.hasSuffix("%"), digits.utf8.allSatisfy({ $0 == 0x2E || (0x30...0x39).contains($0) }),
                let value = ValueText.number(String(digits)), value > 0, value <= 100
            {
                return value
            }
            reader.invalid(node, shape, share)
        case .boolean, .null: reader.wrongType(node, shape)
        case .unknown, nil: break
        }
        return nil
    }

    /// Reads `retry.attempts`: a number, or `unlimited` for none, which is `.some(nil)`.
    func attempts(_ node: NodeID) -> Int?? {
        let range: ClosedRange<Int64> = 1...1_000_000
        switch reader.scalar(node, .either([.integer(range), .choice(["unlimited"])])) {
        case .number: return reader.integer(node, range).map { .some(Int($0)) }
        case .text(let text) where text.plain == "unlimited": return .some(nil)
        case .text(let text) where reader.tree.hasDollar(node) && text.plain.flatMap { ValueText.integer($0) } != nil:
            return reader.integer(node, range).map { .some(Int($0)) }
        case .text, .boolean, .null:
            reader.wrongType(node, .either([.integer(range), .choice(["unlimited"])]))
            return nil
        case .unknown, nil: return nil
        }
    }
}
