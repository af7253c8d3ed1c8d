import Testing

@testable import TransferEngine

@Suite struct PreparationTests {
    @Test func theSteps_followOneAnotherToTheEnd() {
        var preparation = Preparation()
        #expect(preparation.next == nil)
        for step in PreparationStep.allCases.reversed() { preparation.add(step, if: true) }
        var seen: [PreparationStep] = []
        while let step = preparation.next {
            seen.append(step)
            preparation.complete(step)
        }
        #expect(seen == PreparationStep.allCases)
    }

    @Test func aStepThatIsNotNeeded_isLeftOut() {
        var preparation = Preparation()
        preparation.add(.recallFile, if: false)
        preparation.add(.loadSession, if: true)
        #expect(preparation.next == .loadSession)
        preparation.complete(.loadSession)
        #expect(preparation.next == nil)
    }

    /// What a step relies on comes before it.
    @Test func theOrder_givesEachStepWhatItNeeds() {
        func isBefore(_ first: PreparationStep, _ second: PreparationStep) -> Bool { first.rawValue < second.rawValue }
        #expect(isBefore(.recallFile, .adoptPart), "the store says which part there is")
        #expect(isBefore(.resolveChecksum, .adoptPart), "its bytes are hashed by the checksum's algorithm")
        #expect(isBefore(.adoptPart, .examineKeptFile), "an adopted part is continued, and no file asked about")
        #expect(isBefore(.examineKeptFile, .findForeignFile), "a file with kept validators is no other program's")
    }
}
