import Glibc
import TestSupport
import TransferModel

// Answers that no good server gives, by the thousand, against the built program (`TRANSFER_RUN_BINARY`).
// `usage: response-fuzz [--seconds N | --responses N] [--seed N]`; a run's seed brings back its answers.

func refuse() -> Never {
    print("usage: response-fuzz [--seconds N | --responses N] [--seed N]")
    exit(2)
}

var seconds: UInt64?
var responses: UInt64?
var given: UInt64?
var words = CommandLine.arguments.dropFirst()
while let word = words.popFirst() {
    guard let number = words.popFirst().flatMap({ UInt64($0) }) else { refuse() }
    switch word {
    case "--seconds": seconds = number
    case "--responses": responses = number
    case "--seed": given = number
    default: refuse()
    }
}
if seconds != nil, responses != nil { refuse() }
let first = given ?? UInt64.random(in: 0...UInt64.max)
let wanted = seconds == nil ? responses ?? 100_000 : UInt64.max
let start = time(nil)
print("response-fuzz --seed \(first)")
var seed = first
var answers = 0
var published = 0
var runs = 0
while answers < wanted, seconds.map({ time(nil) - start < Int($0) }) ?? true {
    do {
        let outcome = try FuzzRun.check(seed: seed)
        answers += outcome.answers
        published += outcome.published
        runs += 1
        if let problem = outcome.problem {
            print("response-fuzz --responses 1 --seed \(seed) brings it back: \(problem)")
            exit(1)
        }
    } catch {
        print("seed \(seed): \(error)")
        exit(1)
    }
    seed &+= 1
}
print("\(answers) answers in \(runs) runs, \(published) files published: no rule broken")
