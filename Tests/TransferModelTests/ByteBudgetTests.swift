import TestSupport
import Testing
import TransferModel

/// What `limits.maximumBytes` lets begin.
@Suite struct ByteBudgetTests {
    private func task(_ number: Int) -> TaskIndex { TaskIndex(raw: UInt32(number)) }

    @Test func whatFitsBeginsAndWhatDoesNotWaits() {
        var budget = ByteBudget(most: 100)
        #expect(budget.ask(task(0), length: 60) == .fits)
        // What the first will move is as good as moved.
        #expect(budget.ask(task(1), length: 41) == .forNextRun)
        #expect(budget.ask(task(2), length: 40) == .fits)
        #expect(budget.ask(task(3), length: 101) == .never)
        #expect(budget.ask(task(4), length: 0) == .fits)
        budget.moved(task(0), 60)
        #expect(budget.left == 0)
        budget.release(task(2))
        #expect(budget.left == 40 && !budget.isSpent)
    }

    @Test func whoAsksAnewGivesBackWhatItHad() {
        var budget = ByteBudget(most: 100, moved: 10)
        #expect(budget.ask(task(0), length: 80) == .fits)
        budget.moved(task(0), 30)
        // A retry sends all of it again.
        #expect(budget.ask(task(0), length: 80) == .forNextRun)
        #expect(budget.left == 60)
        #expect(budget.ask(task(0), length: 60) == .fits)
        // More than was promised came: the answer, say.
        budget.moved(task(0), 70)
        #expect(budget.moved == 110 && budget.left == 0 && budget.isSpent)
    }

    /// Where nobody else moves anything, what began comes to its end within the budget, and no byte moves in vain: each run
    /// ends something, until only what no run has room for is left.
    @Test func everyRunEndsSomething() {
        var random = Seeded("everyRunEndsSomething")
        for _ in 0..<Rounds.scaled(300) {
            let most = Int64(1 + random.below(1_000))
            var left = (0..<1 + random.below(12)).map { _ in Int64(random.below(Int(most) * 5 / 4)) }
            let never = left.filter { $0 > most }.sorted()
            while left.contains(where: { $0 <= most }) {
                let before = left.count
                left = run(left, most, &random)
                #expect(left.count < before)
            }
            #expect(left.sorted() == never)
        }
    }

    /// Gives back what was not begun.
    private func run(_ lengths: [Int64], _ most: Int64, _ random: inout Seeded) -> [Int64] {
        var budget = ByteBudget(most: most)
        var underWay: [(task: TaskIndex, left: Int64)] = []
        var next = 0
        var rest: [Int64] = []
        while next < lengths.count || !underWay.isEmpty {
            if next < lengths.count, underWay.isEmpty || random.oneIn(2) {
                let length = lengths[next]
                let isLonely = underWay.isEmpty && budget.moved == 0
                switch budget.ask(task(next), length: length) {
                case .fits: underWay.append((task(next), length))
                case .forNextRun:
                    #expect(!isLonely && length <= most)
                    rest.append(length)
                case .never:
                    #expect(length > most)
                    rest.append(length)
                }
                next += 1
                continue
            }
            let place = random.below(underWay.count)
            let bytes = min(underWay[place].left, Int64(1 + random.below(200)))
            budget.moved(underWay[place].task, bytes)
            underWay[place].left -= bytes
            #expect(budget.moved <= most && budget.left >= 0)
            if underWay[place].left == 0 { budget.release(underWay.remove(at: place).task) }
        }
        #expect(budget.left == most - budget.moved)
        return rest
    }
}
