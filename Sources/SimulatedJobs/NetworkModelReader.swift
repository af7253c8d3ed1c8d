package import Diagnostics
import JobLoader
import TransferModel
import YAMLTree

/// Reads the file of `--model`: hosts by pattern, with mistakes told at their line and column.
package enum NetworkModelReader {
    private static let keys = [
        "latency", "spread", "connect", "bandwidth", "connectionBandwidth", "maximumConnections", "version", "size",
        "statuses", "faults", "retryAfter",
    ]

    /// Reads a model; it is `nil` if there are errors.
    package static func read(_ source: SourceText) -> (model: NetworkModel?, diagnostics: DiagnosticList) {
        var parsed = DiagnosticList()
        guard let tree = YAMLTree.parse(source, into: &parsed) else { return (nil, parsed) }
        let reader = FieldReader(tree, problems: parsed)
        guard let root = tree.root, tree.kind(root) == .mapping else {
            var problems = reader.problems
            problems.error(
                "empty-file", "this is no model of a network: a map with `hosts` is wanted",
                hint: "`hosts: { \"*\": { latency: 40ms, bandwidth: 10MiB/s } }`", at: SourceSpan(line: 1, column: 1),
                in: source)
            return (nil, problems)
        }
        var model = NetworkModel(source: source.name)
        reader.fields(root, "a model", known: ["hosts", "delivery"]) { name, node in
            if name == "delivery" {
                model.delivery = duration(node, name, reader) ?? .zero
            } else {
                reader.map(node, "`hosts`") { pattern, key, value in
                    guard let hosts = HostPattern(pattern) else {
                        return reader.error(
                            "invalid-value", "`\(pattern)` is no host pattern",
                            hint: "`example.org`, `*.example.org` or `*`, with `:8080` for one port", key)
                    }
                    model.rules.append(NetworkModel.Rule(hosts, host(value, pattern, reader)))
                }
            }
        }
        if !reader.problems.hasErrors, model.rules.isEmpty {
            reader.error("missing-key", "`hosts` is missing or empty", root)
        }
        return (reader.problems.hasErrors ? nil : model, reader.problems)
    }

    private static func host(_ node: YAMLTree.NodeID, _ name: String, _ reader: FieldReader) -> NetworkModel.Host {
        var host = NetworkModel.Host()
        reader.fields(node, "`\(name)`", known: keys) { key, value in
            switch key {
            case "latency": host.latency = duration(value, key, reader) ?? host.latency
            case "spread": host.spread = reader.number(value, key, 0...10) ?? host.spread
            case "connect": host.connect = duration(value, key, reader) ?? host.connect
            case "bandwidth": host.bandwidth = rate(value, key, reader)
            case "connectionBandwidth": host.connectionBandwidth = rate(value, key, reader)
            case "maximumConnections":
                host.maximumConnections = reader.integer(value, key, 1...1_000_000).map { Int($0) }
            case "version": host.isShared = version(value, reader)
            case "size": host.size = sizes(value, reader) ?? host.size
            case "statuses": host.statuses = statuses(value, reader)
            case "faults": faults(value, &host, reader)
            default: host.retryAfter = duration(value, key, reader)
            }
        }
        if host.faults > 1000 {
            reader.error("out-of-range", "`statuses` and `faults` of `\(name)` are more than 100 % together", node)
        }
        return host
    }

    private static func version(_ node: YAMLTree.NodeID, _ reader: FieldReader) -> Bool {
        let text = reader.text(node, "version")
        if let text, !["1.1", "2"].contains(text) {
            reader.error("invalid-value", "`version` must be \"1.1\" or \"2\", not `\(text)`", node)
        }
        return text == "2"
    }

    private static func statuses(_ node: YAMLTree.NodeID, _ reader: FieldReader) -> [Int: Int] {
        var statuses: [Int: Int] = [:]
        reader.map(node, "`statuses`") { name, key, value in
            guard let status = Int(name), (400...599).contains(status) else {
                return reader.error("invalid-value", "`\(name)` is no status from 400 to 599", key)
            }
            statuses[status] = share(value, name, reader) ?? 0
        }
        return statuses
    }

    private static func faults(_ node: YAMLTree.NodeID, _ host: inout NetworkModel.Host, _ reader: FieldReader) {
        reader.fields(node, "`faults`", known: ["cut", "hangUp", "timeout"]) { name, value in
            let share = share(value, name, reader) ?? 0
            switch name {
            case "cut": host.cuts = share
            case "hangUp": host.hangUps = share
            default: host.timeouts = share
            }
        }
    }

    // MARK: Values

    private static func duration(_ node: YAMLTree.NodeID, _ name: String, _ reader: FieldReader) -> TimeSpan? {
        guard let text = reader.text(node, name) else { return nil }
        if let span = ValueText.duration(text) { return span }
        reader.error(
            "invalid-value", "`\(name)` must be a duration such as `40ms`, not `\(text)`",
            hint: ValueText.durationHint(text), node)
        return nil
    }

    private static func rate(_ node: YAMLTree.NodeID, _ name: String, _ reader: FieldReader) -> Int64? {
        guard let text = reader.text(node, name) else { return nil }
        if let rate = ValueText.rate(text), rate > 0 { return rate }
        reader.error(
            "invalid-value", "`\(name)` must be a rate such as `10MiB/s`, not `\(text)`",
            hint: ValueText.rateHint(text), node)
        return nil
    }

    private static func size(_ node: YAMLTree.NodeID, _ name: String, _ reader: FieldReader) -> Int64? {
        guard let text = reader.text(node, name) else { return nil }
        if let size = ValueText.size(text) { return size }
        let hint = ValueText.unitHint(text, isRate: false)
        reader.error("invalid-value", "`\(name)` must be a size such as `4MiB`, not `\(text)`", hint: hint, node)
        return nil
    }

    /// Reads one size, or `{ minimum, maximum }`, between which each file has one.
    private static func sizes(_ node: YAMLTree.NodeID, _ reader: FieldReader) -> ClosedRange<Int64>? {
        guard reader.tree.kind(node) == .mapping else { return size(node, "size", reader).map { $0...$0 } }
        var (least, most): (Int64?, Int64?)
        reader.fields(node, "`size`", known: ["minimum", "maximum"]) { name, value in
            if name == "minimum" { least = size(value, name, reader) } else { most = size(value, name, reader) }
        }
        guard let least, let most, least <= most else {
            if !reader.problems.hasErrors {
                reader.error("invalid-value", "`size` needs `minimum` and `maximum`, the smaller one first", node)
            }
            return nil
        }
        return least...most
    }

    /// Reads a share such as `1%` or `0.5%`; returns it in thousandths.
    private static func share(_ node: YAMLTree.NodeID, _ name: String, _ reader: FieldReader) -> Int? {
        guard let text = reader.text(node, name) else { return nil }
        guard text.hasSuffix("%"), let percent = Double(text.dropLast()), percent.isFinite, percent >= 0 else {
            reader.error("invalid-value", "`\(name)` must be a share such as `0.5%`, not `\(text)`", node)
            return nil
        }
        let share = (percent * 10).rounded()
        guard percent <= 100, percent == 0 || share >= 1 else {
            reader.error("out-of-range", "`\(name)` must be 0 or from 0.1% to 100%, not `\(text)`", node)
            return nil
        }
        return Int(share)
    }
}
