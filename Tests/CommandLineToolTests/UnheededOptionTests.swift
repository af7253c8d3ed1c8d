import BackgroundService
import CommandLineTool
import Diagnostics
import JobLoader
import Testing

/// Options of a command that comes back to a run.
struct UnheededOptionTests {
    private func recipe(
        set: [(name: String, value: String)] = [], _ change: (inout RunRecipe) -> Void = { _ in }
    ) -> RunRecipe {
        let resources = Resources(
            environment: { _ in nil }, readFile: { _, _ in .failure(.notFound) },
            listFiles: { _, _ in .failure(.notFound) }, workingDirectory: "/")
        let inputs = InputRecorder(resources).recorded(
            SourceText(name: "job.yaml", bytes: []), options: LoadOptions(set: set))
        var recipe = RunRecipe(inputs, sha256: nil, delivery: "d")
        change(&recipe)
        return recipe
    }

    @Test func flags_ofTheSameCommandAgain_areNone() {
        let recipe = recipe(set: [("a", "1")]) {
            $0.changes.network = "none"
            $0.changes.maximumConcurrentTasks = 3
            $0.changes.failsFast = true
            $0.selection.only = ["x"]
        }
        #expect(UnheededOptions.flags(of: recipe, earlier: recipe) == [])
    }

    @Test func flags_thatSayOtherThings_areNamed() {
        let earlier = recipe(set: [("a", "1")]) { $0.changes.network = "none" }
        let now = recipe(set: [("a", "2")]) {
            $0.changes.network = "wifi"
            $0.changes.maximumConcurrentTasks = 3
            $0.changes.bandwidth = 1000
            $0.changes.reportsUnchanged = true
            $0.selection.except = ["x"]
        }
        #expect(
            UnheededOptions.flags(of: now, earlier: earlier) == [
                .set, .except, .maxConcurrent, .bandwidth, .exitUnchanged, .network,
            ])
        #expect(UnheededOptions.flags(of: recipe(), earlier: earlier) == [], "what is not said changes nothing")
    }

    @Test func detach_countsForTheCommand() {
        let leaving = recipe { $0.isDetached = true }
        #expect(UnheededOptions.flags(of: leaving, earlier: recipe()) == [])
    }
}
