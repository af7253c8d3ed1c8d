import TestSupport
import Testing
import TransferModel

/// Whether a file that another process saw is still the one it saw.
@Suite struct BodyFileMarkTests {
    private static let mark = BodyFileMark(
        boot: 7, device: 64_513, inode: 1_234, size: 10, modifiedNanoseconds: 1_000, changedNanoseconds: 2_000)

    private func difference(_ change: (inout BodyFileMark) -> Void) -> String? {
        var now = Self.mark
        change(&now)
        return now.difference(from: Self.mark)
    }

    @Test func whatIsAsItWasIsTheSame() { #expect(difference { _ in } == nil) }

    @Test func everyChangeIsSeen() {
        #expect(difference { $0.inode += 1 } == "another file stands there")
        #expect(difference { $0.device += 1 } == "another file stands there")
        #expect(difference { $0.size = 12 } == "it had 10 bytes and has 12 now")
        #expect(difference { $0.modifiedNanoseconds += 1 } == "it was written or its attributes changed")
        // Whoever sets the time of the last writing back cannot set this one.
        #expect(difference { $0.changedNanoseconds += 1 } == "it was written or its attributes changed")
    }

    /// Numbers are given anew then; sizes and times are not.
    @Test func afterAStartOfTheSystemNumbersTellNothing() {
        #expect(difference { ($0.boot, $0.device, $0.inode) = (8, 1, 2) } == nil)
        #expect(difference { ($0.boot, $0.size) = (8, 12) } != nil)
        #expect(difference { ($0.boot, $0.modifiedNanoseconds) = (8, 1) } != nil)
        #expect(difference { ($0.boot, $0.changedNanoseconds) = (8, 1) } != nil)
    }
}
