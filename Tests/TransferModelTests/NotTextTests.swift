import Testing
import TransferModel

struct NotTextTests {
    @Test(arguments: [
        ([UInt8](), ""), (Array("grün".utf8), "grün"), ([0x6B, 0xFF], "k\\xff"),
        ([0xEF, 0xBF, 0xBD, 0xC3], "\u{FFFD}\\xc3"),
        ([0xE2, 0x82, 0x61, 0x0A, 0x1B], "\\xe2\\x82a\\x0a\\x1b"), ([0xC2, 0x9B], "\\xc2\\x9b"),
        ([0xED, 0xA0, 0x80], "\\xed\\xa0\\x80"), ([0xF0, 0x9F, 0x99], "\\xf0\\x9f\\x99"),
    ]) func whatIsNoTextIsShownAsWhatItIs(_ bytes: [UInt8], _ shown: String) {
        #expect(NotText(bytes).escaped == shown)
    }
}
