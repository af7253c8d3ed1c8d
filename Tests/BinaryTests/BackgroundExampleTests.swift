import TestSupport
import Testing
import TextFormats

/// Every job in `examples/` as it stands, and with its sessions in the background: both tell the same and leave the same.
@Suite struct BackgroundExampleTests {
    struct Variant: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let example: String
        /// What the rules of background sessions do not allow is taken out of both.
        var without = ""
        /// Sessions that this process keeps.
        var except: Set<String> = []
        var environment: [String: String] = [:]
        /// Of an ephemeral session nothing is left for a second run.
        var runs = 2

        init(
            _ example: String, _ what: String = "", without: String = "", except: Set<String> = [],
            environment: [String: String] = [:], runs: Int = 2
        ) {
            testDescription = what.isEmpty ? example : "\(example), \(what)"
            self.example = example
            self.without = without
            self.except = except
            self.environment = environment
            self.runs = runs
        }
    }

    static let variants = [
        Variant("before-the-move", runs: 1), Variant("found-connections", runs: 1), Variant("local-service", runs: 1),
        Variant("locked-release"), Variant("mirror-list"), Variant("only-what-changed"),
        Variant("polite-mirror"), Variant("quickstart"), Variant("release-artefacts"),
        Variant("suite-matrix"), Variant("two-mirrors"),
        Variant("wifi-only", environment: ["TRANSFER_RUN_NETWORK": "wifi"]),
        Variant(
            "signed-in", "redirects as they come", without: "    redirects: { follow: sameHost }\n",
            environment: ["SITE_PASSWORD": "open-sesame"]),
        Variant("own-scheme", "its own scheme in the foreground", except: ["archives"], runs: 1),
    ]

    @Test(arguments: variants) func bothWaysAreOne(_ variant: Variant) throws {
        let near = try ScriptedServer()
        defer { near.stop() }
        near.on("/suites/stable-arm64.txt", .respond(200, body: "near by"))
        let scene = try BackgroundScene()
        let (here, there) = (try ExamplePlace(), try ExamplePlace(scene.stage))
        for place in [here, there] { place.answerSignIn() }
        for round in 1...variant.runs {
            let foreground = try run(variant, here, near) { $0 }
            let background = try run(variant, there, near) { BackgroundJobText.of($0, except: variant.except) }
            #expect(foreground.status == background.status, "run \(round): \(background.errorText)")
            let (one, other) = (ToldRun(foreground, here, near), ToldRun(background, there, near))
            #expect(one.report.count > 60 && !one.stories.isEmpty)
            expectEqual(one.report, other.report, "report of run \(round)")
            for id in one.stories.keys.sorted() {
                #expect(one.stories[id] == other.stories[id], "events of \(id) in run \(round)")
            }
            let kinds = try background.values("$.sessions[*].configuration")
            #expect(kinds.count { $0 == "background" } == kinds.count - variant.except.count)
        }
        let (one, other) = (try left(here), try left(there))
        #expect(one.keys.sorted() == other.keys.sorted())
        for (path, bytes) in one { #expect(other[path] == bytes, "\(path)") }
        #expect(here.server.requests().count == there.server.requests().count)
        withExtendedLifetime(scene) {}
    }

    private func run(
        _ variant: Variant, _ place: ExamplePlace, _ near: ScriptedServer, _ change: (String) -> String
    ) throws -> Stage.Run {
        try place.run(variant.example, near: near.origin, environment: variant.environment) {
            change($0.replacing(variant.without, with: ""))
        }
    }

    /// All that lies in the folder but the job.
    private func left(_ place: ExamplePlace) throws -> [String: [UInt8]] {
        // Made anew by each run, with the time of each member in it.
        try place.stage.folder.contents().filter { !["job.yaml", "release.zip"].contains($0.key) }
    }

    private func expectEqual(_ one: [String], _ other: [String], _ what: String) {
        for (number, (left, right)) in zip(one, other).enumerated() where left != right {
            Issue.record("\(what), line \(number): `\(left)` here and `\(right)` in the background")
        }
        #expect(one.count == other.count, "\(what)")
    }

    // MARK: What may not

    /// The guide's rules keep these out of background sessions: `check` says so of each place.
    static let restricted = [
        ("api-checks", 2), ("own-scheme", 3), ("pipe", 1), ("publish-build", 2), ("signed-in", 1), ("token-upload", 2),
    ]

    @Test(arguments: restricted) func checkSaysWhatMayNot(_ example: String, _ count: Int) throws {
        let place = try ExamplePlace()
        try place.stage.folder.write("job.yaml", BackgroundJobText.of(place.stage.text("\(example).transfer.yaml")))
        let result = try place.stage.binary.run(
            "check", "job.yaml", environment: ["PUBLISH_TOKEN": "t", "SITE_PASSWORD": "p"])
        #expect(result.exitStatus == 2)
        #expect(result.errorText.ranges(of: "[background-restriction]").count == count, "\(result.errorText)")
        #expect(result.errorText.ranges(of: ": error: ").count == count, "\(result.errorText)")
    }

    @Test func everyExampleIsHere() {
        // One is carried in the background as it stands.
        let all =
            Self.variants.map(\.example) + Self.restricted.map(\.0) + ["nightly-mirror"]
            // Tests of their own run these, and tests of the background process what they show.
            + [
                "access-token", "api-harvest", "api-test", "apt-mirror", "client-certificate", "mirror-to-s3",
                "netrc-login",
                "paged-api",
                "release-by-checksums", "resumable-upload", "s3-backup", "segmented-download",
            ]
        #expect(Set(all).sorted() == ExampleTests.examples)
    }
}

