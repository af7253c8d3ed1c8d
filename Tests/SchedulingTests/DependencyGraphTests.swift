import Testing
import TransferModel

@testable import Scheduling

@Suite struct DependencyGraphTests {
    /// Task 2 needs 0 and 1; task 3 needs 0, a group, and two tasks of another run.
    private func graph() -> DependencyGraph {
        let plan = plan(4) {
            $0.groupCount = 1
            $0.tasks[2].needs = needs(0, 1)
            $0.tasks[3].needs = needs(0)
            $0.tasks[3].neededGroups = [GroupIndex(raw: 0)]
            $0.outsideNeeds = [task(3): 2]
        }
        return DependencyGraph(plan) { $0.neededGroups.count }
    }

    private func task(_ number: Int) -> TaskIndex { TaskIndex(raw: UInt32(number)) }

    @Test func theLastNeedFreesATask() {
        var graph = graph()
        #expect(Array(graph.dependants(of: task(0))) == needs(2, 3))
        #expect(!graph.hasOpenNeeds(task(0)) && graph.hasOpenNeeds(task(2)))
        #expect(!graph.meetNeed(of: task(2)) && graph.meetNeed(of: task(2)))
        #expect(!graph.hasOpenNeeds(task(2)))
    }

    @Test func groupsAndOtherRunsCountAsNeeds() {
        var graph = graph()
        for _ in 0..<3 { #expect(!graph.meetNeed(of: task(3))) }
        #expect(graph.meetNeed(of: task(3)))
    }

    @Test func tasksOfOtherRunsEndOneByOne() {
        var graph = graph()
        #expect(graph.waitsForOtherRuns)
        #expect(graph.outsideEnded(needs(2, 3)) == needs(3), "2 needs nothing of other runs")
        #expect(graph.waitsForOtherRuns)
        #expect(graph.outsideEnded(needs(3)) == needs(3) && !graph.waitsForOtherRuns)
        #expect(graph.outsideEnded(needs(3)).isEmpty)
    }

    @Test func aTaskThatEndedNeedsNothingOfOtherRuns() {
        var graph = graph()
        graph.ended(task(3))
        #expect(!graph.waitsForOtherRuns && graph.outsideEnded(needs(3)).isEmpty)
    }

    @Test func addedTasksJoinTheGraph() {
        var graph = graph()
        graph.append(task(4), needs: needs(0))
        graph.setOpenNeeds(of: task(4), to: 1)
        graph.add(needs(4), to: task(2))
        #expect(Array(graph.dependants(of: task(0))) == needs(2, 3, 4))
        #expect(Array(graph.dependants(of: task(4))) == needs(2))
        #expect(!graph.meetNeed(of: task(2)) && !graph.meetNeed(of: task(2)) && graph.meetNeed(of: task(2)))
        #expect(graph.meetNeed(of: task(4)))
    }

    @Test func whatIsSkippedMeanwhileIsReachedByTheOuterCall() {
        var graph = graph()
        graph.skip(task(2), nil, nil)
        #expect(graph.beginSkipping())
        #expect(graph.popSkip()?.task == task(2))
        graph.skip(task(3), .window, nil)
        #expect(!graph.beginSkipping(), "the outer call is at it")
        let second = graph.popSkip()
        #expect(second?.task == task(3) && second?.deferral == .window)
        #expect(graph.popSkip()?.task == nil && graph.beginSkipping() && graph.popSkip()?.task == nil)
    }
}
