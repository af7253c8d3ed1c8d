import CommandLineTool
import Reporting
import TestSupport
import Testing
import TransferModel

/// What `status --watch` makes of what it sees again and again.
@Suite struct WatchedStatusTests {
    private let second = TimeSpan.seconds(1)
    private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: 0) + .seconds(seconds) }

    private func progress(_ bytes: Int64, attempts: Int = 1) -> [WatchedRates.Key: [WatchedRates.Progress]] {
        [.session("s"): [WatchedRates.Progress(id: "a", attempts: attempts, bytes: bytes)]]
    }

    @Test func rate_isOfTheLastSeconds() {
        var rates = WatchedRates()
        #expect(rates.update(progress(0), at: at(0)) == [:])
        #expect(rates.update(progress(10), at: at(1)) == [.session("s"): 10])
        for time: Int64 in 2...5 { _ = rates.update(progress(10), at: at(time)) }
        #expect(rates.update(progress(10), at: at(6)) == [.session("s"): 0])
        #expect(rates.update(progress(110), at: at(7)) == [.session("s"): 20])
    }

    /// What an earlier attempt had fetched moves no more.
    @Test func attemptThatBeginsAtAnOffset_addsNothing() {
        var rates = WatchedRates()
        _ = rates.update(progress(0, attempts: 0), at: at(0))
        #expect(rates.update(progress(1_000), at: at(1)) == [.session("s"): 0])
        #expect(rates.update(progress(1_050), at: at(2)) == [.session("s"): 25])
    }

    @Test func whatIsSeenNoMore_isForgotten() {
        var rates = WatchedRates()
        _ = rates.update(progress(0), at: at(0))
        #expect(rates.update([:], at: at(1)) == [:])
        #expect(rates.update(progress(500), at: at(2)) == [:])
    }

    @Test func aPage_takesThePlaceOfTheOneBefore() {
        var page = RedrawnPage()
        #expect(page.replacing(with: "one\ntwo\n", columns: 80, rows: 24) == "one\u{1B}[K\ntwo\u{1B}[K\n\u{1B}[J")
        #expect(page.replacing(with: "three\n", columns: 80, rows: 24) == "\u{1B}[2A\rthree\u{1B}[K\n\u{1B}[J")
        #expect(page.replacing(with: "four\n", columns: 80, rows: 24) == "\u{1B}[1A\rfour\u{1B}[K\n\u{1B}[J")
        #expect(page.replacing(with: "five is longer\n", columns: 70, rows: 24).hasPrefix("\u{1B}[1A\r"))
        // In a terminal that is narrower now the line takes two.
        #expect(page.replacing(with: "six\n", columns: 10, rows: 24) == "\u{1B}[2A\rsix\u{1B}[K\n\u{1B}[J")
    }

    @Test func aPage_isNoLargerThanTheScreen() {
        var page = RedrawnPage()
        let text = (0..<100).map { "line \($0) " + String(repeating: "写", count: 60) + "\n" }.joined()
        let lines = page.replacing(with: text, columns: 40, rows: 10).split(separator: "\n").map { line in
            line.replacing("\u{1B}[K", with: "").replacing("\u{1B}[J", with: "")
        }.filter { !$0.isEmpty }
        #expect(lines.count == 9)
        #expect(lines.allSatisfy { TextLayout.width(of: String($0)) <= 39 })
        #expect(lines[0].hasSuffix("…") && lines[8] == "… and 92 more lines")
        #expect(page.replacing(with: "x\n", columns: 40, rows: 10).hasPrefix("\u{1B}[9A\r"))
    }
}
