import Testing
import TransferModel

@testable import Scheduling

@Suite struct HostHealthTests {
    private let first = TaskIndex(raw: 0)
    private let second = TaskIndex(raw: 1)

    private func instant(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    /// A request that began at one second and failed at another.
    private func fail(
        _ health: inout HostHealth, _ task: TaskIndex, from begin: Int64, at end: Int64, hungUp: Bool = false,
        isStream: Bool = false
    ) -> HostHealth.Consequence {
        health.requestFailed(
            of: task, begunAt: instant(begin), at: instant(end), hungUp: hungUp, isStream: isStream)
    }

    /// The host is parked and probed by the first task.
    private func probed() -> HostHealth {
        var health = HostHealth()
        _ = health.park(for: .seconds(10), at: instant(0))
        health.endPark()
        _ = health.beginProbe(by: first)
        return health
    }

    @Test func threeRoundsOfFailuresParkTheHost() {
        var health = HostHealth()
        let consequences = [
            fail(&health, first, from: 0, at: 1), fail(&health, second, from: 0, at: 2),
            fail(&health, first, from: 3, at: 4), fail(&health, first, from: 5, at: 6),
        ]
        #expect(consequences == [.none, .none, .none, .park], "what began together is one round")
    }

    @Test func aFailureNowAndThen_isNoReasonToHoldTheHostBack() {
        var health = HostHealth()
        for round in 0..<10 {
            for _ in 0..<19 { _ = health.wentWell(at: instant(Int64(round))) }
            let isHeldBack = health.answeredBadly(first)
            #expect(!isHeldBack && health.isOpen)
        }
    }

    @Test(arguments: [(0, 3), (12, 4), (40, 5)])
    func moreThanAFifthOfTheLastTwenty_oneAtATime(well: Int, bad: Int) {
        var health = HostHealth()
        for _ in 0..<well { _ = health.wentWell(at: instant(0)) }
        let heldBack = (0..<bad).map { _ in health.answeredBadly(first) }
        #expect(heldBack == Array(repeating: false, count: bad - 1) + [true])
        #expect(!health.isOpen && !health.isQuiet, "the next one goes at once")
        let isProbe = health.beginProbe(by: second)
        #expect(isProbe && health.isQuiet)
        let isHeldBack = health.answeredBadly(second)
        #expect(isHeldBack && !health.isQuiet, "and then another one")
        _ = health.beginProbe(by: first)
        let isOpened = health.wentWell(at: instant(1))
        #expect(isOpened && health.isOpen)
        let again = health.answeredBadly(second)
        #expect(!again, "its share begins anew")
    }

    @Test func failuresBetweenAnswers_oneAtATime() {
        var health = HostHealth()
        var consequences: [HostHealth.Consequence] = []
        for second in 0..<Int64(3) {
            health.answered()
            _ = health.wentWell(at: instant(2 * second))
            consequences.append(fail(&health, first, from: 2 * second, at: 2 * second + 1))
        }
        #expect(consequences == [.none, .none, .oneAtATime])
        #expect(!health.isOpen && !health.isQuiet)
    }

    @Test func aHostThatDiesAfterManyAnswers_isParkedAfterFiveRounds() {
        var health = HostHealth()
        for _ in 0..<40 { _ = health.wentWell(at: instant(0)) }
        let consequences = (1...5).map { fail(&health, first, from: $0, at: $0) }
        #expect(consequences == [.none, .none, .none, .none, .park])
    }

    @Test func bytesOfTheProbesBody_openTheHostToOthers() {
        var health = probed()
        let ofAnother = health.tookBytes(of: second)
        #expect(!ofAnother && health.isQuiet)
        let taken = [health.tookBytes(of: first), health.tookBytes(of: first)]
        #expect(taken == [true, false] && !health.isQuiet && health.isProbed(by: first))
        #expect(health.standing(at: instant(11)) == .well)
        let isProbe = health.beginProbe(by: second)
        #expect(!isProbe)
    }

    @Test func theAnswerAfterThoseBytes_countsAsThatOfAProbe() {
        var failed = probed()
        _ = failed.tookBytes(of: first)
        let consequence = fail(&failed, first, from: 11, at: 12)
        #expect(consequence == .parkAndCharge)
        var bad = probed()
        _ = bad.tookBytes(of: first)
        let isHeldBack = bad.answeredBadly(first)
        #expect(isHeldBack && !bad.isOpen)
        var well = probed()
        _ = well.tookBytes(of: first)
        let isOpened = well.wentWell(at: instant(12))
        #expect(isOpened && well.isOpen)
    }

    @Test func failuresOfOthersCount_whileTheProbesBodyIsSent() {
        var health = probed()
        _ = health.tookBytes(of: first)
        let heldBack = (0..<3).map { _ in health.answeredBadly(second) }
        #expect(heldBack == [false, false, true] && !health.isProbed(by: first))
    }

    @Test func anAnswerBeginsTheCountAnew() {
        var health = HostHealth()
        _ = fail(&health, first, from: 0, at: 1)
        _ = fail(&health, first, from: 2, at: 3)
        health.answered()
        let consequence = fail(&health, first, from: 4, at: 5)
        #expect(consequence == .oneAtATime, "it is not left alone")
    }

    @Test func aShorterParkChangesNothing() {
        var health = HostHealth()
        let results = [
            health.park(for: .seconds(10), at: instant(0)), health.park(for: .seconds(5), at: instant(1)),
            health.park(for: .seconds(10), at: instant(1)),
        ]
        #expect(results == [true, false, true] && health.parks == 2)
        #expect(health.isQuiet && health.isParked(until: instant(11)))
    }

    @Test func aParkWithoutADelayIsAProbe() {
        var health = HostHealth()
        _ = health.park(for: .zero, at: instant(0))
        #expect(!health.isQuiet && !health.isOpen, "the next request goes out, and no other with it")
    }

    @Test func oneTaskProbesAfterThePark() {
        var health = HostHealth()
        _ = health.park(for: .seconds(10), at: instant(0))
        let early = health.beginProbe(by: first)
        health.endPark()
        let results = [health.beginProbe(by: first), health.beginProbe(by: second)]
        #expect(!early && results == [true, false] && health.isQuiet && health.isProbed(by: first))
    }

    @Test func theProbesSuccessOpensTheHost() {
        var health = probed()
        let results = [health.probeSucceeded(by: second), health.probeSucceeded(by: first)]
        #expect(results == [false, true] && health.isOpen)
    }

    @Test func aProbeThatTellsNothingIsLeftToTheNextRequest() {
        var health = probed()
        let results = [health.endProbe(of: second), health.endProbe(of: first)]
        #expect(results == [false, true] && !health.isQuiet && !health.isOpen)
    }

    @Test func aFailedProbeIsChargedUntilTheHostAnswers() {
        var health = probed()
        let consequence = fail(&health, first, from: 11, at: 12)
        #expect(consequence == .parkAndCharge && health.charges(since: 0) == 1 && health.charges(since: 1) == 0)
        health.answered()
        #expect(health.charges(since: 0) == 0)
    }

    @Test func failuresOfOthersSayNothingWhileItIsParked() {
        var health = probed()
        let consequence = fail(&health, second, from: 0, at: 12)
        #expect(consequence == .none)
    }

    @Test func aGoodAnswerOpensOnlyWhatIsDue() {
        var health = HostHealth()
        let whileOpen = health.wentWell(at: instant(0))
        _ = health.park(for: .seconds(10), at: instant(0))
        let results = [health.wentWell(at: instant(9)), health.wentWell(at: instant(10))]
        #expect(!whileOpen && results == [false, true] && health.isOpen && health.parks == 0)
    }

    @Test(arguments: [(false, 2), (true, 4)])
    func ownTriesEndAfterSoManyHangUps(hasAnswered: Bool, most: Int) {
        var health = probed()
        if hasAnswered { health.answered() }
        health.giveOwnTries((unanswered: 2, answered: 4))
        #expect(health.isOpen && health.ownTries == .left(most))
        let consequences = (1...most).map { number in
            fail(&health, second, from: Int64(20 + number), at: Int64(20 + number), hungUp: true)
        }
        #expect(consequences == Array(repeating: .none, count: most - 1) + [.parkAndCharge])
        #expect(health.ownTries == .spent)
    }

    @Test func streamsOfOneConnectionAreOneOwnTry() {
        var health = probed()
        health.giveOwnTries((unanswered: 2, answered: 2))
        let consequences = (0..<5).map { _ in fail(&health, second, from: 20, at: 21, hungUp: true, isStream: true) }
        #expect(consequences == Array(repeating: .none, count: 5) && health.ownTries == .left(1))
    }

    @Test func aRefusalEndsOwnTriesAtOnce() {
        var health = probed()
        health.giveOwnTries((unanswered: 24, answered: 100))
        let consequence = fail(&health, second, from: 20, at: 21)
        #expect(consequence == .parkAndCharge && health.ownTries == .spent)
    }

    @Test func aFailedMirrorGoesBehindForFiveMinutes() {
        var health = HostHealth()
        #expect(health.standing(at: instant(0)) == .well)
        health.mirrorFailed(at: instant(10))
        #expect(health.standing(at: instant(11)) == .failedLately && health.standing(at: instant(310)) == .well)
        health.mirrorServed(since: instant(9))
        #expect(health.standing(at: instant(11)) == .failedLately, "it failed since that attempt began")
        health.mirrorServed(since: instant(10))
        #expect(health.standing(at: instant(11)) == .well)
    }

    @Test func ofTwoQuietMirrorsTheOneOpenFirstStandsBetter() {
        var (sooner, later) = (HostHealth(), HostHealth())
        _ = sooner.park(for: .seconds(5), at: instant(0))
        _ = later.park(for: .seconds(50), at: instant(0))
        #expect(sooner.standing(at: instant(1)) < later.standing(at: instant(1)))
        #expect(HostHealth().standing(at: instant(1)) < sooner.standing(at: instant(1)))
    }
}
