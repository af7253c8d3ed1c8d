import JobLoader
import Testing
import TransferModel

/// The file that the language was designed around, and what YAML brings along.
struct ContractTests {
    private static let nightly = """
        version: 1
        name: nightly-mirror
        variables: { release: "12.7", site: "https://mirror.example.org/debian" }
        sessions:
          mirror:
            configuration: background
            identifier: org.example.nightly
            allowsCellularAccess: false
            discretionary: true
            maximumConnectionsPerHost: 4
            retry: { attempts: 8, backoff: { initial: 2s, maximum: 5m } }
          api:
            configuration: ephemeral
            headers: { Authorization: "Bearer ${secret.API_TOKEN}" }
            redirects: { follow: sameOrigin, maximum: 5 }
        tasks:
          - id: release
            session: mirror
            type: download
            url: ${site}/dists/bookworm/Release
            to: mirror/dists/bookworm/Release
          - id: packages-${arch}
            forEach: { arch: [amd64, arm64, riscv64] }
            needs: [release]
            session: mirror
            type: download
            urls: ["${site}/dists/bookworm/${arch}.xz", "https://backup.example.net/${arch}.xz"]
            to: mirror/${arch}.xz
            checksum: sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae
          - id: publish
            needs: [packages-amd64, packages-arm64]
            session: api
            type: upload
            method: PUT
            url: https://api.example.org/mirrors/${release}
            body: { file: mirror/amd64.xz }
            expect: { status: [201, 204] }
        """

    @Test func theNightlyMirror() throws {
        let result = load(Self.nightly, environment: ["API_TOKEN": "t0ken"])
        #expect(result.messages == "")
        let job = try #require(result.job)
        #expect(job.name == "nightly-mirror")
        #expect(job.tasks.map(\.id) == ["release", "packages-amd64", "packages-arm64", "packages-riscv64", "publish"])
        #expect(job.tasks[3].needs.map(\.raw) == [0])
        #expect(job.tasks[4].needs.map(\.raw) == [1, 2])
        #expect(job.tasks[2].location.url?.text == "https://mirror.example.org/debian/dists/bookworm/arm64.xz")
        #expect(job.tasks[2].options.values.mirrors.count == 2)
        #expect(job.tasks[4].options.values.headers.map(\.value.redacted) == ["Bearer ***"])
        #expect(job.tasks[4].options.values.policies.redirects.follow == .sameOrigin)
        #expect(job.tasks[0].options.values.policies.retry.maximumBackoff == .seconds(300))
        #expect(result.laterPlaces == [])
    }

    @Test func aSecretThatIsMissingIsSaidWhereItIsUsed() {
        #expect(load(Self.nightly).summary == ["14:39 missing-value"])
    }

    @Test func anchorsAndMergeKeys() throws {
        let job = try #require(
            load(
                """
                defaults: { retry: &slow { attempts: 9, backoff: { initial: 9s } } }
                tasks:
                  - &first { id: a, url: "https://example.org/a", to: a, retry: { <<: *slow, attempts: 4 } }
                  - { <<: *first, id: b, to: b }
                """
            ).job)
        #expect(job.tasks.map(\.id) == ["a", "b"])
        #expect(job.tasks[1].location == job.tasks[0].location)
        #expect(job.tasks[1].options.values.policies.retry.attempts == 4)
        #expect(job.tasks[1].options.values.policies.retry.initialBackoff == .seconds(9))
    }

    @Test func sessionsAreChosen() {
        func chosen(_ sessions: String, _ task: String = "") -> String? {
            let job = load("sessions: \(sessions)\ntasks: [{ id: a, url: https://example.org/\(task) }]").job
            return job.map { $0.sessions[Int($0.tasks[0].session.raw)].name }
        }
        #expect(chosen("{ only: {} }") == "only")
        #expect(chosen("{ a: {}, default: {} }") == "default")
        #expect(chosen("{ a: {}, b: {} }") == nil)
        #expect(chosen("{ a: {}, b: {} }", ", session: b") == "b")
        #expect(chosen("{ a: ~ }") == "a")
    }

    @Test func everyTaskKeyIsInTheReference() {
        let page = JobReference.markdown(isLinked: false)
        for key in [
            "id", "urls", "forEach", "earliestBegin", "onResponse", "requireLength", "preserveTime", "labels",
            "bandwidth",
        ] {
            #expect(page.contains("| `\(key)` |"), "\(key)")
        }
    }
}
