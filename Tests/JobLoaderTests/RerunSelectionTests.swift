import JobLoader
import Testing
import TransferModel

/// Which tasks run again, and what runs along.
struct RerunSelectionTests {
    private static let text = """
        groups: { site: { to: www } }
        tasks:
          - { id: a, url: https://a.test/a, to: a }
          - { id: b, url: https://a.test/b, to: b, needs: [a] }
          - { id: login, url: https://a.test/l, capture: { token: { json: $.t } } }
          - { id: use, url: "https://a.test/u?${tasks.login.token}", needs: [b] }
          - { id: g1, url: https://a.test/1, to: "1", group: site }
          - { id: g2, url: https://a.test/2, to: "2", group: site, needs: [a] }
          - { id: list, url: https://a.test/n, capture: { names: { json: "$[*]", all: true } } }
          - { id: "get-${n}", forEach: { n: { captured: tasks.list.names } }, url: "https://a.test/f/${n}" }
        """

    private func chosen(_ ids: String...) throws -> (run: [String], RerunSelection) {
        let result = load(Self.text)
        let job = try #require(result.job, "\(result.messages)")
        let selection = RerunSelection(job, ids: ids)
        return (try selection.selection.apply(to: job).tasks.map(\.id), selection)
    }

    @Test func whatATaskNeedsDoesNotRunAgain() throws {
        let (run, choice) = try chosen("b")
        #expect(run == ["b"] && choice.added.isEmpty && choice.gone.isEmpty)
    }

    @Test func whoseCapturesAreUsedRunsAlong() throws {
        let (run, choice) = try chosen("use")
        #expect(run == ["login", "use"] && choice.added == ["login"] && choice.askedCount == 1)
    }

    /// What a task made that runs again is there to be tidied up once more.
    @Test func whatTidiesUpRunsAgainBehindIt() throws {
        let tidies =
            Self.text + "\n  - { id: tidy, url: https://a.test/t, method: DELETE, needs: [use], when: finished }"
        let job = try #require(load(tidies).job)
        #expect(RerunSelection(job, ids: ["use"]).selection.only == ["login", "use", "tidy"])
        #expect(RerunSelection(job, ids: ["a"]).selection.only == ["a"])
    }

    @Test func membersOfAGroupRunTogether() throws {
        let (run, choice) = try chosen("g1")
        #expect(run == ["g1", "g2"] && choice.added == ["g2"])
    }

    @Test func aTaskOfATemplateBringsTheTemplateAndItsSource() throws {
        let (run, choice) = try chosen("get-x", "get-y")
        #expect(run == ["list", "get-${n}"] && choice.added == ["list"] && choice.askedCount == 1)
        #expect(choice.selection == TaskSelection(only: ["list", "get-x", "get-y"], addsNeeds: false))
    }

    /// A template that was asked for by its own id, or whose group is published whole, runs with all of its tasks.
    @Test func allTasksOfATemplateRunWhereOneAloneCannot() throws {
        #expect(try chosen("get-x", "get-${n}").1.selection.only == ["list", "get-${n}"])
        let grouped = Self.text.replacing(
            "https://a.test/f/${n}\"", with: "https://a.test/f/${n}\", group: site, to: a")
        let job = try #require(load(grouped).job, "\(load(grouped).messages)")
        let choice = RerunSelection(job, ids: ["get-x"])
        #expect(choice.selection.only == ["g1", "g2", "list", "get-${n}"])
        #expect(choice.added == ["g1", "g2", "list", "get-${n}"])
    }

    @Test func whatNeedsTheTasksOfATemplateDoesNotWidenTheChoice() throws {
        let job = try #require(load(Self.text + "\n  - { id: all, url: https://a.test/, needs: [get-*] }").job)
        let selection = RerunSelection(job, ids: ["get-x", "all"]).selection
        #expect(selection.only == ["list", "get-x", "all"])
        #expect(try selection.apply(to: job).tasks.map(\.id) == ["list", "get-${n}", "all"])
    }

    /// Those whose `when` was not met are judged anew, down to the last that follows.
    @Test func whatWasPassedOverRunsAgainWhereItsNeedDoes() throws {
        let text = """
            groups: { site: { to: www } }
            tasks:
              - { id: bad, url: https://a.test/a, to: a }
              - { id: good, url: https://a.test/b, to: b }
              - { id: g, url: https://a.test/1, to: "1", group: site }
              - { id: whens, when: succeeded, url: https://a.test/, needs: [bad] }
              - { id: behind, when: succeeded, url: https://a.test/, needs: [whens] }
              - { id: star, when: succeeded, url: https://a.test/, needs: ["*"] }
              - { id: alarm, when: failed, url: https://a.test/, needs: [good] }
              - { id: published, when: succeeded, url: https://a.test/, needs: [group.site] }
            """
        let job = try #require(load(text).job, "\(load(text).messages)")
        let passedOver = ["behind", "whens", "star", "alarm", "published"]
        func asked(_ ids: String...) throws -> [String] {
            let choice = RerunSelection(job, ids: ids, passedOver: passedOver)
            let run = try choice.selection.apply(to: job).tasks.map(\.id)
            #expect(Set(run) == Set(choice.asked) && choice.askedCount == run.count && choice.added.isEmpty)
            return choice.asked
        }
        #expect(try asked("bad") == ["bad", "behind", "whens", "star"])
        #expect(try asked("good") == ["good", "star", "alarm"])
        #expect(try asked("g") == ["g", "star", "published"])
        #expect(RerunSelection(job, ids: ["bad"]).asked == ["bad"])
    }

    @Test func whatTheJobLacksIsTold() throws {
        let (run, choice) = try chosen("a", "old", "older")
        #expect(run == ["a"] && choice.gone == ["old", "older"])
        #expect(try chosen("old").1.askedCount == 0)
    }

    @Test func manyIdsAreTheSameTasks() throws {
        let tasks = (0..<200).map {
            "  - { id: t\($0), url: https://a.test/\($0), to: f\($0), needs: [\($0 > 0 ? "t\($0 - 1)" : "")] }"
        }
        let job = try #require(load("tasks:\n" + tasks.joined(separator: "\n")).job)
        let ids = (0..<200).filter { $0 % 3 == 0 }.map { "t\($0)" }
        let selection = RerunSelection(job, ids: ids).selection
        #expect(try selection.apply(to: job).tasks.map(\.id) == ids)
    }
}
