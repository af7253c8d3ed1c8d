import Testing
import TransferModel

@Suite struct SizeTextTests {
    @Test(
        arguments: [
            (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1_048_500, "1023.9 KiB"), (1_048_575, "1.0 MiB"),
            (50_000_000, "47.7 MiB"), (.max, "8.0 EiB"),
        ] as [(Int64, String)]) func size_isInTheLargestUnitThatFits(_ bytes: Int64, _ text: String)
    {
        #expect(SizeText.of(bytes) == text)
    }

    @Test func sizesThatWouldReadTheSame_areInBytes() {
        #expect(SizeText.distinct(10_485_760, 10_485_761) == ("10485760 bytes", "10485761 bytes"))
        #expect(SizeText.distinct(10_485_760, 10_485_760) == ("10.0 MiB", "10.0 MiB"))
        #expect(SizeText.distinct(10_481_664, 50_000_000) == ("10.0 MiB", "47.7 MiB"))
    }
}
