import CurlCore
import Testing
import TransferModel

@testable import AttemptLife
@testable import TransferEngine

@Suite struct ConnectionPolicyTests {
    private let origin = OriginID(raw: 0)
    private let other = OriginID(raw: 1)

    private func policy(_ tasks: Int = 1, _ task: String = "to: f/", _ top: String = "") throws -> ConnectionPolicy {
        let lines = (0..<tasks).map { "  - { id: t\($0), url: \"https://a.example/\($0)\", \(task) }" }
        return ConnectionPolicy(try EngineRig("\(top)\ntasks:\n\(lines.joined(separator: "\n"))\n").job)
    }

    private func request(_ url: String, mayUseHTTP2: Bool = false) throws -> OutgoingRequest {
        OutgoingRequest(
            url: try ResourceURL.parse(url), method: "GET", headers: [], sendsBody: false, mayUseHTTP2: mayUseHTTP2)
    }

    // MARK: Versions

    @Test func version_isNewsOnceForEachOrigin_andWhenItChanges() throws {
        var policy = try policy()
        let answers: [(HTTPProtocol, OriginID)] = [
            (.http1, origin), (.http1, origin), (.http1, other), (.http2, origin), (.http2, origin),
        ]
        let isNews = answers.map { policy.recordVersion($0, of: $1) }
        #expect(isNews == [true, false, true, true, false])
    }

    /// A slot may be a stream of one connection; such a request needs a connection more.
    @Test func requestOverHTTP1_standsAlone_whereTheOriginAnsweredInHTTP2() throws {
        var policy = try policy()
        let (plain, new) = (try request("https://a.example/"), try request("https://a.example/", mayUseHTTP2: true))
        #expect(!policy.standsAlone(plain, origin))
        _ = policy.recordVersion(.http2, of: origin)
        #expect(policy.standsAlone(plain, origin) && !policy.standsAlone(new, origin))
        #expect(!policy.standsAlone(plain, other))
        _ = policy.recordVersion(.http1, of: origin)
        #expect(!policy.standsAlone(plain, origin))
    }

    /// Until the origin has answered in HTTP/1.1, a connection to it may be HTTP/2.
    @Test func requestOverHTTP1_isApart_untilTheOriginAnsweredInIt() throws {
        var policy = try policy()
        let plain = try request("https://a.example/")
        #expect(policy.isApart(plain, origin) && policy.isApart(plain, nil))
        _ = policy.recordVersion(.http2, of: origin)
        #expect(policy.isApart(plain, origin))
        _ = policy.recordVersion(.http1, of: origin)
        #expect(!policy.isApart(plain, origin) && policy.isApart(plain, other))
    }

    @Test(arguments: [("http://a.example/", false), ("https://a.example/", true)])
    func requestThatCannotOrMayBeHTTP2_isNotApart(_ url: String, _ mayUseHTTP2: Bool) throws {
        #expect(try !policy().isApart(request(url, mayUseHTTP2: mayUseHTTP2), origin))
    }

    // MARK: Idle connections

    @Test func originWithoutIdleConnections_keepsNone() throws {
        var policy = try policy()
        #expect(policy.keepsConnection(to: origin) && policy.keepsConnection(to: nil))
        policy.dropConnections(to: origin)
        #expect(!policy.keepsConnection(to: origin) && policy.keepsConnection(to: other))
        #expect(policy.keepsConnection(to: nil))
    }

    /// With one session, libcurl itself closes an idle connection that would be one too many.
    @Test(arguments: [("{ s: {} }", true), ("{ s: {}, other: {} }", false)])
    func limitedOrigin_keepsIdleConnections_ofAnOnlySession(_ sessions: String, _ isKept: Bool) throws {
        let rig = try EngineRig("sessions: \(sessions)\ntasks: [{ id: t, session: s, url: \"https://a.example/f\" }]\n")
        rig.engine.connections.limitConnections(to: origin, 2)
        rig.start()
        #expect(try rig.request().request.keepsConnection == isKept)
    }

    // MARK: Bandwidth and buffers

    @Test(arguments: [
        ("to: f/", "", false), ("to: f/, bandwidth: 1MB/s", "", true),
        ("to: f/", "limits: { bandwidth: 1MB/s }", true),
        ("to: f/", "sessions: { default: { bandwidth: 1MB/s } }", true),
    ])
    func jobWithABandwidthAnywhere_isMetered(_ task: String, _ top: String, _ isMetered: Bool) throws {
        #expect(try policy(1, task, top).isMetered == isMetered)
    }

    @Test(arguments: [
        (1, "", 512 << 10), (2, "", 512 << 10), (3, "", 64 << 10),
        (3, "limits: { maximumConcurrentTasks: 2 }", 512 << 10),
    ])
    func receiveBuffer_isLongForOneOrTwoTransfersAtATime(_ tasks: Int, _ top: String, _ size: Int) throws {
        #expect(try policy(tasks, "to: f/", top).receiveBuffer(at: nil) == size)
    }

    /// A hundredth of what may come in a second.
    @Test(arguments: [(1, 1 << 10), (102_400, 1 << 10), (1_000_000, 10_000), (Int64.max, 512 << 10)])
    func receiveBufferUnderABandwidth_isNoBurst(_ rate: Int64, _ size: Int) throws {
        #expect(try policy().receiveBuffer(at: rate) == size)
    }
}
