import Testing
import TransferModel

@testable import Scheduling

@Suite struct PublicationGroupsTests {
    private let group = GroupIndex(raw: 0)
    private let end = Ending.finish(.cancelled, nil, nil)

    /// Tasks 0 and 1 are a group's members, 2 needs the group.
    private func groups() -> PublicationGroups {
        PublicationGroups(
            plan(3) {
                $0.groupCount = 1
                for member in 0..<2 { $0.tasks[member].group = GroupIndex(raw: 0) }
                $0.tasks[2].neededGroups = [GroupIndex(raw: 0)]
            })
    }

    @Test func theLastVerifiedMemberPublishes() {
        var groups = groups()
        #expect(Array(groups.members(of: group)) == needs(0, 1) && Array(groups.dependants(of: group)) == needs(2))
        let areOthersOpen = groups.verified(needs(0)[0], of: group)
        let first = groups.memberClosed(group)
        #expect(areOthersOpen && first == .wait && !groups.areAnyPublishing)
        let areStillOpen = groups.verified(needs(1)[0], of: group)
        let second = groups.memberClosed(group)
        #expect(!areStillOpen && second == .publish && groups.isPublishing(group))
        let publication = groups.published(group, wasCancelled: false)
        #expect(publication?.members == needs(0, 1) && publication?.givenUp == nil && !groups.areAnyPublishing)
        let again = groups.published(group, wasCancelled: false)
        #expect(again == nil)
    }

    @Test func aMissingMemberDiscardsTheOthers() {
        var groups = groups()
        _ = groups.verified(needs(0)[0], of: group)
        _ = groups.memberClosed(group)
        let isNews = groups.breakUp(group, .window)
        let isNewsAgain = groups.breakUp(group, nil)
        let step = groups.memberClosed(group)
        #expect(isNews && !isNewsAgain && step == .discard)
        #expect(groups.isBroken(group) && groups.deferral(of: group) == .window)
    }

    @Test func withoutAnyFileThereIsNothingToPublish() {
        var groups = groups()
        _ = groups.memberClosed(group)
        let step = groups.memberClosed(group)
        #expect(step == .nothingToPublish && groups.isGood(group) == nil)
        groups.ended(group, isGood: true)
        #expect(groups.isGood(group) == true)
    }

    @Test func aPublicationIsGivenUpOnceAndOnlyIfThatWasInTime() {
        for wasCancelled in [true, false] {
            var groups = groups()
            let early = groups.giveUp(group, for: needs(0)[0], end)
            for member in needs(0, 1) {
                _ = groups.verified(member, of: group)
                _ = groups.memberClosed(group)
            }
            let first = groups.giveUp(group, for: needs(1)[0], end)
            let second = groups.giveUp(group, for: needs(0)[0], end)
            #expect(!early && first && !second)
            let publication = groups.published(group, wasCancelled: wasCancelled)
            #expect(publication?.givenUp?.member == (wasCancelled ? needs(1)[0] : nil))
        }
    }

    @Test func addedMembersAreAwaited() {
        var groups = groups()
        groups.add(member: needs(3)[0], to: group)
        groups.add(dependant: needs(4)[0], to: group)
        #expect(Array(groups.members(of: group)) == needs(0, 1, 3))
        #expect(Array(groups.dependants(of: group)) == needs(2, 4))
        let steps = (0..<3).reduce(into: [PublicationGroups.Step]()) { steps, _ in
            steps.append(groups.memberClosed(group))
        }
        #expect(steps == [.wait, .wait, .nothingToPublish])
    }

    @Test func anEarlierProcessPublishedOrBrokeIt() {
        var published = groups()
        published.restore(group, open: 1, hasPublished: true, missing: .some(nil))
        #expect(published.isPublished(group) && !published.isBroken(group))
        var whole = groups()
        whole.restore(group, open: 0, hasPublished: false, missing: nil)
        #expect(whole.isPublished(group))
        var broken = groups()
        broken.restore(group, open: 1, hasPublished: false, missing: .some(.window))
        #expect(broken.isBrokenAndOpen(group) && broken.deferral(of: group) == .window)
        var underWay = groups()
        underWay.restore(group, open: 1, hasPublished: false, missing: nil)
        #expect(!underWay.isPublished(group) && !underWay.isBroken(group))
    }
}
