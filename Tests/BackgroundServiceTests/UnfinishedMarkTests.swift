import BackgroundService
import Glibc
import Stores
import Synchronization
import SystemIO
import TestSupport
import Testing
import TransferModel

/// Never one too few, whoever comes in between.
struct UnfinishedMarkTests {
    private let tree: TemporaryTree
    private let place: ServicePlace
    private var mark: UnfinishedMark { UnfinishedMark(place) }

    init() throws {
        tree = try TemporaryTree("mark")
        place = try ServiceStage.place(tree.path("state"))
    }

    @Test func itIsThereUntilNothingIsLeft() throws {
        #expect(!mark.isThere)
        mark.remove { true }
        #expect(!tree.exists("state"), "who looks makes nothing")
        do { _ = try mark.hold() }
        #expect(mark.isThere)
        mark.remove { false }
        #expect(mark.isThere)
        mark.remove { true }
        #expect(!mark.isThere)
    }

    @Test func whoHandsOverKeepsIt() throws {
        let hold = try mark.hold()
        let other = try mark.hold()
        mark.remove { true }
        #expect(mark.isThere)
        _ = consume hold
        mark.remove { true }
        #expect(mark.isThere)
        _ = consume other
        mark.remove { true }
        #expect(!mark.isThere)
    }

    /// Many hand over while one removes: of what was handed over, none is without its mark.
    @Test func nobodyIsWithoutIt() throws {
        let work = Atomic<Int>(0)
        let losses = Atomic<Int>(0)
        let isOver = Atomic<Bool>(false)
        let mark = mark
        let threads = try (0..<3).map { _ in
            try Thread(named: "handover") {
                for _ in 0..<Rounds.scaled(150) {
                    guard let hold = try? mark.hold() else { continue }
                    work.add(1, ordering: .sequentiallyConsistent)
                    _ = consume hold
                    if !mark.isThere { losses.add(1, ordering: .relaxed) }
                    work.subtract(1, ordering: .sequentiallyConsistent)
                }
            }
        }
        let remover = try Thread(named: "remover") {
            while !isOver.load(ordering: .acquiring) {
                mark.remove { work.load(ordering: .sequentiallyConsistent) == 0 }
            }
        }
        for thread in threads { thread.join() }
        isOver.store(true, ordering: .releasing)
        remover.join()
        #expect(losses.load(ordering: .relaxed) == 0)
    }
}
