import CurlCore
import Testing
import TransferEngine
import TransferModel

/// Tasks that name the same file: each asks for its own.
@Suite struct EqualTaskTests {
    /// Of `text`.
    private static let sum = "sha256:982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1"

    @Test func checksumOfAnotherTask_doesNotBringItsFile() throws {
        let rig = try EngineRig(
            """
            tasks:
              - { id: t, url: "https://a.example/t", to: t, checksum: "\(Self.sum)" }
              - { id: u, url: "https://a.example/u", to: u, checksum: "\(Self.sum)" }
            """)
        rig.start("t")
        try rig.answer(200, [], "text")
        #expect(rig.delivery.text("/here/t") == "text")
        rig.start("u")
        #expect(try rig.request().request.url == "https://a.example/u")
        try rig.answer(200, [], "else")
        #expect(rig.error("u")?.name == .checksumMismatch && rig.delivery.text("/here/u") == nil)
    }

    @Test func urlOfAnotherTask_isAskedAtOnce_withoutTheOthersTag() throws {
        let rig = try EngineRig(
            """
            tasks:
              - { id: t, url: "https://a.example/f", to: t }
              - { id: u, url: "https://a.example/f", to: u }
            """)
        rig.start("t")
        rig.start("u")
        #expect(rig.loop.transfers.count == 2)
        for transfer in rig.loop.transfers { #expect(transfer.header("If-None-Match") == nil) }
    }
}
