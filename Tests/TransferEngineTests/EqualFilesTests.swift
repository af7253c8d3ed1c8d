import TestSupport
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct EqualFilesTests {
    private func task(_ number: Int) -> TaskIndex { TaskIndex(raw: UInt32(number)) }
    private func key(_ byte: UInt8 = 1) -> EqualFiles.Key { .checksum(sum(byte)) }
    private func source(_ number: Int, _ byte: UInt8 = 1) -> EqualFiles.Source {
        EqualFiles.Source(task: task(number), path: "/\(number)", checksum: sum(byte))
    }
    private func sum(_ byte: UInt8 = 1, _ algorithm: DigestAlgorithm = .sha256) -> Checksum {
        Checksum(algorithm: algorithm, bytes: Array(repeating: byte, count: algorithm.byteCount))
    }

    @Test func theFirst_fetches_andTheOthersWaitAndCopy() {
        var files = EqualFiles()
        #expect(files.ask(key(), for: task(0)) == .fetch)
        #expect(files.ask(key(), for: task(1)) == .wait)
        #expect(files.ask(key(), for: task(2)) == .wait)
        #expect(files.ask(key(2), for: task(3)) == .fetch, "another checksum is another file")
        #expect(files.placed(key(), source(0)) == [task(1), task(2)])
        #expect(files.ended(task(0)).isEmpty)
        for number in [1, 2, 4] { #expect(files.ask(key(), for: task(number)) == .copy(source(0))) }
    }

    @Test func whenItsAttemptFails_theNextFetches_andItWaitsItself() {
        var files = EqualFiles()
        for number in 0...2 { _ = files.ask(key(), for: task(number)) }
        #expect(files.ended(task(0)) == [task(1), task(2)])
        #expect(files.ask(key(), for: task(1)) == .fetch)
        #expect(files.ask(key(), for: task(2)) == .wait)
        #expect(files.ask(key(), for: task(0)) == .wait, "its next attempt begins while another fetches")
        #expect(files.placed(key(), source(1)) == [task(2), task(0)])
    }

    @Test func oneThatEndsWhileItWaits_isNotTold() {
        var files = EqualFiles()
        for number in 0...2 { _ = files.ask(key(), for: task(number)) }
        #expect(files.ended(task(1)).isEmpty)
        #expect(files.ended(task(0)) == [task(2)])
    }

    @Test func whenTheCopyFails_theFileIsFetchedAgain() {
        var files = EqualFiles()
        _ = files.ask(key(), for: task(0))
        _ = files.placed(key(), source(0))
        _ = files.ended(task(0))
        #expect(files.ask(key(), for: task(1)) == .copy(source(0)))
        files.lost(source(0), key())
        #expect(files.ask(key(), for: task(1)) == .fetch)
        #expect(files.ask(key(), for: task(2)) == .wait)
        #expect(files.placed(key(), source(1)) == [task(2)])
        files.lost(source(0), key())
        #expect(files.ask(key(), for: task(2)) == .copy(source(1)), "a later one stays")
    }

    /// A member of a group has its file only when the group is published.
    @Test func oneThatOthersMustNotWaitFor_fetchesBesideThem() {
        var files = EqualFiles()
        #expect(files.ask(key(), for: task(0), isWaitedFor: false) == .fetch)
        #expect(files.ask(key(), for: task(1)) == .fetch)
        #expect(files.ask(key(), for: task(2), isWaitedFor: false) == .wait)
        #expect(files.ended(task(0)).isEmpty)
        #expect(files.ended(task(1)) == [task(2)])
        #expect(files.ask(key(), for: task(2), isWaitedFor: false) == .fetch)
    }

    @Test func whereNothingTellsThatItIsTheSame_eachFetches() {
        var files = EqualFiles()
        let key = EqualFiles.Key.answer(url: "http://a.test/f", SessionIndex(raw: 0), headers: [])
        #expect(files.mustEachFetch(key).isEmpty && files.ask(key, for: task(0)) == .fetch)
        for number in [1, 2] { #expect(files.ask(key, for: task(number)) == .wait) }
        #expect(files.mustEachFetch(key) == [task(1), task(2)])
        for number in [1, 2, 3] { #expect(files.ask(key, for: task(number)) == .fetch) }
        for number in 0...3 { #expect(files.ended(task(number)).isEmpty) }
    }

    @Test func headersThatTakeLong_areNotWaitedFor() {
        var files = EqualFiles()
        let key = EqualFiles.Key.answer(url: "http://a.test/f", SessionIndex(raw: 0), headers: [])
        func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }
        #expect(files.ask(key, for: task(0), at: at(0)) == .fetch)
        #expect(files.nextDeadline == .distantFuture, "no task waits")
        #expect(files.ask(key, for: task(1), at: at(100)) == .wait)
        #expect(files.ask(key, for: task(2), at: at(200)) == .wait)
        #expect(files.nextDeadline == at(350))
        #expect(files.overdue(at: at(349)).isEmpty)
        #expect(files.overdue(at: at(350)) == [task(1), task(2)] && files.nextDeadline == .distantFuture)
        for number in 1...3 { #expect(files.ask(key, for: task(number), at: at(350)) == .fetch) }
        // Once they are there, the end of the body is worth a wait.
        files.promised(key, by: task(0))
        #expect(files.ask(key, for: task(4), at: at(400)) == .wait && files.nextDeadline == .distantFuture)
        // The next that fetches has the same time.
        #expect(files.ended(task(0)) == [task(4)])
        #expect(files.ask(key, for: task(4), at: at(500)) == .fetch)
        #expect(files.ask(key, for: task(5), at: at(500)) == .wait && files.nextDeadline == at(750))
    }

    @Test func headersThatPromiseTheFile_areWaitedFor() {
        var files = EqualFiles()
        let key = EqualFiles.Key.answer(url: "http://a.test/f", SessionIndex(raw: 0), headers: [])
        _ = files.ask(key, for: task(0))
        #expect(files.ask(key, for: task(1)) == .wait)
        files.promised(key, by: task(1))
        files.promised(key, by: task(0))
        #expect(files.overdue(at: .distantFuture).isEmpty)
        #expect(files.ended(task(0)) == [task(1)])
    }

    @Test func aChecksum_isWaitedForHoweverLongItTakes() {
        var files = EqualFiles()
        _ = files.ask(key(), for: task(0))
        #expect(files.ask(key(), for: task(1)) == .wait && files.nextDeadline == .distantFuture)
    }

    @Test func onlyChecksumsThatProveTheBytes_count() {
        for algorithm in DigestAlgorithm.allCases {
            #expect(sum(1, algorithm).provesBytes == ![.md5, .sha1].contains(algorithm))
        }
    }

    /// Whatever fails, is cancelled or is lost: nothing waits for what is not under way, one fetches at a time, and in the
    /// end every task has its file.
    @Test func inAnyOrder_nothingWaitsForever() {
        var random = Seeded("inAnyOrder_nothingWaitsForever")
        for _ in 0..<Rounds.scaled(300) {
            var model = Model(tasks: 1 + random.below(9), checksums: 1 + random.below(3), &random)
            var steps = 0
            while !model.isDone, steps < 5_000 {
                model.step(&random)
                model.check()
                steps += 1
            }
            #expect(model.isDone, "after \(steps) steps not every task is done, seed \(random.seed)")
        }
    }

    /// Tasks whose attempts begin, end and begin again in a random order.
    private struct Model {
        enum State: Equatable { case idle, fetching, waiting, copying(EqualFiles.Source), done }
        var files = EqualFiles()
        var states: [State]
        let sums: [Checksum]
        let areMembers: [Bool]

        init(tasks: Int, checksums: Int, _ random: inout Seeded) {
            states = Array(repeating: .idle, count: tasks)
            sums = (0..<tasks).map { _ in
                Checksum(algorithm: .sha256, bytes: Array(repeating: UInt8(random.below(checksums)), count: 32))
            }
            areMembers = (0..<tasks).map { _ in random.oneIn(6) }
        }

        var isDone: Bool { states.allSatisfy { $0 == .done } }

        mutating func step(_ random: inout Seeded) {
            let number = random.below(states.count)
            switch states[number] {
            case .idle: ask(number)
            case .fetching: end(number, succeeds: random.oneIn(2))
            case .waiting: if random.oneIn(4) { end(number, succeeds: false) }
            case .copying(let source):
                if random.oneIn(3) {
                    files.lost(source, .checksum(sums[number]))
                    if random.oneIn(3) { end(number, succeeds: false) } else { ask(number) }
                } else {
                    end(number, succeeds: true)
                }
            case .done: break
            }
        }

        private mutating func ask(_ number: Int) {
            let task = TaskIndex(raw: UInt32(number))
            states[number] =
                switch files.ask(.checksum(sums[number]), for: task, isWaitedFor: !areMembers[number]) {
                case .fetch: .fetching
                case .wait: .waiting
                case .copy(let source): .copying(source)
                }
        }

        private mutating func end(_ number: Int, succeeds: Bool) {
            let task = TaskIndex(raw: UInt32(number))
            states[number] = succeeds ? .done : .idle
            var told: [TaskIndex] = []
            if succeeds, !areMembers[number] { told = place(number) }
            told += files.ended(task)
            for other in told {
                let other = Int(other.raw)
                #expect(states[other] == .waiting && sums[other] == sums[number])
                ask(other)
            }
        }

        private mutating func place(_ number: Int) -> [TaskIndex] {
            files.placed(
                .checksum(sums[number]),
                EqualFiles.Source(
                    task: TaskIndex(raw: UInt32(number)), path: "/\(number)", checksum: sums[number]))
        }

        func check() {
            for sum in Set(sums) {
                let same = states.indices.filter { sums[$0] == sum }
                let fetching = same.filter { states[$0] == .fetching && !areMembers[$0] }
                #expect(fetching.count <= 1)
                if fetching.isEmpty { #expect(!same.contains { states[$0] == .waiting }) }
                for case .copying(let source) in same.map({ states[$0] }) {
                    #expect(sums[Int(source.task.raw)] == sum && states[Int(source.task.raw)] == .done)
                }
            }
        }
    }
}

extension EqualFiles {
    /// Asks at the beginning of time.
    fileprivate mutating func ask(_ key: Key, for task: TaskIndex, isWaitedFor: Bool = true) -> Answer {
        ask(key, for: task, isWaitedFor: isWaitedFor, at: Instant(nanoseconds: 0))
    }
}
