import CommandLineTool
import TestSupport
import Testing

/// The completion scripts as they are written from the tables.
struct CompletionScriptTests {
    @Test(arguments: ["bash", "zsh", "fish"])
    func scriptsFollowFromTheTables(_ shell: String) throws {
        var text = ""
        let console = Console(output: { text += $0 }, errors: { _ in })
        #expect(CommandLineTool.main(arguments: ["completions", shell], environment: [:], console: console) == 0)
        try Snapshot.check(text, "Golden/completions.\(shell)")
        for entry in CommandTable.all where entry.isBuilt { #expect(text.contains(entry.name.rawValue)) }
        for flag in FlagTable.all where flag.isBuilt { #expect(text.contains(flag.name.rawValue)) }
    }
}
