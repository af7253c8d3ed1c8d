import JobLoader
import Testing
import TransferModel

/// `needs: [group.NAME]` where the group is not simply there.
struct GroupNeedTests {
    private func loaded(_ tasks: String...) -> LoadResult {
        load("groups: { g: { to: g }, h: { to: h } }\ntasks:\n" + tasks.map { "  - \($0)\n" }.joined())
    }

    private let last = "{ id: z, url: 'https://a.test/', needs: [group.g] }"

    @Test func aGroupThatNobodyNamesIsAnError() {
        let result = loaded(last, "{ id: a, group: h, url: 'https://a.test/', to: a }")
        #expect(result.summary == ["3:46 empty-group"])
        #expect(
            result.messages == """
                no task is in the group `g`: it is never published (write `group: g` into the tasks that are)
                """)
    }

    /// An empty list means no task and a warning.
    @Test(arguments: ["group: g", "group: '${q}'"]) func aGroupOfAnEmptyListIsNone(_ group: String) throws {
        let result = loaded("{ id: 'a${q}', forEach: { q: [] }, \(group), url: 'https://a.test/', to: '${q}' }", last)
        #expect(result.summary == ["3:34 warning empty-for-each"], "\(result.messages)")
        #expect(try #require(result.job).tasks.map(\.id) == ["z"])
    }

    /// So `needs` of its tasks is met by none: the warning says it all.
    @Test(arguments: ["a-*", "a-1", "[z2, a-*]"]) func needsOfAnEmptyListAreMet(_ needs: String) throws {
        let result = loaded(
            "{ id: 'a-${q}', forEach: { q: [] }, url: 'https://a.test/' }", "{ id: z2, url: 'https://a.test/' }",
            "{ id: z, url: 'https://a.test/', needs: \(needs.hasPrefix("[") ? needs : "[\(needs)]") }")
        #expect(result.summary == ["3:35 warning empty-for-each"], "\(result.messages)")
        #expect(try #require(result.job).tasks.map(\.id) == ["z2", "z"])
    }

    @Test(arguments: ["b-*", "b-1"]) func needsOfOtherTasksAreNot(_ needs: String) {
        let result = loaded(
            "{ id: 'a-${q}', forEach: { q: [] }, url: 'https://a.test/' }",
            "{ id: z, url: 'https://a.test/', needs: ['\(needs)'] }")
        #expect(result.summary.count == 2 && result.summary.contains { $0.hasSuffix("unknown-task") })
    }

    @Test func whoNeedsAGroupNeedsItsMembers() {
        let member = "{ id: a, group: g, url: 'https://a.test/', to: a }"
        let read = "url: 'https://a.test/', body: { file: g/a }"
        #expect(loaded(member, "{ id: b, \(read), needs: [group.g] }").summary == [])
        #expect(loaded(member, last, "{ id: b, \(read), needs: [z] }").summary == [])
        #expect(loaded(member, "{ id: b, \(read) }").summary == ["4:44 missing-need"])
        let deep = "{ id: m, group: h, url: 'https://a.test/m', to: m, needs: [group.g] }"
        #expect(loaded(member, deep, "{ id: b, \(read), needs: [group.h] }").summary == [])
        let checked = "{ id: b, url: 'https://a.test/b', to: b, checksum: { from: a }, needs: [group.g] }"
        #expect(loaded(member, checked).summary == [])
    }

    @Test func whatIsChosenBringsItsGroupsAlong() throws {
        let job = try #require(
            loaded(
                "{ id: s, url: 'https://a.test/' }",
                "{ id: a, group: g, url: 'https://a.test/', to: a, needs: [s] }",
                "{ id: b, group: g, url: 'https://a.test/', to: b }",
                "{ id: c, group: h, url: 'https://a.test/', to: c }", last
            ).job)
        #expect(try TaskSelection(only: ["z"]).apply(to: job).tasks.map(\.id) == ["s", "a", "b", "z"])
        #expect(try TaskSelection(only: ["a"]).apply(to: job).tasks.map(\.id) == ["s", "a"])
    }
}
