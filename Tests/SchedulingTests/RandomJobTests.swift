import Scheduling
import TestSupport
import Testing
import TransferModel

/// Random jobs against a random world.
struct RandomJobTests {
    @Test func everyRunKeepsItsRules() {
        var random = Seeded("everyRunKeepsItsRules")
        for _ in 0..<Rounds.scaled(2_500) {
            let seed = random.next()
            var own = Seeded(seed: seed)
            let job = RandomJob(&own)
            var world = ModelWorld(job, own)
            world.run()
        }
    }
}
