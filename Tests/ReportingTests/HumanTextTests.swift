import Reporting
import Testing
import TransferModel

@Suite struct HumanTextTests {
    @Test(
        arguments: [
            (0, "0 B"), (1_023, "1023 B"), (1_024, "1.0 KiB"), (1_536, "1.5 KiB"), (65_536, "64.0 KiB"),
            (1_048_524, "1023.9 KiB"), (1_048_525, "1.0 MiB"), (12_897_485, "12.3 MiB"), (1 << 31, "2.0 GiB"),
            (1 << 40, "1.0 TiB"), (.max, "8.0 EiB"), (-1, "-1 B"),
        ] as [(Int64, String)]) func sizesHaveOneDigitBehindThePoint(_ bytes: Int64, _ text: String)
    {
        #expect(HumanText.size(bytes) == text)
    }

    @Test(
        arguments: [
            (0, "0.00s"), (4, "0.00s"), (5, "0.01s"), (340, "0.34s"), (9_994, "9.99s"), (9_995, "10.0s"),
            (12_300, "12.3s"),
            (59_949, "59.9s"), (59_950, "1m00s"), (303_000, "5m03s"), (3_599_400, "59m59s"), (3_599_500, "1h00m"),
            (7_500_000, "2h05m"), (360_000_000, "100h00m"), (-5, "0.00s"),
        ] as [(Int64, String)]) func durationsAreRounded(_ milliseconds: Int64, _ text: String)
    {
        #expect(HumanText.duration(.milliseconds(milliseconds)) == text)
    }
}
