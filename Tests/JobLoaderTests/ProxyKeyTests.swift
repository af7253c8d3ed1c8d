import JobLoader
import Testing
import TransferModel

/// Proxies as a job writes them and as the environment does.
@Suite struct ProxyKeyTests {
    private func load(
        _ proxy: String, environment: [String: String] = [:], secrets: String = "{}"
    ) -> LoadResult {
        JobLoaderTests.load(
            """
            secrets: \(secrets)
            sessions: { default: { proxy: \(proxy) } }
            tasks: [{ id: a, url: "https://example.org/a", to: a }]
            """, environment: environment)
    }

    @Test func aPasswordThatIsWrittenIsASecret() throws {
        let job = try #require(load("http://ada:lovelace@gate.example:3128").job)
        guard case .url(let proxy) = job.sessions[0].proxy else { return #expect(Bool(false)) }
        #expect(proxy.description == "http://gate.example:3128")
        #expect(job.secrets.map(\.value) == ["lovelace", "ada:lovelace"])
    }

    /// An interpolated value can hold whatever it likes, and goes where it may.
    @Test func aPasswordMayBeADeclaredSecret() throws {
        let text = "\"http://ada:${secret.PASS}@gate.example:3128\""
        let open = load(text, environment: ["PASS": "a:b@c/d"])
        guard case .url(let proxy) = try #require(open.job).sessions[0].proxy else { return #expect(Bool(false)) }
        #expect(proxy.password?.revealed == "a:b@c/d")
        let bound = load(text, environment: ["PASS": "a:b@c/d"], secrets: "{ PASS: { hosts: [other.example] } }")
        #expect(bound.summary == ["2:31 secret-elsewhere"])
        #expect(!bound.messages.contains("a:b@c/d"))
        let allowed = load(text, environment: ["PASS": "a:b@c/d"], secrets: "{ PASS: { hosts: [gate.example] } }")
        #expect(allowed.job != nil)
    }

    @Test(arguments: ["socks://gate.example", "gate.example:3128", "http://gate.example/x", "\"http://a:%0a@gate\""])
    func whatIsNoneIsToldAtItsPlace(_ text: String) {
        #expect(load(text).summary == ["2:31 invalid-url"])
    }

    @Test func theEnvironmentIsReadWhereASessionSaysNothing() throws {
        let environment = [
            "http_proxy": "gate.example:1", "HTTP_PROXY": "evil.example", "https_proxy": "",
            "HTTPS_PROXY": "socks5h://ada:lovelace@gate.example", "no_proxy": " a.example ",
        ]
        let text = "sessions: { default: {}, other: { proxy: none } }\n"
        let job = try #require(
            JobLoaderTests.load(task(head: text), environment: environment).job)
        #expect(job.proxies.http?.description == "http://gate.example:1")
        #expect(job.proxies.https?.description == "socks5h://gate.example:1080")
        #expect(job.proxies.all == nil)
        #expect(job.proxies.bypass == "a.example")
        #expect(job.secrets.map(\.value) == ["lovelace", "ada:lovelace"])
        let none = try #require(load("none", environment: ["http_proxy": "://"]).job)
        #expect(none.proxies.http == nil)
    }

    @Test func whatTheEnvironmentSaysWrongIsToldWithoutItsValue() {
        for name in ["http_proxy", "https_proxy", "ALL_PROXY", "ftp_proxy"] {
            let result = JobLoaderTests.load(task(), environment: [name: "gopher://ada:lovelace@gate"])
            #expect(result.summary == ["invalid-url"])
            #expect(result.messages.contains("`\(name)`") && !result.messages.contains("lovelace"))
        }
        #expect(JobLoaderTests.load(task(), environment: ["HTTP_PROXY": "gopher://x"]).job != nil)
    }
}

/// What is placed before the `@` of a URL is a user or a password, whatever it holds.
@Suite struct UserInformationTests {
    @Test(arguments: ["https://ada:${secret.P}@host.example/x", "https://${secret.P}@host.example/x@y"])
    func isEncoded(_ url: String) throws {
        let result = load("tasks: [{ id: a, url: \"\(url)\", to: a }]", environment: ["P": "a@evil.example/b:c?#"])
        let found = try #require(result.job).tasks[0].location.url
        #expect(found?.host == "host.example")
        #expect(found?.userInformation?.hasSuffix("a%40evil.example%2Fb%3Ac%3F%23") == true)
    }

    @Test(arguments: ["https://${secret.P}/x@y", "https://ada@${secret.P}/x", "https://${secret.P}"])
    func whatStandsInTheHostIsNot(_ url: String) {
        let result = load("tasks: [{ id: a, url: \"\(url)\", to: a }]", environment: ["P": "a@evil.example/b"])
        #expect(result.job == nil)
    }
}
