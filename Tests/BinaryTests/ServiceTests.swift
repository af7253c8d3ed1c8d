import SystemIO
import TestSupport
import Testing
import TextFormats
import TransferModel

/// NetworkManager and UPower as python3-dbusmock plays them, on a bus of their own and in a network of its own, seen
/// through `status --watch --json`: a line for each change.
@Suite(.enabled(if: MockBus.isThere && NetworkNamespace.isAllowed))
struct ServiceTests {
    private let bus: MockBus
    private let space: NetworkNamespace

    init() throws {
        bus = try MockBus()
        space = try NetworkNamespace()
        try space.addCable("wlp1s0")
        try space.plug("wlp1s0", "10.7.0.1/24")
    }

    /// The program watching.
    private final class Watching {
        private let program: RunningProgram

        init(_ space: NetworkNamespace, _ address: String) throws {
            program = try Binary().start(
                ["status", "--watch", "--json"], environment: ["DBUS_SYSTEM_BUS_ADDRESS": address],
                under: space.wrapper)
        }

        deinit {
            program.send(signal: 15)
            _ = program.wait()
        }

        /// Whether the newest line comes to say so.
        func shows(_ path: String, _ value: String) -> Bool {
            let start = Clocks.instant()
            while Clocks.instant() - start < .seconds(20), program.isRunning {
                let lines = program.outputSoFar.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
                if let last = lines.last, let found = try? Self.value(path, String(last)), found == value {
                    return true
                }
                Polling.sleep(milliseconds: 5)
            }
            print("showed \(program.outputSoFar) \(program.errorOutputSoFar)")
            return false
        }

        private static func value(_ path: String, _ line: String) throws -> String? {
            try JSONPath(path).select(from: JSONParser.parse(Array(line.utf8))).first?.plainText
        }

        func isMetered(_ value: Bool) -> Bool { shows("$.networks[?@.interface=='wlp1s0'].metered", "\(value)") }
    }

    @Test func whatIsMeteredIsHeardAndFollowed() throws {
        try bus.perform("device('wlp1s0', '', 1)")
        try bus.perform("own(NM)")
        let watching = try Watching(space, bus.address)
        #expect(watching.isMetered(true))
        #expect(
            watching.shows(
                "$.networks[?@.interface=='wlp1s0'].why",
                "its name begins with `wl`; metered, as NetworkManager says"))
        try bus.perform("metered('wlp1s0', 4)")
        #expect(watching.isMetered(false))
        try bus.perform("metered('wlp1s0', 3)")
        #expect(watching.isMetered(true))
        // It goes, and its word with it; and comes back.
        try bus.perform("drop(NM)")
        #expect(watching.isMetered(false))
        try bus.perform("own(NM)")
        #expect(watching.isMetered(true))
    }

    @Test func aDeviceThatIsAddedLaterCounts() throws {
        try bus.perform("own(NM)")
        let watching = try Watching(space, bus.address)
        #expect(watching.isMetered(false))
        // A modem's own name is that of its serial line.
        try bus.perform("device('ttyUSB0', 'wlp1s0', 1)")
        #expect(watching.isMetered(true))
    }

    @Test func powerIsHeardAndFollowed() throws {
        try bus.perform("own(UP)")
        let watching = try Watching(space, bus.address)
        #expect(watching.shows("$.power.source", "mains") && watching.shows("$.power.battery", "80"))
        try bus.perform("power(True, 79.5, 2)")
        #expect(watching.shows("$.power.source", "battery") && watching.shows("$.power.battery", "79.5"))
        try bus.perform("power(False, 81.0, 1)")
        #expect(watching.shows("$.power.source", "mains") && watching.shows("$.power.battery", "81"))
    }

    /// The bus goes away under the program, which goes on without it.
    @Test func aBusThatNobodyIsOnSaysNothing() throws {
        let watching = try Watching(space, bus.address)
        #expect(watching.isMetered(false))
        try bus.perform("device('wlp1s0', '', 1)")
        try bus.perform("own(NM)")
        #expect(watching.isMetered(true))
        bus.stop()
        #expect(watching.isMetered(false))
    }

    /// One that takes calls and never answers is waited for once, and not for long.
    @Test func aBusThatSaysNothingIsGivenUp() throws {
        let tree = try TemporaryTree()
        let folder = try Descriptor.openFolder(tree.path)
        let listener = try LocalSocket.listen("silent", in: folder, at: tree.path)
        let result = try Binary().run(
            "status", "--json", environment: ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(tree.path("silent"))"])
        #expect(result.exitStatus == 0 && result.errorOutput.isEmpty)
        #expect(result.duration > .milliseconds(900) && result.duration < .seconds(10))
        _ = listener.raw
    }

    @Test func noBusAtAllIsNoTrouble() throws {
        let result = try Binary().run(
            "status", "--json", environment: ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent/bus"])
        #expect(result.exitStatus == 0 && result.errorOutput.isEmpty)
    }
}
