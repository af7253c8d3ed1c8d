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

    private func meet(_ count: Int, of task: TaskIndex, _ graph: inout DependencyGraph) -> [Bool] {
        var results: [Bool] = []
        for _ in 0..<count { results.append(graph.meetNeed(of: task)) }
        return results
    }

    @Test func theLastNeedFreesATask() {
        var graph = graph()
        #expect(Array(graph.dependants(of: task(0))) == needs(2, 3))
        #expect(!graph.hasOpenNeeds(task(0)) && graph.hasOpenNeeds(task(2)))
        #expect(meet(2, of: task(2), &graph) == [false, true])
        #expect(!graph.hasOpenNeeds(task(2)))
    }

    @Test func groupsAndOtherRunsCountAsNeeds() {
        var graph = graph()
        #expect(meet(4, of: task(3), &graph) == [false, false, false, true])
    }

    @Test func tasksOfOtherRunsEndOneByOne() {
        var graph = graph()
        #expect(graph.waitsForOtherRuns)
        let first = graph.outsideEnded(needs(2, 3))
        #expect(first == needs(3) && graph.waitsForOtherRuns, "2 needs nothing of other runs")
        let second = graph.outsideEnded(needs(3))
        #expect(second == needs(3) && !graph.waitsForOtherRuns)
        let third = graph.outsideEnded(needs(3))
        #expect(third.isEmpty)
    }

    @Test func aTaskThatEndedNeedsNothingOfOtherRuns() {
        var graph = graph()
        graph.ended(task(3))
        let open = graph.outsideEnded(needs(3))
        #expect(!graph.waitsForOtherRuns && open.isEmpty)
    }

    @Test func addedTasksJoinTheGraph() {
        var graph = graph()
        graph.append(task(4), needs: needs(0))
        graph.setOpenNeeds(of: task(4), to: 1)
        graph.add(needs(4), to: task(2))
        #expect(Array(graph.dependants(of: task(0))) == needs(2, 3, 4))
        #expect(Array(graph.dependants(of: task(4))) == needs(2))
        #expect(meet(3, of: task(2), &graph) == [false, false, true])
        #expect(meet(1, of: task(4), &graph) == [true])
    }

    @Test func whatIsSkippedMeanwhileIsReachedByTheOuterCall() {
        var graph = graph()
        graph.skip(.init(task: task(2)))
        let isOuter = graph.beginSkipping()
        let first = graph.popSkip()
        #expect(isOuter && first?.task == task(2))
        graph.skip(.init(task: task(3), deferral: .window))
        let isInner = graph.beginSkipping()
        let second = graph.popSkip()
        #expect(!isInner && second?.task == task(3) && second?.deferral == .window)
        let end = graph.popSkip()
        let isNext = graph.beginSkipping()
        #expect(end?.task == nil && isNext)
    }
}
