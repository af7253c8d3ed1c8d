import BackgroundService
import Diagnostics
import JobLoader
import Reporting
import TransferModel

extension RerunAdvice {
    /// Flags that only affect what people see.
    private static let shown: Set<FlagName> = [.progress, .color, .verbose, .quiet, .help, .version]
    /// Flags that say how long the command stays: one that did not wait would not wait again.
    private static let staying: Set<FlagName> = [.noWait, .detach]
    private static let selecting: Set<FlagName> = [.only, .except]

    /// Takes the typed flags with their values; environment variables will apply again by themselves.
    init(typed: [FlagName: [String]]) {
        self.init()
        for flag in FlagTable.flags(of: .run) where !Self.shown.union(Self.staying).contains(flag.name) {
            guard let values = typed[flag.name] else { continue }
            if flag.name == .set {
                assignments = values
                continue
            }
            let words = Self.words(flag, values)
            if Self.selecting.contains(flag.name) { selection += words } else { options += words }
        }
    }

    /// Takes the options with which an earlier command handed the run over, and `here`, those of this command.
    init(_ recipe: RunRecipe, here: RerunAdvice) {
        self.init(typed: Self.values(of: recipe))
        options += here.options
    }

    /// Returns the options of the command that handed the run over, with their values.
    static func values(of recipe: RunRecipe) -> [FlagName: [String]] {
        var values: [FlagName: [String]] = [:]
        let (load, changes) = (recipe.inputs.options, recipe.changes)
        if !load.set.isEmpty { values[.set] = load.set.map { "\($0.name)=\($0.value)" } }
        values[.variablesFile] = load.variablesFile.map { [$0] }
        values[.secretsFile] = load.secretsFile.map { [$0] }
        values[.directory] = load.directory.map { [$0] }
        values[.policy] = load.policy.map { [$0.source.name] }
        values[.only] = recipe.selection.only
        values[.except] = recipe.selection.except
        values[.maxConcurrent] = changes.maximumConcurrentTasks.map { ["\($0)"] }
        values[.bandwidth] = changes.bandwidth.map { ["\($0)/s"] }
        values[.network] = changes.network.map { [$0] }
        for (name, isOn) in [
            (FlagName.failFast, changes.failsFast), (.exitUnchanged, changes.reportsUnchanged),
            (.detach, recipe.isDetached),
        ] { values[name] = isOn ? [] : nil }
        return values
    }

    private static func words(_ flag: Flag, _ values: [String]) -> [String] {
        if flag.shape == .toggle { return [flag.long] }
        // After a space the value would be read as the next option.
        return values.flatMap { $0.hasPrefix("--") ? ["\(flag.long)=\($0)"] : [flag.long, $0] }
    }
}
