import Exports
import Reporting
import SystemIO
import TransferModel

/// The subcommands of `transfer-run report`.
enum ReportVerb: String {
    case convert, diff, merge

    private var usage: String {
        switch self {
        case .convert: "convert REPORT"
        case .diff: "diff OLD NEW"
        case .merge: "merge REPORT…"
        }
    }

    private var count: ClosedRange<Int> {
        switch self {
        case .convert: 1...1
        case .diff: 2...2
        case .merge: 1...Int.max
        }
    }

    private var flags: [FlagName] {
        switch self {
        case .convert: ReportFormat.allCases.map { FlagTable.name(of: $0) }
        case .diff: [.failOn]
        case .merge: [.output]
        }
    }

    func check(_ typed: TypedArguments) throws(UsageError) {
        let hint = "usage: transfer-run report \(usage)"
        let reports = typed.operands.dropFirst()
        if reports.count < count.lowerBound {
            throw UsageError(
                "`transfer-run report \(rawValue)` needs \(count.lowerBound == 1 ? "a report" : "two reports")",
                hint: hint)
        }
        if reports.count > count.upperBound {
            let extra = typed.operands[1 + count.upperBound]
            throw UsageError("`transfer-run report \(rawValue)` does not take `\(extra)`", hint: hint)
        }
        if reports.count(where: { $0 == "-" }) > 1 {
            throw UsageError("standard input can be only one of the reports", hint: hint)
        }
        for name in typed.values.keys.sorted(by: { $0.rawValue < $1.rawValue }) where !flags.contains(name) {
            throw UsageError("`--\(name.rawValue)` is not an option of `report \(rawValue)`", hint: hint)
        }
        for path in reports where path != "-" { try WorkingFolder.check(path) }
    }
}

extension CommandLineTool {
    /// Prints what changed between two reports.
    static func diff(_ typed: TypedArguments, _ console: Console) throws(UsageError) -> Int32 {
        let kinds = try failures(typed.values[.failOn] ?? [])
        do throws(ReportProblem) {
            let old = try ReportReader(ReportFile.given(typed.operands[1]), reading: ReportDiff.parts)
            let new = try ReportReader(ReportFile.given(typed.operands[2]), reading: ReportDiff.parts)
            var diff = ReportDiff(old: old.head, new: new.head)
            while let task = try old.next() { diff.add(old: task) }
            while let task = try new.next() { diff.add(new: task) }
            diff.finish()
            print(diff.lines(), console)
            return kinds.contains { diff.contains($0) } ? ExitStatus.failed.code : ExitStatus.succeeded.code
        } catch {
            return console.failed(error, .invalidInput)
        }
    }

    private static func failures(_ words: [String]) throws(UsageError) -> Set<ReportDiff.Kind> {
        var kinds: Set<ReportDiff.Kind> = []
        let known = ReportDiff.Kind.allCases.filter { $0 != .mended }
        for word in words.flatMap({ $0.split(separator: ",").map { String($0) } }) {
            if word == "any" {
                kinds.formUnion(known)
            } else if let kind = known.first(where: { $0.rawValue == word }) {
                kinds.insert(kind)
            } else {
                let listed = (known.map(\.rawValue) + ["any"]).map { "`\($0)`" }.joined(separator: ", ")
                throw UsageError("`--fail-on` cannot be `\(word)`", hint: "it is one of \(listed)")
            }
        }
        return kinds
    }

    /// Writes the reports of several runs as one.
    static func merge(_ typed: TypedArguments, _ console: Console) throws(UsageError) -> Int32 {
        let path = typed.values[.output]?.last ?? "-"
        try WorkingFolder.check(path == "-" ? nil : path)
        do {
            let merge = ReportMerge(try typed.operands.dropFirst().map { try ReportFile.given($0) })
            if path == "-" {
                try merge.write(to: DescriptorSink.standardOutput)
            } else {
                let file = try AtomicFile(path)
                try merge.write(to: file)
                try file.commit(isDurable: false)
            }
            return ExitStatus.succeeded.code
        } catch let problem as ReportProblem {
            return console.failed(problem, .invalidInput)
        } catch {
            return console.failed(error)
        }
    }
}
