import Testing
import TransferModel

struct PowerStateTests {
    @Test(arguments: [(51.0, true), (51.0, false), (100.0, true)])
    func batteryAboveHalf_isPlenty_fallingOrNot(level: Double, isFalling: Bool) {
        #expect(PowerState(source: .battery, battery: level, isFalling: isFalling).isPlentiful)
    }

    @Test(arguments: [(50.0, false), (3.0, false), (50.0, true)])
    func batteryOfHalfOrLess_isNotPlenty(level: Double, isFalling: Bool) {
        #expect(!PowerState(source: .battery, battery: level, isFalling: isFalling).isPlentiful)
    }
}
