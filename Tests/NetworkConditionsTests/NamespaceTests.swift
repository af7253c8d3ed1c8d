import Glibc
import NetworkConditions
import Synchronization
import SystemIO
import TestSupport
import Testing
import TransferModel

/// Networks that come and go, in a namespace of their own. Pairs of virtual cables stand for all kinds of card: sysfs
/// knows nothing of them, so their names tell.
@Suite(.enabled(if: NetworkNamespace.isAllowed), .serialized)
struct NamespaceTests {
    private let space: NetworkNamespace
    init() throws { space = try NetworkNamespace() }

    /// What a watch has told, in its order.
    private final class Told: Sendable {
        private let all = Mutex<[Conditions]>([])
        let changed = WakeSignal()

        func take(_ conditions: Conditions) {
            all.withLock { $0.append(conditions) }
            changed.signal()
        }

        var count: Int { all.withLock { $0.count } }
        var everything: [Conditions] { all.withLock { $0 } }

        /// The time until the newest is so.
        func wait(_ what: (Conditions) -> Bool) -> TimeSpan? {
            let start = Clocks.instant()
            while Clocks.instant() - start < .seconds(20) {
                if let last = all.withLock({ $0.last }), what(last) { return Clocks.instant() - start }
                _ = changed.wait(nanoseconds: 5_000_000)
            }
            return nil
        }
    }

    private func watching<Result: Sendable>(
        _ body: @escaping @Sendable (NetworkWatch, Told) throws -> Result
    ) throws -> Result {
        try space.inside {
            let watch = try NetworkWatch(asksServices: false)
            let told = Told()
            try watch.start(onChange: { told.take($0) })
            defer { watch.stop() }
            return try body(watch, told)
        }
    }

    private func first() throws -> Conditions {
        try space.inside { try NetworkWatch(asksServices: false).first }
    }

    private func named(_ name: String, _ conditions: Conditions) -> NetworkInterface? {
        conditions.networks.first { $0.name == name }
    }

    @Test func anEmptyNamespaceHasNoNetwork() throws {
        let conditions = try first()
        #expect(conditions.networks.map { $0.name } == ["lo"])
        #expect(conditions.networks.first?.networkClass == NetworkClass.none)
        #expect(conditions.shortage(of: NetworkTerms()) == .noNetwork)
    }

    @Test func pairsAreWhatTheirNamesSay() throws {
        for (number, name) in ["wlp1s0", "wwp2s0", "enp3s0"].enumerated() {
            try space.addCable(name)
            try space.plug(name, "10.7.\(number).1/24")
        }
        try space.addCable("eth9")
        try space.ip("link set lo up")
        let conditions = try first()
        #expect(named("wlp1s0", conditions)?.description == "wifi")
        #expect(named("wwp2s0", conditions)?.description == "cellular, metered")
        #expect(named("enp3s0", conditions)?.description == "wired")
        #expect(named("far-enp3s0", conditions)?.isThere == false)
        #expect(Set(conditions.networks.filter { $0.isThere }.map { $0.name }) == ["wlp1s0", "wwp2s0", "enp3s0"])
        #expect(named("wlp1s0", conditions)?.addresses == [NetworkAddress([10, 7, 0, 1])!])
        #expect(named("lo", conditions)?.isUsable == true && named("eth9", conditions)?.isUsable == false)
    }

    /// Every IPv6 interface has a link-local address, whether anything is at its other end or not.
    @Test func aLinkLocalAddressAloneIsNone() throws {
        try space.addCable("enp3s0")
        try space.ip("link set enp3s0 up")
        try space.ip("link set far-enp3s0 up")
        usleep(200_000)
        #expect(named("enp3s0", try first())?.isUsable == false)
        try space.ip("address add fd00:7::1/64 dev enp3s0 nodad")
        #expect(named("enp3s0", try first())?.isUsable == true)
        #expect(named("enp3s0", try first())?.addresses.count == 1)
    }

    @Test func aBridgeIsWhatItsPortsAre() throws {
        try space.ip("link add br0 type bridge")
        #expect(named("br0", try first())?.description == "none")
        try space.addCable("wwp2s0")
        try space.ip("link set wwp2s0 master br0")
        #expect(named("br0", try first())?.description == "cellular, metered")
        #expect(named("br0", try first())?.why == "stands on wwp2s0, cellular")
    }

