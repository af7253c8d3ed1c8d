import JobLoader
import Testing
import TransferModel

/// Where `check` warns that the cache may give an old answer to a task whose answer decides something.
struct StaleAnswerTests {
    /// The task's first line stands in line 7, and the session's in line 3.
    private func summary(_ task: String, session: String = "cachePolicy: useProtocolCachePolicy") -> [String] {
        load(
            """
            sessions:
              default:
                \(session)
            tasks:
              - id: a
                url: https://example.org/a
                \(task)
            """
        ).summary
    }

    @Test(arguments: ["returnCacheDataElseLoad", "returnCacheDataDontLoad"])
    func policyOfATask_isWarnedOf(_ policy: String) {
        for use in [
            "expect: { body: { contains: ok } }", "expect: { status: 200 }", "capture: { v: { header: X } }",
            "next: { link: next }",
        ] {
            #expect(summary("cachePolicy: \(policy)\n    \(use)") == ["7:18 warning stale-answer"], "\(use)")
        }
        #expect(summary("cachePolicy: \(policy)") == [])
        #expect(summary("cachePolicy: \(policy)\n    expect: { status: 2xx }") == [])
    }

    @Test func taskThatOthersAreMadeOf_isWarnedOf() {
        let result = load(
            """
            tasks:
              - { id: page, url: https://example.org/, cachePolicy: returnCacheDataElseLoad }
              - { id: "get-${l.name}", forEach: { l: { links: { task: page } } }, url: "${l}", to: "out/${l.name}" }
            """)
        #expect(result.summary == ["2:57 warning stale-answer"])
        #expect(
            result.messages
                == "`returnCacheDataElseLoad` lets `page` have an old answer, and other tasks are made of it"
                + " (`cachePolicy: useProtocolCachePolicy` asks the server once its answer's lifetime is over)")
    }

    /// The place is that of the key, once for all tasks that share it.
    @Test func keyOfDefaultsOrSession_isWarnedOfOnce() {
        let tasks = """
            tasks:
              - { id: a, url: https://example.org/a, expect: { notHTML: true } }
              - { id: b, url: https://example.org/b, expect: { notHTML: true } }
            """
        #expect(
            load("defaults: { cachePolicy: returnCacheDataElseLoad }\n" + tasks).summary
                == ["1:26 warning stale-answer"])
        #expect(
            load("sessions: { default: { cachePolicy: returnCacheDataElseLoad } }\n" + tasks).summary
                == ["1:37 warning stale-answer"])
        #expect(
            load("sessions: { default: { cache: { guessLifetime: true } } }\n" + tasks).summary
                == ["1:48 warning stale-answer"])
        let copy = "sessions: { b: { cache: { guessLifetime: true } }, default: { extends: b } }\n"
        #expect(load(copy + tasks).summary == ["1:42 warning stale-answer"])
    }

    /// No false alarms: nothing of an earlier run can be used there, or the server is asked all the same.
    @Test func whatIsAskedAnyway_isNotWarnedOf() {
        let expect = "expect: { notHTML: true }"
        let guess = "cache: { guessLifetime: true }"
        #expect(summary(expect, session: guess) == ["3:29 warning stale-answer"])
        #expect(summary("", session: guess) == [])
        #expect(summary("cachePolicy: reloadIgnoringCacheData\n    \(expect)", session: guess) == [])
        #expect(summary("headers: { Cache-Control: no-cache }\n    \(expect)", session: guess) == [])
        #expect(summary("method: POST\n    \(expect)", session: guess) == [])
        #expect(summary("body: { data: x }\n    \(expect)", session: guess) == [])
        let policy = "cachePolicy: returnCacheDataElseLoad\n    \(expect)"
        #expect(summary(policy, session: "configuration: ephemeral") == [])
        #expect(summary(policy, session: "cache: none") == [])
        #expect(summary(expect, session: "cache: { guessLifetime: false }") == [])
    }
}
