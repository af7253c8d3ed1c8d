package import BackgroundService
import JobLoader
import LockFiles
import Reporting
import Stores
import TransferModel

/// Options of a command that came back to a run, which change nothing of what an earlier command handed over.
package enum UnheededOptions {
    /// Flags that count for a command that comes back: secrets may bring a credential, and the command itself follows
    /// `--detach`.
    private static let heeded: Set<FlagName> = [.secretsFile, .detach]

    /// Returns the flags that say something else than those of the earlier command, in the order of the table.
    package static func flags(of recipe: RunRecipe, earlier: RunRecipe) -> [FlagName] {
        let (now, before) = (RerunAdvice.values(of: recipe), RerunAdvice.values(of: earlier))
        let changed = FlagTable.all.map(\.name).filter { name in
            // `rerun` chooses its tasks by itself.
            if name == .only || name == .except, !recipe.selection.addsNeeds { return false }
            guard let values = now[name], !(values.isEmpty && FlagTable[name].isList) else { return false }
            return values != before[name]
        }
        var found = changed.filter { !heeded.contains($0) }
        if let held = recipe.held, held != earlier.held { found.append(held.kind == .lock ? .locked : .plan) }
        return found
    }

    /// Returns the warning that names them; `nil` if there are none.
    static func warning(of recipe: RunRecipe, earlier: RunRecipe, _ identifier: String, _ folder: StateFolder)
        -> String?
    {
        let names = flags(of: recipe, earlier: earlier).map { "`\(FlagTable[$0].long)`" }
        guard let last = names.last else { return nil }
        let all = names.count == 1 ? last : "\(names.dropLast().joined(separator: ", ")) and \(last)"
        return "warning: \(all) \(names.count == 1 ? "does" : "do") not count for what was handed over before: it "
            + "goes on as it was handed over\n"
            + "  hint: \(folder.command("cancel", identifier)) ends it; then the same command begins anew\n"
    }
}