    @Test func aTunnelIsWhatLeadsOut() throws {
        try space.ip("tuntap add tun0 mode tun")
        #expect(named("tun0", try first())?.description == "none")
        try space.addCable("wlp1s0")
        try space.plug("wlp1s0", "10.7.0.1/24")
        try space.addCable("wwp2s0")
        try space.plug("wwp2s0", "10.8.0.1/24")
        try space.ip("route add default via 10.7.0.2")
        #expect(named("tun0", try first())?.why == "a tunnel over wlp1s0, wifi")
    }

    // MARK: Changes

    @Test func whatComesAndGoesIsTold() throws {
        try space.addCable("wwp2s0")
        let space = space
        let (plugged, pulled) = try watching { watch, told in
            #expect(watch.first.shortage(of: NetworkTerms()) == .noNetwork)
            try space.plug("wwp2s0", "10.7.0.1/24")
            let plugged = told.wait { $0.shortage(of: NetworkTerms()) == nil }
            try space.ip("link set wwp2s0 down")
            return (plugged, told.wait { $0.shortage(of: NetworkTerms()) == .noNetwork })
        }
        #expect(try #require(plugged) < .seconds(1))
        #expect(try #require(pulled) < .seconds(1))
        print("told \(plugged!) after it was plugged in, \(pulled!) after it was taken down")
    }

    @Test func aLostCarrierIsToldAfterASecond() throws {
        try space.addCable("enp3s0")
        try space.plug("enp3s0", "10.7.0.1/24")
        let space = space
        let lost = try watching { watch, told in
            #expect(watch.first.shortage(of: NetworkTerms()) == nil)
            try space.ip("link set far-enp3s0 down")
            return told.wait { $0.shortage(of: NetworkTerms()) == .noNetwork }
        }
        let time = try #require(lost)
        #expect(time > .milliseconds(800) && time < .seconds(4))
    }

    @Test func aCarrierThatComesBackWasNeverGone() throws {
        try space.addCable("enp3s0")
        try space.plug("enp3s0", "10.7.0.1/24")
        let space = space
        let told = try watching { _, told in
            try space.ip("link set far-enp3s0 down")
            usleep(300_000)
            try space.ip("link set far-enp3s0 up")
            usleep(1_500_000)
            return told.everything
        }
        #expect(told.allSatisfy { $0.shortage(of: NetworkTerms()) == nil })
    }

    @Test func aBurstIsToldFewTimes() throws {
        try space.addCable("enp3s0")
        try space.plug("enp3s0", "10.7.0.1/24")
        let tree = try TemporaryTree()
        try tree.write("batch", (1...200).map { "address add 10.8.0.\($0)/32 dev enp3s0\n" }.joined())
        let (space, batch) = (space, tree.path("batch"))
        let count = try watching { _, told in
            try space.ip("-batch \(batch)")
            #expect(told.wait { $0.networks.contains { $0.addresses.count == 201 } } != nil)
            return told.count
        }
        #expect(count >= 1 && count <= 10, "\(count)")
    }

    /// Whoever waits for a way to some host hears of it, though every interface is as it was.
    @Test func aRouteThatComesIsTold() throws {
        try space.addCable("enp3s0")
        try space.plug("enp3s0", "10.7.0.1/24")
        let space = space
        let isTheSame = try watching { watch, told in
            usleep(300_000)
            let before = told.count
            try space.ip("route add 10.99.0.0/16 via 10.7.0.2")
            let time = told.wait { _ in told.count > before }
            return time != nil && told.wait { $0 == watch.first } != nil
        }
        #expect(isTheSame)
    }

    // MARK: Routes

    private func route(_ address: [UInt8], over: String? = nil, _ conditions: Conditions) throws -> String? {
        let index = over.flatMap { named($0, conditions)?.index }
        let found = try space.inside {
            try RouteTable().interface(to: NetworkAddress(address)!, over: index)
        }
        return found.flatMap { conditions[$0]?.name }
    }

