import CommandLineTool
import Testing

/// What whoever follows a session is told while it is held up.
@Suite struct HoldupTests {
    @Test func holdup_isToldWithItsEnd() {
        var holdup = Holdup("s")
        #expect(holdup.words("full").hasPrefix("warning: the session `s` is held up: full\n"))
        #expect(holdup.words(nil, hasEnded: true) == "the session `s` is held up no more\n")
    }

    /// That the report could not be written is over when it is written, which this command has yet to do.
    @Test func holdupOfTheReport_isNotToldAsOver() {
        var holdup = Holdup("s")
        #expect(holdup.words("/r.json: No space left", hasEnded: true).contains("held up: /r.json"))
        #expect(holdup.words(nil, hasEnded: true).isEmpty)
    }
}
