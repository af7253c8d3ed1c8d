import Testing

@testable import TransferEngine

/// What an engine leaves behind.
@Suite struct EngineEndTests {
    /// Its participants hold what they share, and that holds them: the engine parts the two. Connections are closed when
    /// the loop goes.
    @Test func engineThatIsLetGo_leavesNothing() throws {
        weak var core: EngineCore?
        weak var participants: Participants?
        weak var loop: ScriptedLoop?
        do {
            let rig = try EngineRig(EngineRig.job("to: f"))
            (core, participants, loop) = (rig.engine.core, rig.engine.participants, rig.loop)
            rig.start()
            try rig.answer(200, [], "text")
            #expect(rig.succeeded && core != nil && loop != nil)
        }
        #expect(core == nil)
        #expect(participants == nil)
        #expect(loop == nil)
    }
}
