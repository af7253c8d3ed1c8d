import Diagnostics
import JobLoader
import Testing
import TransferModel

/// networks.yaml, read by the same tables as a job.
struct NetworkMapTests {
    private func load(_ text: String) -> (map: NetworkMap?, said: String) {
        let (map, found) = NetworkMapLoader.load(SourceText(name: "networks.yaml", bytes: Array(text.utf8)))
        return (map, DiagnosticRenderer.text(found.sorted(), color: false))
    }

    @Test func entriesStandInTheirOrder() {
        let (map, said) = load(
            """
            interfaces:
              wlp1s0: { class: cellular, metered: false }
              "wl*": { metered: true }
              "*": { constrained: true }
            """)
        #expect(said.isEmpty)
        #expect(
            map
                == NetworkMap([
                    .init(pattern: "wlp1s0", networkClass: .cellular, isMetered: false),
                    .init(pattern: "wl*", isMetered: true), .init(pattern: "*", isConstrained: true),
                ]))
    }

    @Test(arguments: ["", "# nothing\n", "interfaces:\n", "interfaces: {}\n", "{}"]) func nothingIsAMap(text: String) {
        #expect(load(text).map == NetworkMap())
    }

    @Test(arguments: [
        ("interface: {}", "networks.yaml:1:1: error: unknown key `interface` in the map of networks", "`interfaces`"),
        (
            "interfaces: { eth0: { clas: wired } }", "networks.yaml:1:23: error: unknown key `clas`",
            "did you mean `class`?"
        ),
        (
            "interfaces: { eth0: { class: wlan } }",
            "`class` must be `wired`, `wifi`, `cellular` or `none`, not `wlan`", ""
        ),
        ("interfaces: { eth0: { metered: yes } }", "`metered` must be `true` or `false`", "write `true`"),
        ("interfaces: { eth0: wired }", "an interface must be a map, not `wired`", ""),
        ("interfaces: [eth0]", "`interfaces` must be a map, not a list", ""),
        ("interfaces: { a/b: {} }", "`a/b` is no name of an interface", "`ww*`"),
        ("[]", "the map of networks must be a map, not a list", ""),
        ("interfaces: {", "error", ""),
        ("interfaces: { a: {}, a: {} }", "duplicate", ""),
        ("interfaces: { a: { metered: \"${env.X}\" } }", "env.X", ""),
    ])
    func whatIsWrongIsSaid(text: String, message: String, hint: String) {
        let (map, said) = load(text)
        #expect(map == nil)
        #expect(said.contains(message) && said.contains(hint), "\(said)")
    }

    @Test func thePageHoldsTheTables() {
        let page = Files.read("\(Files.root)/docs/networks.md").map { String(decoding: $0, as: UTF8.self) } ?? ""
        #expect(page.contains(NetworkMapReference.tables()), "docs/networks.md lacks:\n\(NetworkMapReference.tables())")
    }
}
