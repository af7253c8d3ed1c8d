import Simulation
import TestSupport
import Testing
import TransferModel

/// Real runs, recorded and played again before the scheduler on a virtual clock.
@Suite struct RecordedRunTests {
    @Test func aRecordedRunPlaysAgain() throws {
        let server = try ScriptedServer()
        let other = try ScriptedServer { _ in [.wait(.milliseconds(10))] + .respond(200, body: "moved") }
        defer {
            server.stop()
            other.stop()
        }
        server.on("/plain", [.wait(.milliseconds(20))] + .respond(200, body: "x"))
        server.on("/busy", .respond(500), .respond(502), .respond(200, body: "at last"))
        server.on("/slow", .respond(503, headers: [("Retry-After", "1")]), .respond(200, body: "x"))
        server.on("/moved", .redirect(302, to: other.url("/there")))
        server.on("/gone", .respond(404))
        server.on(
            "/cut", [.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut"), .reset],
            .respond(200, body: "the whole"))
        let stage = try Stage()
        let job = """
            defaults: { retry: { attempts: 3, backoff: { initial: 30ms, jitter: none } } }
            tasks:
              - { id: "plain-${n}", forEach: { n: 1..8 }, url: "\(server.url("/plain"))" }
              - { id: busy, url: "\(server.url("/busy"))" }
              - { id: moved, url: "\(server.url("/moved"))" }
              - { id: cut, url: "\(server.url("/cut"))" }
              - { id: gone, url: "\(server.url("/gone"))", allowFailure: true }
              - { id: slow, needs: [busy, cut, gone, moved], url: "\(server.url("/slow"))" }
              - { id: after, needs: [slow], url: "\(server.url("/plain"))" }
            """
        let run = try stage.run(job)
        #expect(run.status == 0)
        let checker = try stage.checker(of: run.events, isWhole: true)
        let recording = try RunRecording(run.events, checker.facts)

        var facts = checker.facts
        facts.slack = .zero
        let consumer = CheckingConsumer(facts)
        let history = AttemptHistory(tasks: facts.tasks.count)
        var replay = SimulatedRun(
            SimulatedSetting(recording.plan), in: WorldModel(), script: recording.script, observer: history,
            tape: EventTape(consumer))
        let result = replay.run(mostTurns: 10_000)
        #expect(result.ending == .finished)
        #expect(consumer.finish() == [])
        for (index, task) in facts.tasks.enumerated() {
            #expect(try run.task(task.id, "outcome") == replay.observer.outcomes[index]?.rawValue, "\(task.id)")
            let attempts = try run.values("$.tasks[\(index)].attempts[*].number").count
            #expect(replay.observer.attempts[index] == attempts, "\(task.id)")
        }
        // The virtual clock spends only what the real one did: work, back-off and the server's wish.
        let recorded = try run.value("$.duration").flatMap { Double($0) } ?? 0
        #expect(result.duration.seconds > 1)
        #expect(result.duration.seconds < recorded + 0.2)
    }
}