    private static let far6: [UInt8] = [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [9]

    @Test func routesLeadWhereTheKernelSays() throws {
        for (number, name) in ["wlp1s0", "enp3s0"].enumerated() {
            try space.addCable(name)
            try space.plug(name, "10.7.\(number).1/24")
            try space.ip("address add fd00:\(number)::1/64 dev \(name) nodad")
        }
        try space.ip("link set lo up")
        let conditions = try first()
        #expect(try route([10, 7, 0, 9], conditions) == "wlp1s0")
        #expect(try route([10, 7, 1, 9], conditions) == "enp3s0")
        #expect(try route([8, 8, 8, 8], conditions) == nil && route(Self.far6, conditions) == nil)
        // Without a route the kernel would make one up.
        #expect(try route([8, 8, 8, 8], over: "wlp1s0", conditions) == nil)
        #expect(try route([10, 7, 1, 9], over: "wlp1s0", conditions) == nil)
        #expect(try route(Self.far6, over: "wlp1s0", conditions) == nil)
        #expect(try route([127, 0, 0, 1], conditions) == "lo" && route([10, 7, 0, 1], conditions) == "lo")
        #expect(try route([UInt8](repeating: 0, count: 15) + [1], conditions) == "lo")

        try space.ip("route add default via 10.7.1.2 metric 10")
        try space.ip("route add default via 10.7.0.2 metric 20")
        try space.ip("route add default via fd00:1::2 metric 10")
        try space.ip("route add default via fd00:0::2 metric 20")
        #expect(try route([8, 8, 8, 8], conditions) == "enp3s0")
        #expect(try route([8, 8, 8, 8], over: "wlp1s0", conditions) == "wlp1s0")
        #expect(try route(Self.far6, conditions) == "enp3s0")
        #expect(try route(Self.far6, over: "wlp1s0", conditions) == "wlp1s0")
        // The usual way would be another interface's own network.
        #expect(try route([10, 7, 1, 9], over: "wlp1s0", conditions) == "wlp1s0")
        for kind in ["unreachable", "prohibit", "blackhole"] {
            try space.ip("route add \(kind) 9.9.9.0/24")
            #expect(try route([9, 9, 9, 9], conditions) == nil)
            try space.ip("route del \(kind) 9.9.9.0/24")
            try space.ip("route add \(kind) 2001:db8::/32")
            #expect(try route(Self.far6, conditions) == nil)
            try space.ip("route del \(kind) 2001:db8::/32")
        }
    }

    @Test func severalWaysOfOneWorthAreEachOne() throws {
        for (number, name) in ["wlp1s0", "enp3s0"].enumerated() {
            try space.addCable(name)
            try space.plug(name, "10.7.\(number).1/24")
        }
        try space.ip("route add default nexthop via 10.7.0.2 nexthop via 10.7.1.2")
        let conditions = try first()
        #expect(try ["wlp1s0", "enp3s0"].contains(route([8, 8, 8, 8], conditions)))
        for name in ["wlp1s0", "enp3s0"] { #expect(try route([8, 8, 8, 8], over: name, conditions) == name) }
    }

    @Test func aLinkLocalAddressIsReachedInItsScope() throws {
        for name in ["wlp1s0", "enp3s0"] {
            try space.addCable(name)
            try space.plug(name, name == "wlp1s0" ? "10.7.0.1/24" : "10.7.1.1/24")
        }
        let conditions = try first()
        let bytes: [UInt8] = [0xFE, 0x80] + [UInt8](repeating: 0, count: 13) + [9]
        for name in ["wlp1s0", "enp3s0"] {
            let index = try #require(named(name, conditions)?.index)
            let found = try space.inside {
                try RouteTable().interface(to: NetworkAddress(bytes, scope: index)!, over: nil)
            }
            #expect(found == index)
        }
    }
}

struct WatchTests {
    /// What it costs a run at its start, and a connection. Bounds are generous: builds for tests are slow.
    @Test func isQuick() throws {
        var times: [TimeSpan] = []
        for _ in 0..<20 {
            let start = Clocks.instant()
            _ = try NetworkWatch(asksServices: false).first
            times.append(Clocks.instant() - start)
        }
        let routes = try RouteTable()
        let address = try #require(NetworkAddress([127, 0, 0, 1]))
        let start = Clocks.instant()
        for _ in 0..<1000 { _ = routes.interface(to: address, over: nil) }
        let each = TimeSpan(nanoseconds: (Clocks.instant() - start).nanoseconds / 1000)
        print("first conditions after \(times.min()!), a route after \(each)")
        #expect(times.min()! < .milliseconds(100) && each < .milliseconds(1))
    }

    @Test func stopsAtOnceAndTellsNothingMore() throws {
        let watch = try NetworkWatch(asksServices: false)
        try watch.start(onChange: { _ in })
        let start = Clocks.instant()
        watch.stop()
        #expect(Clocks.instant() - start < .seconds(5))
    }

    @Test func oneThatNeverStartedNeedsNoEnd() throws {
        _ = try NetworkWatch(asksServices: false)
        try NetworkWatch(asksServices: false).stop()
    }
}
