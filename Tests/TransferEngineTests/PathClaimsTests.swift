import Testing
import TransferModel

@testable import TransferEngine

@Suite struct PathClaimsTests {
    private let job: Job
    private let a = TaskIndex(raw: 0)
    private let b = TaskIndex(raw: 1)
    private let c = TaskIndex(raw: 2)

    init() throws {
        job = try EngineRig(
            """
            tasks:
              - { id: a, url: "https://a.example/a", to: one }
              - { id: b, url: "https://a.example/b", to: folder/ }
              - { id: c, url: "https://a.example/c", to: folder/, needs: [b] }
              - { id: d, url: "https://a.example/d", method: PUT, body: { file: sent } }
            """
        ).job
    }

    @Test func pathThatTheJobGivesATask_isNoOthers() {
        var claims = PathClaims(job)
        #expect(claims.claim("/here/one", a, job) == nil)
        let refusal = claims.claim("/here/./one", b, job, .nameTaken)
        #expect(refusal?.name == .nameTaken && refusal?.message.contains("`a`") == true)
    }

    @Test func nameThatAServerGave_isTheFirstTasks_untilItFails() {
        var claims = PathClaims(job)
        #expect(claims.claim("/here/folder/x", b, job) == nil && claims.claim("/here/folder/x", b, job) == nil)
        #expect(claims.claim("/here/folder/x", c, job)?.name == .destinationExists)
        claims.release(b)
        #expect(claims.claim("/here/folder/x", c, job) == nil)
    }

    @Test func pathOfTheJob_staysATasks_afterItFailed() {
        var claims = PathClaims(job)
        claims.release(a)
        #expect(claims.claim("/here/one", b, job) != nil)
    }

    /// A file that another task sends, without needing the one that would write it, is not replaced under its hands.
    @Test func fileThatAnotherTaskSends_isNotReplaced() {
        var claims = PathClaims(job)
        #expect(claims.claim("/here/sent", b, job)?.message.contains("`d` sends") == true)
    }
}
