import TextFormats
import TransferModel
import YAMLTree

/// Reads values that stand at the top level of a job and nowhere else.
extension Reader {
    func version(_ node: NodeID) {
        guard let text = text(node, .integer(1...1)) else { return }
        guard text == "1" else {
            return error(
                "unknown-version", "version `\(Self.short(text))` of the job language is not known",
                hint: "the only one known is 1", node)
        }
    }

    func report(_ node: NodeID, into plan: inout ReportPlan) {
        if tree.kind(node) == .mapping { return Sections.report.decode(node, into: &plan, self) }
        if tree.isWord(node, "none") { return plan.json = .none }
        guard tree.kind(node) == .scalar else { return wrongType(node, .either([.path, .object("report")])) }
        if let path = outputPath(node) { plan.json = .path(path) }
    }

    /// Reads a report's path. It is relative to the working folder and not to the job's, whose folder may not be
    /// writable.
    func outputPath(_ node: NodeID) -> String? {
        guard let text = text(node, .path, place: .path) else { return nil }
        guard !text.isEmpty, !text.utf8.contains(0), text != "-", !text.hasSuffix("/") else {
            let hint = text == "-" ? "standard output is asked for on the command line, as `--report -`" : nil
            error("invalid-value", "`\(key)` must be a path of a file, not `\(Self.short(text))`", hint: hint, node)
            return nil
        }
        let path = Paths.absolute(text, in: resources.workingDirectory)
        noteFile(.write, path, node)
        return path
    }

    func moment(_ node: NodeID) -> Moment? {
        guard let text = text(node, .moment) else { return nil }
        if let span = ValueText.duration(text) { return .afterStart(span) }
        if let time = RFC3339.parse(text) { return .at(time) }
        invalid(node, .moment, text, hint: dateHint(text))
        return nil
    }

    /// Returns a hint for text that lacks only a part of a date; else `nil`, as for a date that no calendar has.
    private func dateHint(_ text: String) -> String? {
        if RFC3339.parse(text + "Z") != nil { return "a date needs an offset, such as `Z` or `+01:00`: `\(text)Z`" }
        if RFC3339.parse(text + "T00:00:00Z") != nil { return "a date needs a time, too: `\(text)T00:00:00Z`" }
        // As people and other programs write it: a space between date and time, or no seconds.
        let date = text.prefix(10) + "T" + text.dropFirst(11)
        for meant in ["\(date)", "\(date)Z", "\(date):00Z"] where RFC3339.parse(meant) != nil {
            return "did you mean `\(meant)`?"
        }
        return ValueText.durationHint(text)
    }

    func date(_ node: NodeID) -> WallTime? {
        guard let text = text(node, Sections.dateShape) else { return nil }
        if let time = RFC3339.parse(text) { return time }
        invalid(node, Sections.dateShape, text)
        return nil
    }

    func hostLimits(_ node: NodeID) -> [RunLimits.HostLimit]? {
        var names: [String: String] = [:]
        return named(node, .map(.object("hostLimit"))).compactMap { name, key, value in
            if let first = names.updateValue(name, forKey: name.lowercased()) {
                error(
                    "duplicate-key", "the host `\(name)` is `\(first)` once more: letter case makes no other name",
                    hint: "write one of them", key)
            }
            guard let pattern = HostPattern(name) else {
                error(
                    "invalid-value", "`\(Self.short(name))` is no host pattern",
                    hint: "such as `example.org` or `*.example.org`", key)
                return nil
            }
            var draft = Sections.HostLimitDraft()
            Sections.hostLimit.decode(value, into: &draft, self)
            return RunLimits.HostLimit(
                pattern: pattern, maximumConnections: draft.maximumConnections, requestsPerSecond: draft.rate)
        }
    }

    func groups(_ node: NodeID) -> [GroupSpecification]? {
        named(node, .map(.object("group"))).compactMap { name, key, value in
            guard TaskName.isWellFormed(name) else {
                error(
                    "invalid-value", "`\(Self.short(name))` is no name for a group",
                    hint: "letters, digits, `.`, `_` and `-`", key)
                return nil
            }
            var draft = Sections.GroupDraft()
            Sections.group.decode(value, into: &draft, self)
            // A fault of `to` was reported already; the group still exists.
            let to = draft.to ?? SecretText(Paths.absolute(name, in: baseDirectory))
            var group = GroupSpecification(name: name, to: to)
            group.extraneous = draft.extraneous
            group.maximumRemovals = draft.maximumRemovals
            if group.extraneous == .remove {
                note(.remove, to.redacted, key)
            } else if draft.maximumRemovals != nil {
                error(
                    "useless-limit", "`maximumRemovals` of `\(name)` limits nothing: the group removes no files",
                    hint: "`extraneous: remove` removes the files that no member names", key)
            }
            return group
        }
    }

    /// Reads a number of files or a share of them.
    func removalLimit(_ node: NodeID) -> GroupSpecification.RemovalLimit? {
        if case .text? = scalar(node, .text) { return percent(node).map { .percent($0) } }
        return integer(node, 0...1_000_000_000).map { .count(Int($0)) }
    }

    /// Reads a share such as `80%`, from 0 to 100.
    func percent(_ node: NodeID) -> Double? {
        let shape = Sections.percentShape
        guard let text = text(node, shape) else { return nil }
        guard text.hasSuffix("%"), let value = ValueText.number(String(text.dropLast())), (0...100).contains(value)
        else {
            invalid(node, shape, text)
            return nil
        }
        return value
    }

    func stopRule(_ node: NodeID) -> RunLimits.StopRule? {
        var draft = Sections.StopRuleDraft.blank
        Sections.stopWhen.decode(node, into: &draft, self)
        return draft.failed > 0 ? RunLimits.StopRule(failedPercent: draft.failed, atLeast: draft.atLeast) : nil
    }

    /// Reads a share such as `80%`, above 0 and up to 100.
    func failureShare(_ node: NodeID) -> Double? {
        let shape = Sections.failureShape
        switch scalar(node, shape) {
        case .number(let number):
            let isShare = ValueText.number(number).map { $0 > 0 && $0 <= 100 } ?? false
            invalid(node, shape, number, hint: isShare ? "write `\(number)%`" : nil)
        case .text(let text):
            guard let share = plain(text, node) else { return nil }
            let digits = share.dropLast()
            if share.hasSuffix("%"), digits.utf8.allSatisfy({ $0 == 0x2E || (0x30...0x39).contains($0) }),
                let value = ValueText.number(String(digits)), value > 0, value <= 100
            {
                return value
            }
            invalid(node, shape, share)
        case .boolean, .null: wrongType(node, shape)
        case .unknown, nil: break
        }
        return nil
    }
}
