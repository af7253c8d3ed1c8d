import Glibc
import TestSupport

// Random jobs in random worlds, by the thousand: `make test` calls this in its release build, where a run takes a tenth
// of a millisecond. `usage: simulation-check RUNS [FIRST-SEED]`; a single run is told line by line. Without a seed it
// takes TRANSFER_RUN_SEED.

let arguments = CommandLine.arguments.dropFirst().map { UInt64($0) }
let given = getenv("TRANSFER_RUN_SEED").flatMap { UInt64(String(cString: $0)) }
guard arguments.allSatisfy({ $0 != nil }) else {
    print("usage: simulation-check RUNS [FIRST-SEED]")
    exit(2)
}
let runs = arguments.first.flatMap { $0 } ?? 20_000
let first = arguments.dropFirst().first.flatMap { $0 } ?? given ?? UInt64.random(in: 0...UInt64.max)
if runs == 1 {
    RunNarrator.tell(seed: first)
    print("\nThe same where its process ends now and then, by its events:")
    _ = InterruptedRun.check(seed: first) { print(RunNarrator.short($0)) }
}
exit(ManyRuns(first: first, count: runs).check() ? 0 : 1)
