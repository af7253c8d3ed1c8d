import JobImport
import Testing

/// What a script sends one after the other, or waits for, the job sends in that order.
struct RequestOrderTests {
    /// The tasks of a script: `id needs when`.
    private static func order(_ script: String) -> (
        tasks: [String], result: (text: String, warnings: [String], taskCount: Int)
    ) {
        let result = JobImportTests.translated("#!/bin/sh\n\(script)\n")
        let tasks = result.text.split(separator: "  - id: ").dropFirst().map { block in
            let lines = block.split(separator: "\n")
            func value(_ key: String) -> Substring {
                lines.first { $0.hasPrefix("    \(key): ") }?.dropFirst(key.count + 6) ?? "-"
            }
            let id = block.firstRange(of: "https://a.test/").map { block[$0.upperBound...].prefix { $0 != "\"" } }
            return "\(id ?? "?") \(value("needs")) \(value("when"))"
        }
        return (tasks, result)
    }

    @Test(arguments: [
        "curl -sf https://a.test/up > /dev/null && break; sleep 1", "curl -sf https://a.test/up && break || sleep 1",
        "wget -q -O /dev/null https://a.test/up && break; sleep 1",
        "if curl -sf https://a.test/up; then break; fi; sleep 1",
        "\n  if curl -sf https://a.test/up; then\n echo there\n break\n fi\n echo waits\n sleep 1\n",
    ])
    func afterALoopThatWaits_allWaitForItsTask(_ body: String) {
        for (options, go) in [("", "-d go=1"), ("set -e\n", ""), ("", "-o x")] {
            let (tasks, result) = Self.order(
                "\(options)for i in $(seq 1 30); do \(body); done; curl \(go) https://a.test/go")
            #expect(tasks == ["up - -", "go [up] finished"], "\(result)")
            #expect(
                result.text.contains(
                    "retry: { attempts: 30, backoff: { initial: 1s, maximum: 1s, jitter: none }, statuses: [4xx, 5xx] }"
                ),
                "\(result.text)")
        }
    }

    @Test func loopThatWaitsInALoop_waitsInEachTurn() {
        let (tasks, result) = Self.order(
            "for h in a b; do for i in 1 2; do curl -sf https://a.test/$h && break; sleep 1; done; curl -d x https://a.test/$h/go; done"
        )
        #expect(tasks == ["${h} - -", "${h}/go [\"h-${h.index}\"] finished"], "\(result)")
    }

    /// The loop tries again what fails for the command; curl without `-f` fails at no status.
    @Test func loopThatTriesAgain_triesWhatFailsForItsCommand() {
        let result = JobImportTests.translated(
            "for i in 1 2; do curl -d x https://a.test/1 && break; done\n"
                + "for i in 1 2; do curl --retry 3 https://a.test/2 && break; done\n")
        #expect(
            result.text.contains(
                "retry: { attempts: 2, backoff: { initial: 0s, maximum: 0s, jitter: none }, statuses: [], nonIdempotent: true }"
            ), "\(result.text)")
        #expect(result.text.contains("retry: { attempts: 4 }") && result.warnings.count == 1, "\(result)")
    }

    /// What comes after such a loop needs its transfer.
    @Test(arguments: [
        "until curl -sf https://a.test/up >/dev/null; do", "while ! curl -sf https://a.test/up >/dev/null; do echo w",
    ])
    func loopThatTriesUntilSuccess_isTriedWithoutEnd(_ loop: String) {
        let result = JobImportTests.translated("\(loop)\n sleep 2\ndone\ncurl -X DELETE https://a.test/go\n")
        #expect(result.taskCount == 2 && result.warnings.isEmpty, "\(result)")
        #expect(
            result.text.contains(
                "retry: { attempts: 1000000, backoff: { initial: 2s, maximum: 2s, jitter: none }, statuses: [4xx, 5xx] }"
            ),
            "\(result.text)")
        #expect(result.text.contains("needs: [up]\n") && !result.text.contains("when: finished"), "\(result.text)")
    }

    @Test(arguments: [
        "until curl -sf https://b.test/up; do date; done",
        "while ! wget -q --frob https://b.test/up; do echo waits; done",
        "for i in 1 2 3; do curl -s https://b.test/up | grep -q ok && break; sleep 1; done",
        "for i in 1 2 3; do if curl -s https://b.test/up; then break; else exit 1; fi; done",
        "for ((i=$N; i<9; i++)); do curl -s https://b.test/up && break; done",
    ])
    func afterALoopThatIsLeftOutAndWaits_allIsLeftOut(_ loop: String) {
        let result = JobImportTests.translated("curl -O https://a.test/whole\n\(loop)\ncurl https://b.test/go\n")
        #expect(result.taskCount == 1 && !result.text.contains("https://b.test"), "\(result)")
        #expect(result.warnings.contains { $0.hasSuffix(" it from running: this curl was left out") })
    }

    @Test(arguments: [
        // What changes something comes after all before it, and before all after it.
        (
            "curl https://a.test/r1\ncurl -o x https://a.test/r2\ncurl -X DELETE https://a.test/d\ncurl https://a.test/r3\ncurl https://a.test/r4\ncurl -d a https://a.test/p",
            ["r1 - -", "r2 - -", "d [r1, r2] finished", "r3 [d] finished", "r4 [d] finished", "p [r3, r4] finished"]
        ),
        ("curl https://a.test/1\nwget https://a.test/2", ["1 - -", "2 - -"]),
        ("curl -d a https://a.test/1 https://a.test/2", ["1 - -", "2 [a.test] finished"]),
        // A value, and cookies, are used as far as they are there.
        (
            "T=$(curl -d u=1 https://a.test/in | jq -r .t)\ncurl -o a \"https://a.test/a?t=$T\"\ncurl -d t=$T https://a.test/p",
            ["in - -", "a?t=${raw:tasks.a.test.T} - -", "p [a] finished"]
        ),
        (
            "curl -c j -d u=1 https://a.test/in\ncurl -b j -o a https://a.test/a\ncurl -b j -d x https://a.test/p",
            ["in - -", "a [a.test] -", "p [a] -"]
        ),
        // Success is the order, too.
        ("set -e\ncurl -d a https://a.test/1\ncurl -d a https://a.test/2", ["1 - -", "2 [a.test] -"]),
        (
            "curl -X PUT https://a.test/1 && curl -d a https://a.test/2\ncurl https://a.test/3",
            [
                "1 - -", "2 [\"1\"] -", "3 [a.test] finished",
            ]
        ),
        // Only one of two branches is sent.
        (
            "curl -X DELETE https://a.test/d\nif curl -f https://a.test/c; then curl -d 1 https://a.test/up; else curl -d 2 https://a.test/no; curl -d 3 https://a.test/no2; fi\ncurl -d 4 https://a.test/end",
            [
                "d - -", "c [d] finished", "up [c] succeeded", "no [c] failed", "no2 [c, a.test-2] failed",
                "end [a.test, a.test-3] finished",
            ]
        ),
        (
            "curl -f https://a.test/c || { curl -d 2 https://a.test/no; exit 1; }\ncurl -d 4 https://a.test/go",
            ["c - -", "no [c] failed", "go [c] -"]
        ),
        // What the script does not wait for, nothing waits for.
        (
            "curl -d 1 https://a.test/1 & curl -d 2 https://a.test/2\nwait\ncurl -d 3 https://a.test/3",
            ["1 - -", "2 - -", "3 [a.test-2, a.test] finished"]
        ),
        (
            "{ curl -d 1 https://a.test/1; curl -d 2 https://a.test/2; } &\ncurl https://a.test/3",
            ["1 - -", "2 [a.test] finished", "3 - -"]
        ),
    ])
    func order_isThatOfTheScript(_ script: String, _ tasks: [String]) {
        let found = Self.order(script)
        #expect(found.tasks == tasks && found.result.warnings.isEmpty, "\(found.result)")
    }

    /// A job cannot wait for the success of one task and the end of another: success of both is safe, and named.
    @Test func endOfOneAndSuccessOfAnother_areWarnedOf() {
        let (tasks, result) = Self.order(
            "curl -o a https://a.test/a\ncurl -o b https://a.test/b\ncurl -T a https://a.test/up")
        #expect(tasks == ["a - -", "b - -", "up [a, b] -"], "\(result)")
        #expect(
            result.warnings.count == 1
                && result.warnings[0].hasPrefix("x:4: here `b` must succeed for it, not only end"))
    }

    /// Where that would keep it from being sent, it is left out.
    @Test func endOfWhatMayBePassedOver_andSuccessOfAnother_leaveTheTransferOut() {
        let (tasks, result) = Self.order(
            "curl -o a https://a.test/a\nif curl -f https://a.test/c; then curl -d 1 https://a.test/d; fi\ncurl -T a https://a.test/up"
        )
        #expect(tasks.count == 3 && result.warnings.count == 1, "\(result)")
        #expect(result.warnings[0].hasPrefix("x:4: a job cannot wait for how one transfer ends"))
    }

    @Test func turnsOfALoopThatSends_goOneAfterTheOther() {
        let alone = Self.order("for x in a b; do curl -d $x https://a.test/$x; done\ncurl https://a.test/end")
        #expect(alone.result.text.contains("maximumConcurrentTasks: 1") && alone.result.warnings.isEmpty)
        #expect(alone.tasks[1] == "end [\"a.test-*\"] finished", "\(alone)")
        let two = Self.order("for x in a b; do curl -d 1 https://a.test/$x; curl -d 2 https://a.test/$x; done")
        #expect(two.tasks == ["${x} - -", "${x} [\"a.test-${x.index}\"] finished"], "\(two.result)")
        #expect(two.result.warnings.count { $0.contains("but not of the turns") } == 2, "\(two.result.warnings)")
    }

    @Test func sleepBetweenTwoRequests_isNamed_andKeepsTheirOrder() {
        let (tasks, result) = Self.order("sleep 1\ncurl https://a.test/1\nsleep 5\ncurl https://a.test/2\nsleep 1")
        #expect(tasks == ["1 - -", "2 [\"1\"] finished"], "\(result)")
        #expect(result.warnings.count == 1 && result.warnings[0].hasPrefix("x:4: `sleep 5` is not translated"))
        let loop = Self.order("for x in 1 2; do curl https://a.test/$x; sleep 1; done")
        #expect(loop.result.warnings.count == 1 && loop.result.warnings[0].contains("requestsPerSecond"))
    }

    /// What decides is asked once, as the script asks.
    @Test(arguments: [
        (
            "if curl -f https://a.test/1; then curl -O https://a.test/2; else curl -d x https://a.test/3; fi",
            "attempts: 1"
        ),
        ("curl -f https://a.test/1 || curl https://a.test/2", "attempts: 1"),
        ("curl -fo x https://a.test/1 || curl -fo x https://a.test/2", "attempts: 1"),
        ("curl -f --retry 2 https://a.test/1 || curl https://a.test/2", "attempts: 3"),
    ])
    func taskOnWhoseFailureOthersHang_isAskedOnce(_ script: String, _ attempts: String) {
        let (_, result) = Self.order(script)
        let first = result.text.split(separator: "  - id: ")[1]
        #expect(first.contains("retry: { \(attempts) }"), "\(result.text)")
    }
}