/// What a run told, without what differs between any two runs of one job and what is a background session's own.
private struct ToldRun {
    let report: [String]
    /// The names of each task's events.
    let stories: [String: [String]]

    private static let chance: Set = [
        "startedAt", "finishedAt", "createdAt", "duration", "backoff", "retriesUntil", "connectionLimit", "pid",
        "sha256", "localPort", "remotePort",
        "connectionsOpened", "connectionsReused", "peakConnections", "isReusedConnection", "domainResolutionProtocol",
    ]
    private static let backgroundsOwn: Set = ["configuration", "identifier", "line"]
    /// How long something stood behind others or the disk.
    private static let crowding: Set = [
        "flush", "hostLimit", "sessionLimit", "runLimit", "requestRate", "bandwidth",
    ]
    private static let paces: Set = ["waiting", "receivedData", "sentBodyData"]

    init(_ run: Stage.Run, _ place: ExamplePlace, _ near: ScriptedServer) {
        let names = [
            (place.stage.folder.path, "FOLDER"), (place.socket, "SOCKET"), ("127.0.0.1:\(place.server.port)", "SITE"),
            ("127.0.0.1:\(near.port)", "NEAR"),
        ]
        var lines: [String] = []
        Self.add(run.report, "$", names, &lines)
        report = lines
        var stories: [String: [String]] = [:]
        for event in run.events {
            guard let id = event["task"]?.plainText, let name = event["event"]?.plainText else { continue }
            if !Self.paces.contains(name) { stories[id, default: []].append(name) }
        }
        self.stories = stories
    }

    /// One line for each value, with its place.
    private static func add(
        _ value: JSONValue, _ path: String, _ names: [(String, String)], _ lines: inout [String]
    ) {
        switch value {
        case .object(let members):
            for member in members where !chance.contains(member.name) && !backgroundsOwn.contains(member.name) {
                if member.name.hasSuffix("Date") { continue }
                if member.name == "waits", case .array(let waits) = member.value {
                    let reasons = Set(waits.compactMap { $0["reason"]?.plainText }).subtracting(crowding)
                    lines.append("\(path).waits = \(reasons.sorted())")
                } else {
                    add(member.value, "\(path).\(member.name)", names, &lines)
                }
            }
        case .array(let values):
            lines.append("\(path).count = \(values.count)")
            for (index, value) in values.enumerated() { add(value, "\(path)[\(index)]", names, &lines) }
        case .null, .boolean, .number, .string, .broken:
            let text = names.reduce(value.plainText ?? "null") { $0.replacing($1.0, with: $1.1) }
            lines.append("\(path) = \(text)")
        }
    }
}
